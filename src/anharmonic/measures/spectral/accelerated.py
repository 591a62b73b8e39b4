"""Nearest rows on an accelerator: blocks of products, the nearest of them again by differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Floats, Integers
from anharmonic.measures.spectral.products import GROUPS, SPARE, augment, chunks, nearest_rows
from anharmonic.models.torch_arrays import accelerated, full_precision, placed

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["nearest_on_device"]

BLOCK = {"cuda": 2**29, "cpu": 2**22}
"""Products held at once: 2 GiB of them on a GPU."""
GAPS = 2**27
"""Differences held at once, while candidates are ranked."""


def nearest_on_device(points: Floats, count: int) -> Integers:
    """Everything against everything, exactly, on a GPU where there is one.

    Single precision chooses, differences in double precision rank. Where rounding could have
    hidden a neighbour the row is searched again in double precision, then by differences.
    """
    device = accelerated()
    centred = placed(points - points.mean(axis=0, dtype=np.float64), device)
    nearest = np.empty((len(points), count), dtype=np.int64)
    unclear = np.arange(len(points))
    for precision in (np.float32, np.float64):
        rows, lengths = augment(points, precision)
        augmented = placed(rows, device)
        nearest[unclear], farthest, last = _scan(centred, augmented, unclear, count, BLOCK[device])
        # Of a sum of n rounded products, as in `products.scan`.
        slack = (
            4 * np.finfo(precision).eps * np.sqrt(points.shape[1]) * lengths[: len(points)].max()
        )
        # Nothing is nearer than a copy, whatever was left out.
        hidden = (farthest >= last + lengths[unclear] - slack) & (farthest > 0)
        unclear = unclear[hidden]
        if not len(unclear):
            return nearest
    nearest[unclear] = nearest_rows(points, unclear, count)
    return nearest


def _scan(
    centred: Tensor, augmented: Tensor, queries: Integers, count: int, block: int
) -> tuple[Integers, Floats, Floats]:
    """The nearest rows of the queries, the last one's squared distance, and the last product kept.

    The product, ‖y‖² − 2x·y, is infinite where no row was left out.
    """
    rows = len(centred)
    kept = min(count + SPARE, rows - 1)
    nearest, farthest, last_products = [], [], []
    with full_precision():
        for chunk in chunks(len(queries), len(augmented), block):
            own = placed(queries[chunk], str(centred.device))
            # (−2x, 1) · (y, ‖y‖²): see `products.augment`.
            left = -2 * augmented[own]
            left[:, -1] = 1
            squares = left @ augmented.T
            squares[_counted(own), own] = float("inf")
            candidates, last = _smallest(squares, kept)
            best, distances = _rank(centred, own, candidates, count)
            nearest.append(best.cpu().numpy())
            farthest.append(to_numpy64(distances))
            last_products.append(to_numpy64(last) if kept < rows - 1 else np.full(len(own), np.inf))
    return np.concatenate(nearest), np.concatenate(farthest), np.concatenate(last_products)


def _counted(like: Tensor) -> Tensor:
    """0, 1, 2, … on the tensor's device and in its type, without importing torch."""
    return like.new_ones(len(like)).cumsum(0) - 1


def _smallest(values: Tensor, kept: int) -> tuple[Tensor, Tensor]:
    """Positions of the `kept` smallest in each row, and the largest of those values."""
    rows, width = values.shape
    groups = width // GROUPS
    if groups <= kept:
        top = values.topk(kept, dim=1, largest=False)
        return top.indices, top.values[:, -1]
    # By groups' minima first, as in `products.smallest`: (rows, groups).
    minima = values.view(rows, GROUPS, groups).amin(1)
    best = minima.topk(kept, dim=1, largest=False).indices
    offsets = groups * _counted(best.new_ones(GROUPS))
    positions = (best[:, :, None] + offsets).reshape(rows, -1)
    top = values.gather(1, positions).topk(kept, dim=1, largest=False)
    return positions.gather(1, top.indices), top.values[:, -1]


def _rank(centred: Tensor, own: Tensor, candidates: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The nearest candidates by differences, ties by row number, and the last one's distance²."""
    ordered = candidates.sort(1).values
    best, last = [], []
    for part in chunks(len(own), ordered.shape[1] * centred.shape[1], GAPS):
        # (part, candidates, n)
        gaps = centred[ordered[part]] - centred[own[part]][:, None, :]
        ranked = (gaps * gaps).sum(2).sort(dim=1, stable=True)
        best.append(ordered[part].gather(1, ranked.indices[:, :count]))
        last.append(ranked.values[:, count - 1])
    concat = array_namespace(own).concat
    return concat(best, axis=0), concat(last, axis=0)
