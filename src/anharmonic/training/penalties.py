"""Bends, or gamma, as a term of a loss: differentiable, and two more forward passes per pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core.protocols import Array, Draw
from anharmonic._core.randomness import signs
from anharmonic.errors import SettingsError
from anharmonic.models.torch import placed_on, scores_in
from anharmonic.training.objectives import Batch

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

__all__ = ["Penalised", "gamma_penalty"]


def gamma_penalty(
    module: Module,
    points: Array,
    radius: float,
    *,
    pairs: int = 1,
    bounds: tuple[float, float] | None = None,
    seed: int = 0,
    rows: Array | None = None,
    unbiased: bool = False,
) -> Tensor:
    """Squared deviation of every row's outputs from their mean over a few neighbours, (rows,).

    Add `weight * gamma_penalty(module, points, radius).mean()` to any loss.

    Parameters
    ----------
    module, points
        A torch module, and points (rows, …).
    radius
        The length of the directions, which are dense.
    pairs
        How many ± pairs (`2 * pairs` points per row): slopes cancel and only bends cost.
    bounds
        (low, high) that neighbours are kept within, of a pair both sides alike.
    seed
        Give another one at each step. A row's directions depend on (seed, row) alone.
    rows
        The points' own numbers, (rows,).
    unbiased
        A penalty on gamma itself; see the notes.

    Notes
    -----
    With one pair it is a penalty on curvature: its expectation is gamma² plus the variance of
    the bend among directions, two or three times gamma² for small networks, and a harmonic saddle
    x₀·x₁ costs too. `unbiased=True` is a penalty on gamma itself: the mean product of different
    pairs (at least 2), whose expectation is gamma² and which may be below 0.

    Examples
    --------
    >>> import torch
    >>> line = torch.nn.Linear(4, 3)
    >>> gamma_penalty(line, torch.rand(5, 4), 0.5).max().item() < 1e-9
    True
    """
    placed = placed_on(points, module)
    return _around(module, placed, radius, pairs, bounds, seed, rows, unbiased)[1]


def _around(
    module: Module,
    points: Tensor,
    radius: float,
    pairs: int,
    bounds: tuple[float, float] | None,
    seed: int,
    rows: Array | None,
    unbiased: bool,
) -> tuple[Tensor, Tensor]:
    """Outputs (rows, columns) and squared deviations (rows,), from one forward pass."""
    import torch

    if pairs < 1 or not radius > 0:
        raise SettingsError("a penalty needs a positive radius and at least one pair")
    if unbiased and pairs < 2:
        raise SettingsError("unbiased=True multiplies different pairs: give pairs=2 or more")
    flat = points.detach().flatten(1)
    count, width = flat.shape
    numbers = np.arange(count) if rows is None else np.asarray(rows, dtype=np.int64)
    draw = Draw(seed, numbers, np.zeros(count, dtype=np.int64), flat)
    index = torch.arange(pairs, device=flat.device)
    # Rademacher directions: every coordinate ±radius/√n, so that each has the length `radius`.
    steps = signs(draw, index, width) * (radius / width**0.5)
    steps = steps.reshape(count, pairs, *points.shape[1:])
    centres = points[:, None]
    if bounds is not None:
        # A pair cut on one side alone would cost a slope.
        longest = torch.minimum(centres - bounds[0], bounds[1] - centres).detach().clamp(min=0)
        steps = torch.clamp(steps, -longest, longest)
    moved = torch.cat((centres, centres + steps, centres - steps), dim=1)
    # Each stacked network's rows stay together, with their neighbours beside them.
    outputs = scores_in(module(moved.flatten(0, 1))).reshape(count, 1 + 2 * pairs, -1)
    pair_means = (outputs[:, 1 : 1 + pairs] + outputs[:, 1 + pairs :]) / 2
    # f(x) − (f(x+u) + f(x−u))/2 of each pair: (rows, pairs, columns).
    deviations = outputs[:, :1] - pair_means
    square = deviations.mean(dim=1).square().sum(dim=-1)
    if unbiased:
        # |mean|² less its diagonal: what is left are products of two different pairs.
        diagonal = deviations.square().sum(dim=-1).mean(dim=1)
        square = (pairs * square - diagonal) / (pairs - 1)
    return outputs[:, 0], square


@dataclass(frozen=True)
class Penalised:
    """Cross entropy, and `weight` times `gamma_penalty` at each point.

    Parameters
    ----------
    radius, pairs, bounds, seed, unbiased
        As in `gamma_penalty`; the seed changes with every step.
    weight
        A number, or one for each stacked network.
    """

    radius: float
    weight: ArrayLike = 1.0
    pairs: int = 1
    bounds: tuple[float, float] | None = None
    seed: int = 0
    unbiased: bool = False

    def __call__(self, module: Module, batch: Batch) -> Tensor:
        import torch
        from torch.nn.functional import cross_entropy

        # Steps are far apart among the seeds, so that no two share a stream.
        seed = self.seed + ((batch.step + 1) << 32)
        outputs, squares = _around(
            module,
            batch.points,
            self.radius,
            self.pairs,
            self.bounds,
            seed,
            batch.rows,
            self.unbiased,
        )
        weight = torch.as_tensor(self.weight, dtype=outputs.dtype, device=outputs.device)
        if weight.ndim:
            weight = weight.repeat_interleave(len(batch.points) // len(weight))
        return cross_entropy(outputs, batch.labels, reduction="none") + weight * squares
