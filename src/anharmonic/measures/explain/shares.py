"""Why a point's gamma is what it is: which features the model bends along.

A step to both sides along one feature sees that feature's bend alone. The steps along all of
them are the cross-polytope, so their bends add up to the deviation that gamma measures with it.
Gamma over the whole sphere sees more: what features do together, and directions between them.
Where it is known, the difference is the remainder, so that all parts add up to it.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from anharmonic import balls
from anharmonic._core import tables
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.reductions import Reduction, chosen_reduction, is_additive, picked
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.settling import SetupArguments, settle, takes_setup
from anharmonic.measures.setup.sphere import Segment, Sphere, neighbourhood
from anharmonic.scores import Scores

__all__ = ["REMAINDER", "Contributions", "contributions", "titled", "worst_contributions"]

REMAINDER = "interactions and directions between features"
LISTED = 12


@dataclass(frozen=True, repr=False)
class Contributions:
    """Each feature's share of the deviation at some points.

    - `names` (features,): the features that moved.
    - `values` (points, features): shares, in the unit of gamma; above 0 where the model is
      larger at the point than beside it. A row sums to gamma with the unrotated cross ball,
      signed for a single output and never negative for a vector of them.
    - `rows` (points,): which rows of the data these are.
    - `queries`: rows the model was asked for.
    - `deviations` (points,): gamma over the whole sphere, signed for a single output; None
      where it was not measured.

    There are no errors: the steps go along the axes and nothing is drawn at random.
    """

    names: tuple[str, ...]
    values: Floats
    rows: Integers
    queries: int
    radius: float
    deviations: Floats | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def totals(self) -> Floats:
        """The sum of the shares at each point, (points,): the deviation along the axes."""
        return np.asarray(self.values.sum(axis=1))

    def of(self, row: int) -> Floats:
        """The shares (features,) at one row of the data."""
        return np.asarray(self.values[self._place(row)])

    def remainder(self, row: int) -> float | None:
        """What the shares leave of a row's deviation; None where that is not known."""
        if self.deviations is None:
            return None
        place = self._place(row)
        return float(self.deviations[place] - self.values[place].sum())

    def _place(self, row: int) -> int:
        found = np.flatnonzero(self.rows == row)
        if not len(found):
            known = ", ".join(str(each) for each in self.rows[:10].tolist())
            raise SettingsError(f"row {row} has no contributions: they were asked for at {known}")
        return int(found[0])

    def _repr_html_(self) -> str:
        first = int(self.rows[0])
        order = np.argsort(-np.abs(self.of(first)), kind="stable")[:LISTED].tolist()
        cells = {titled(self.names[at]): f"{self.of(first)[at]:+.3g}" for at in order}
        if len(order) < len(self.names):
            rest = self.totals[0] - self.of(first)[order].sum()
            cells[f"{len(self.names) - len(order)} others together"] = f"{rest:+.3g}"
        left = self.remainder(first)
        if left is not None:
            cells[REMAINDER] = f"{left:+.3g}"
        about = html.escape(repr(self).strip("<>"))
        return f"<p>{about}; row {first}:</p>{tables.facts(cells)}"

    def __repr__(self) -> str:
        return (
            f"<contributions of {len(self.names)} features at {len(self):,} points, "
            f"{self.queries:,} queries, radius {self.radius:.4g}>"
        )


@takes_setup
def contributions(
    model: object,
    points: object,
    *,
    rows: Sequence[int] | Integers | None = None,
    reduction: Reduction | None = None,
    limit: int = 1_000_000,
    **setup: Unpack[SetupArguments],
) -> Contributions:
    """Each feature's second difference, (f(x) − (f(x + r·eᵢ) + f(x − r·eᵢ))/2)/n.

    `rows` picks some of the points, such as `scores.worst(5)`; the other arguments are
    `gamma`'s. Costs 2n+1 queries per point and refuses more than `limit` in all.

    A vector of outputs is projected on the direction of its whole deviation, so that shares
    add up to its length.

    >>> points = np.zeros((1, 3))
    >>> bowl = lambda x: x[:, 0] ** 2 - 4 * x[:, 1] ** 2
    >>> found = contributions(bowl, points, radius=0.3, scale=None)
    >>> found.values.round(3).tolist(), found.queries
    ([[-0.03, 0.12, 0.0]], 7)
    """
    settled = settle(model, points, **setup)
    region = settled.region
    sphere = Sphere.of(
        settled,
        balls.cross(region.dimension),
        _shareable(chosen_reduction(reduction, settled.model.kind)),
    )
    wanted = _rows(rows, len(region))
    queries = len(wanted) * (2 * region.dimension + 1)
    if queries > limit:
        raise SettingsError(
            f"{len(wanted):,} points × {region.dimension:,} features take {queries:,} queries and "
            f"the limit is {limit:,}: ask for fewer with rows=scores.worst(5), let fewer features "
            "move with moving=[…], or raise limit="
        )
    values = [_shares(sphere, few) for few in _blocks(sphere, wanted)]
    return Contributions(region.columns, np.concatenate(values), wanted, queries, settled.radius)


