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
from typing import Unpack

import numpy as np

from anharmonic import balls
from anharmonic._core import tables
from anharmonic._core.columns import titled
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.reductions import Reduction, chosen_reduction, is_additive, picked
from anharmonic.errors import SettingsError
from anharmonic.measures.explain.table_shares import table_shares
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.settling import SetupArguments, settle, takes_setup
from anharmonic.measures.setup.sphere import Sphere, neighbourhood
from anharmonic.regions import as_region
from anharmonic.scores import Scores

__all__ = ["REMAINDER", "Contributions", "contributions", "titled", "worst_contributions"]

REMAINDER = "interactions and directions between features"
LISTED = 12


@dataclass(frozen=True, repr=False)
class Contributions:
    """Each feature's share of the deviation at some points.

    Parameters
    ----------
    names : (features,)
        The features that moved.
    values : (points, features)
        Shares, in the unit of gamma; above 0 where the model is larger at the point than beside
        it. A row sums to gamma with the unrotated cross ball, signed for a single output and
        never negative for a vector of them.
    rows : (points,)
        Which rows of the data these are.
    queries
        Rows the model was asked for.
    radius
        How far the steps went, in scaled units.
    deviations : (points,)
        Gamma over the whole sphere, signed for a single output; None where it was not measured.

    Notes
    -----
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
        return np.asarray(self.values[self._index(row)])

    def remainder(self, row: int) -> float | None:
        """What the shares leave of a row's deviation; None where that is not known."""
        if self.deviations is None:
            return None
        index = self._index(row)
        return float(self.deviations[index] - self.values[index].sum())

    def _index(self, row: int) -> int:
        """Where a row of the data stands among those that were explained."""
        indices = np.flatnonzero(self.rows == row)
        if not len(indices):
            rows = ", ".join(str(known) for known in self.rows[:10].tolist())
            raise SettingsError(f"row {row} has no contributions: they were asked for at {rows}")
        return int(indices[0])

    def _repr_html_(self) -> str:
        first = int(self.rows[0])
        order = np.argsort(-np.abs(self.of(first)), kind="stable")[:LISTED].tolist()
        cells = {titled(self.names[column]): f"{self.of(first)[column]:+.3g}" for column in order}
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

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    rows
        Which of the points, such as `scores.worst(5)`; all where none are given.
    reduction
        How a vector of outputs becomes a number, as in `gamma`: "norm", "predicted" or a column's
        number. For a norm, vectors are projected on the direction of the whole deviation, so that
        shares add up to its length.
    limit
        The most queries in all; each point costs 2n+1, and in tables of other than numbers up to
        20 for each further column: all values it may take are asked for.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`.

    Examples
    --------
    >>> points = np.zeros((1, 3))
    >>> bowl = lambda x: x[:, 0] ** 2 - 4 * x[:, 1] ** 2
    >>> shares = contributions(bowl, points, radius=0.3, scale=None)
    >>> shares.values.round(3).tolist(), shares.queries
    ([[-0.03, 0.12, 0.0]], 7)
    """
    settled = settle(model, points, **setup)
    region, law = settled.region, settled.region.neighbourhood
    sphere = Sphere.of(
        settled,
        balls.cross(max(1, settled.ball_dimension)),
        _shareable(chosen_reduction(reduction, settled.model.kind)),
    )
    wanted = _rows(rows, len(region))
    # At most: values that several donors share are asked for once.
    per_row = 2 * settled.ball_dimension + 1
    per_row += 0 if law is None else 2 * law.donors.count * len(law.sites)
    queries = len(wanted) * per_row
    if queries > limit:
        raise SettingsError(
            f"{len(wanted):,} points × {region.dimension:,} features take {queries:,} queries and "
            f"the limit is {limit:,}: ask for fewer with rows=scores.worst(5), let fewer features "
            "move with moving=[…], or raise limit="
        )
    if law is not None:
        parts = [table_shares(sphere, block) for block in _blocks(sphere, wanted, per_row)]
        values = [_project(bends) for bends, _ in parts]
        queries = sum(spent for _, spent in parts)
    else:
        values = [_shares(sphere, block) for block in _blocks(sphere, wanted, per_row)]
    return Contributions(region.columns, np.concatenate(values), wanted, queries, settled.radius)


def worst_contributions(
    model: object,
    points: object,
    scores: Scores,
    count: int = 5,
    limit: int = 1_000_000,
    reference: object = None,
) -> Contributions:
    """Contributions at the worst points of some scores, with the settings these were made with.

    Parameters
    ----------
    model, points
        Those the scores came from.
    scores
        Of gamma. What the shares leave of them is known then: see `Contributions.remainder`.
    count
        How many points.
    limit
        The most queries in all.
    reference
        That of the scores, of a table of other than numbers.
    """
    settings = scores.settings
    region = as_region(points)
    if region.neighbourhood is None:
        region = as_region(region, settings.columns)
        told = settings.told_kinds()
        region = replace(region, told=told or None, plain=not told)
    shares = contributions(
        model,
        region,
        rows=scores.worst(count),
        radius=settings.radius,
        scale="auto" if settings.kinds else settings.scale,
        reference=reference if settings.kinds else None,
        output=settings.output,
        reduction=settings.reduction,
        bounds=settings.bounds,
        limit=limit,
        seed=settings.seed,
    )
    # A vector's shares are parts of its length, a single output's keep its sign.
    whole = scores.values if scores.signed.ndim == 2 else scores.signed
    return replace(shares, deviations=whole[shares.rows])


def _shareable(reduction: Reduction) -> Reduction:
    """Refuse what is no sum over features."""
    if not is_additive(reduction):
        what = "a function of the deviations" if callable(reduction) else "an angle"
        raise SettingsError(
            f'{what} does not fall into a share for each feature: explain with reduction="norm", '
            '"predicted" or a column\'s number'
        )
    return reduction


def _rows(rows: Sequence[int] | Integers | None, count: int) -> Integers:
    """The rows that are wanted, all of them where none are named."""
    wanted = np.arange(count) if rows is None else np.asarray(rows, dtype=np.int64)
    if not len(wanted) or wanted.min() < 0 or wanted.max() >= count:
        raise SettingsError(f"rows are numbers from 0 to {count - 1}, at least one of them")
    return wanted


def _blocks(sphere: Sphere, rows: Integers, points_per_row: int) -> Iterator[Integers]:
    """Rows, as many at a time as fit in memory with their neighbours."""
    rows_at_once = max(1, sphere.chunk // points_per_row)
    for start in range(0, len(rows), rows_at_once):
        yield rows[start : start + rows_at_once]


def _shares(sphere: Sphere, rows: Integers) -> Floats:
    """The shares (rows, features), from as many features at a time as fit in memory."""
    dimension = sphere.region.dimension
    features_at_once = max(1, sphere.chunk // (2 * len(rows)))
    bends: list[Floats] = []
    answer: Floats | None = None  # at the points themselves, (rows, columns)
    for start in range(0, dimension, features_at_once):
        stop = min(dimension, start + features_at_once)
        centres = 1 if answer is None else 0
        around, _ = neighbourhood(sphere, rows, [Segment(0, start, stop)], centres)
        outputs = answers(sphere.caller, around, rows)
        answer = outputs[:, 0] if answer is None else answer
        centre = picked(sphere.reduction, answer, answer)[:, None]
        beside = picked(sphere.reduction, answer, outputs[:, centres:])
        half = stop - start
        # f(x + r·eᵢ) stand before f(x − r·eᵢ): (rows, features, columns) each.
        bends.append((centre - (beside[:, :half] + beside[:, half:]) / 2) / dimension)
    return _project(np.concatenate(bends, axis=1))


def _project(bends: Floats) -> Floats:
    """Bends (rows, features, columns) along the direction of their sum; one column as it is."""
    if bends.shape[-1] == 1:
        return np.asarray(bends[..., 0])
    # (rows, columns); shares bᵢ·d/|d| of features i sum to |d|, d being the sum of all bᵢ.
    total = bends.sum(axis=1)
    length = np.linalg.norm(total, axis=-1, keepdims=True)
    direction = np.divide(total, length, out=np.zeros_like(total), where=length > 0)
    return np.asarray(np.einsum("rfc,rc->rf", bends, direction))
