"""Nearest rows on an accelerator: blocks of products, the nearest of them again by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Floats, Integers
from anharmonic.measures.spectral.products import GROUPS, SPARE, chunks, compared, lengthened
from anharmonic.models.torch_arrays import accelerated, full_precision, placed

__all__ = ["on_device"]

BLOCK = {"cuda": 2**29, "cpu": 2**22}
"""Products held at once: 2 GiB of them on a GPU."""


def on_device(points: Floats, count: int) -> Integers:
    """Everything against everything, exactly, on a GPU where there is one.

    Single precision chooses, differences in double precision rank. Where rounding could have
    hidden a neighbour the row is searched again in double precision, then by differences.
    """
    device = accelerated()
    centred = placed(points - points.mean(axis=0, dtype=np.float64), device)
    found = np.empty((len(points), count), dtype=np.int64)
    open_ = np.arange(len(points))
    for precision in (np.float32, np.float64):
        longer, lengths = lengthened(points, precision)
        every = placed(longer, device)
        found[open_], farthest, reach = _scanned(centred, every, open_, count, BLOCK[device])
        slack = (
            4 * np.finfo(precision).eps * np.sqrt(points.shape[1]) * lengths[: len(points)].max()
        )
        # Nothing is nearer than a copy, whatever was left out.
        hidden = (farthest >= reach + lengths[open_] - slack) & (farthest > 0)
        open_ = open_[hidden]
        if not len(open_):
            return found
    found[open_] = compared(points, open_, count)
    return found


def _scanned(
    centred: Any, every: Any, asked: Integers, count: int, block: int
) -> tuple[Integers, Floats, Floats]:
    """The nearest rows of some, the last one's squared distance, and the largest product kept."""
    rows = len(centred)
    kept = min(count + SPARE, rows - 1)
    nearest, farthest, reach = [], [], []
    with full_precision():
        for chunk in chunks(len(asked), len(every), block):
            own = placed(asked[chunk], str(centred.device))
            mine = -2 * every[own]
            mine[:, -1] = 1
            squares = mine @ every.T
            squares[_counted(own), own] = float("inf")
            candidates, last = _smallest(squares, kept)
            best, distances = _ranked(centred, own, candidates, count)
            nearest.append(best.cpu().numpy())
            farthest.append(to_numpy64(distances))
            reach.append(to_numpy64(last) if kept < rows - 1 else np.full(len(own), np.inf))
    return np.concatenate(nearest), np.concatenate(farthest), np.concatenate(reach)


def _counted(like: Any) -> Any:
    return like.new_ones(len(like)).cumsum(0) - 1


def _smallest(values: Any, kept: int) -> tuple[Any, Any]:
    """Positions of the `kept` smallest in each row, and the largest of those values."""
    many, width = values.shape
    groups = width // GROUPS
    if groups <= kept:
        found = values.topk(kept, dim=1, largest=False)
        return found.indices, found.values[:, -1]
    minima = values.view(many, GROUPS, groups).amin(1)
    best = minima.topk(kept, dim=1, largest=False).indices
    offsets = groups * _counted(best.new_ones(GROUPS))
    places = (best[:, :, None] + offsets).reshape(many, -1)
    found = values.gather(1, places).topk(kept, dim=1, largest=False)
    return places.gather(1, found.indices), found.values[:, -1]


def _ranked(centred: Any, own: Any, candidates: Any, count: int) -> tuple[Any, Any]:
    """The nearest candidates by differences, ties by row number, and the last one's distance²."""
    ordered = candidates.sort(1).values
    best, last = [], []
    for part in chunks(len(own), ordered.shape[1] * centred.shape[1], 2**27):
        gaps = centred[ordered[part]] - centred[own[part]][:, None, :]
        ranked = (gaps * gaps).sum(2).sort(dim=1, stable=True)
        best.append(ordered[part].gather(1, ranked.indices[:, :count]))
        last.append(ranked.values[:, count - 1])
    together = array_namespace(own).concat
    return together(best, axis=0), together(last, axis=0)