def worst_contributions(
    model: Any, points: Any, scores: Scores, count: int = 5, limit: int = 1_000_000
) -> Contributions:
    """Contributions at the worst points of some scores, with the settings these were made with.

    `model` and `points` are those the scores came from. What the shares leave of the scores is
    known then: see `Contributions.remainder`.
    """
    settings = scores.settings
    found = contributions(
        model,
        points,
        moving=settings.columns,
        rows=scores.worst(count),
        radius=settings.radius,
        scale=settings.scale,
        output=settings.output,
        reduction=settings.reduction,
        bounds=settings.bounds,
        limit=limit,
        seed=settings.seed,
    )
    # A vector's shares are parts of its length, a single output's keep its sign.
    whole = scores.values if scores.signed.ndim == 2 else scores.signed
    return replace(found, deviations=whole[found.rows])


def titled(name: str) -> str:
    """A column's name; the columns of an array have only numbers.

    >>> titled("3"), titled("age")
    ('feature 3', 'age')
    """
    return f"feature {name}" if name.isdigit() else name


def _shareable(reduction: Reduction) -> Reduction:
    """Refuse what is no sum over features."""
    if not is_additive(reduction):
        what = "a function of the deviations" if callable(reduction) else "an angle"
        raise SettingsError(
            f'{what} does not fall into a share for each feature: explain with reduction="norm", '
            '"predicted" or a column\'s number'
        )
    return reduction


def _rows(rows: Sequence[int] | Integers | None, many: int) -> Integers:
    wanted = np.arange(many) if rows is None else np.asarray(rows, dtype=np.int64)
    if not len(wanted) or wanted.min() < 0 or wanted.max() >= many:
        raise SettingsError(f"rows are numbers from 0 to {many - 1}, at least one of them")
    return wanted


def _blocks(sphere: Sphere, rows: Integers) -> Iterator[Integers]:
    each = max(1, sphere.chunk // (sphere.ball.count + 1))
    for start in range(0, len(rows), each):
        yield rows[start : start + each]


def _shares(sphere: Sphere, rows: Integers) -> Floats:
    """The shares (rows, features), from as many features at a time as fit in memory."""
    dimension = sphere.region.dimension
    room = max(1, sphere.chunk // (2 * len(rows)))
    bends: list[Floats] = []
    whole: Floats | None = None
    for start in range(0, dimension, room):
        stop = min(dimension, start + room)
        centres = 1 if whole is None else 0
        around, _ = neighbourhood(sphere, rows, [Segment(0, start, stop)], centres)
        outputs = answers(sphere.caller, around, rows)
        whole = outputs[:, 0] if whole is None else whole
        centre = picked(sphere.reduction, whole, whole)[:, None]
        beside = picked(sphere.reduction, whole, outputs[:, centres:])
        half = stop - start
        bends.append((centre - (beside[:, :half] + beside[:, half:]) / 2) / dimension)
    return _projected(np.concatenate(bends, axis=1))


def _projected(bends: Floats) -> Floats:
    """Bends (rows, features, columns) along the direction of their sum; one column as it is."""
    if bends.shape[-1] == 1:
        return np.asarray(bends[..., 0])
    total = bends.sum(axis=1)
    length = np.linalg.norm(total, axis=-1, keepdims=True)
    direction = np.divide(total, length, out=np.zeros_like(total), where=length > 0)
    return np.asarray(np.einsum("rfc,rc->rf", bends, direction))
