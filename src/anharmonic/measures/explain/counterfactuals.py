"""The nearest other decision: found by a search, then brought as close as it can be.

A search overshoots: its last step is a whole one, and some of its steps were not needed. So
features are put back while the decision stays changed, and what is left is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Unpack

import numpy as np

from anharmonic._core.arrays import array_like, to_numpy64
from anharmonic._core.columns import titled
from anharmonic._core.margins import margins_of
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.measures.search import (
    Climb,
    StepArguments,
    StepChooser,
    adversarial_search,
    prepare,
    search_from,
)
from anharmonic.measures.search.result import Search
from anharmonic.measures.search.steps import blocks
from anharmonic.measures.setup.batching import Flags
from anharmonic.measures.setup.settling import takes_arguments_of
from anharmonic.measures.setup.sphere import rows_on_device
from anharmonic.regions import Region
from anharmonic.regions.tables import TableNeighbourhood

__all__ = ["Change", "Counterfactual", "in_words", "nearest_counterfactual", "value_at"]

GROUPS = 64
"""Features are put back in at most so many groups at a time; few of them, one by one."""
WHOLE = 1e9
"""Whole numbers below it are shown with all their digits."""
PARTS, ROUNDS = 16, 4
"""The segment is cut into parts, the first part that ends in another class into parts again."""


class Change(NamedTuple):
    """One feature of a counterfactual: its value before and after, and the change in units.

    Values of a table's categories, dates and missing cells are texts.
    """

    name: str
    before: float | str
    after: float | str
    units: float

    def __str__(self) -> str:
        before, after = _around_difference(in_words(self.before), in_words(self.after))
        return f"{titled(self.name)} {before} → {after}"


def _around_difference(before: str, after: str, most: int = 60) -> tuple[str, str]:
    """Two texts, the long ones cut to where they begin to differ."""
    if max(len(before), len(after)) <= most:
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    differs = next((place for place, pair in pairs if pair[0] != pair[1]), 0)
    start = max(0, differs - most // 3)
    pieces = [text[start : start + most] for text in (before, after)]
    cut = [
        ("…" if start else "") + piece + ("…" if start + most < len(text) else "")
        for piece, text in zip(pieces, (before, after), strict=True)
    ]
    return cut[0], cut[1]


def in_words(value: float | str) -> str:
    """A value as people read it: whole numbers to the last digit.

    >>> [in_words(value) for value in (15024.0, 0.123456, -0.0, 1e300)]
    ['15024', '0.1235', '0', '1e+300']
    """
    if isinstance(value, str):
        return value
    whole = float(value).is_integer() and abs(value) < WHOLE
    return str(int(value)) if whole else f"{value:.4g}"


@dataclass(frozen=True)
class Counterfactual:
    """A point close by where the model decides otherwise.

    Parameters
    ----------
    values : (n,)
        The coordinates that may move.
    changes
        The features that did move, the largest change first.
    label, margin
        The other class, and the margin of the first one there, which is below 0.
    distance
        The length of the change, in scaled units.
    steps, queries
        What the search took.
    """

    values: Floats
    changes: tuple[Change, ...]
    label: str
    margin: float
    distance: float
    steps: int
    queries: int


@takes_arguments_of(adversarial_search, StepArguments)
def nearest_counterfactual(
    model: object,
    point: object,
    *,
    steps: int = 50,
    climb: Climb = "margin",
    **arguments: Unpack[StepArguments],
) -> tuple[Counterfactual | None, int]:
    """The nearest other decision a search from one row finds, or None, and the queries it took.

    Parameters
    ----------
    model, point
        Anything `as_model` takes, and one row.
    steps, climb
        The most steps of the search, and where they go: as in `adversarial_search`.
    arguments
        As in `adversarial_search`.

    Examples
    --------
    >>> slope = lambda x: np.stack([x[:, 0], -x[:, 0]], axis=1)
    >>> point = np.array([[0.9, 5.0]])
    >>> other, _ = nearest_counterfactual(slope, point, radius=0.25, scale=None)
    >>> [change.name for change in other.changes], round(other.distance, 3)
    (['0'], 0.9)
    """
    # Whole distances between neighbours: what they overshoot is taken back afterwards.
    search = search_from(model, point, share=1.0, steps=steps, climb=climb, **arguments)
    spent = int(search.queries.sum())
    if not search.flipped[0]:
        return None, spent
    chooser, _ = prepare(model, point, "margin", **arguments)
    closer = _Closer(chooser, search)
    end = closer.shorten(closer.put_back(search.path(0)[-1].reshape(-1)))
    return _describe(search, closer, end, spent), spent + closer.queries


def _describe(search: Search, closer: _Closer, end: Array, spent: int) -> Counterfactual:
    """The counterfactual at `end`: its class there and what changed, the largest first."""
    start, units = closer.start, np.asarray(search.settings.scale)
    outputs = closer.outputs(end[None, :])
    law, row = closer.law, closer.chooser.caller.region
    # In scaled units, where a distance means the same along every feature.
    lengths = (end - start) / units if law is None else np.sqrt(law.squares(start, end))
    moved = np.flatnonzero(_differ(end, start))
    order = moved[np.argsort(-np.abs(lengths[moved]), kind="stable")]
    names = search.settings.columns
    return Counterfactual(
        values=np.asarray(end, dtype=np.float64),
        changes=tuple(
            Change(
                names[column],
                value_at(law, column, float(start[column]), row),
                value_at(law, column, float(end[column]), row),
                float(lengths[column]),
            )
            for column in order.tolist()
        ),
        label=search.name_of(int(np.argmax(outputs[0]))),
        margin=float(margins_of(outputs, closer.label)[0]),
        distance=float(np.linalg.norm(lengths)),
        steps=int(search.flips[0]),
        queries=spent + closer.queries,
    )


def value_at(
    law: TableNeighbourhood | None, column: int, code: float, row: Region | None = None
) -> float | str:
    """A coordinate as a number, or as text where it is coded; edited texts need their row."""
    if law is None or law.is_number(column, code):
        return code
    named = row is not None and row.is_table
    cell = row.source[law.names[column]].to_list()[0] if row is not None and named else None
    return law.text(column, code, cell)


def _differ(one: Array, other: Array) -> Flags:
    """Where coordinates differ; two missing cells do not."""
    one, other = to_numpy64(one), to_numpy64(other)
    return np.asarray((one != other) & ~(np.isnan(one) & np.isnan(other)))


class _Closer:
    """Brings a changed point back towards where it came from, counting its queries."""

    def __init__(self, chooser: StepChooser, search: Search) -> None:
        self.chooser, self.queries = chooser, 0
        self.law = chooser.caller.region.neighbourhood
        self.start = search.starts[0]
        self.label: Integers = search.labels[:1, 0]
        self.like = rows_on_device(chooser.caller, np.array([0]))

    def outputs(self, points: Array) -> Floats:
        """Outputs (points, classes)."""
        self.queries += len(points)
        on_device = array_like(points, self.like)
        return np.asarray(self.chooser.outputs(on_device[None, ...], np.array([0]))[0])

    def margins(self, points: Array) -> Floats:
        """How much the first class leads by at points (points, n); below 0 it has lost."""
        parts = [
            margins_of(outputs, np.repeat(self.label, len(outputs)))
            for block in blocks(np.arange(len(points)), self.chooser.chunk)
            for outputs in (self.outputs(points[block]),)
        ]
        return np.asarray(np.concatenate(parts))

    def put_back(self, end: Array) -> Array:
        """The point with as few changed features as will do: large groups first, then small.

        Greedy backward elimination: of all groups that may go back, the one goes that leaves the
        first class furthest behind.
        """
        size = int(np.sum(_differ(end, self.start))) // 2
        while size:
            changed = np.flatnonzero(_differ(end, self.start))
            size = max(size, -(-len(changed) // GROUPS))
            groups = [group for group in blocks(changed, size) if len(group) < len(changed)]
            tries = np.repeat(end[None, :], len(groups), axis=0)
            for number, group in enumerate(groups):
                tries[number, group] = self.start[group]
            # The whole change never goes back at once: a group is smaller than that.
            margins = self.margins(tries) if groups else np.zeros(1)
            if margins.min() < 0:
                end = tries[int(np.argmin(margins))]
            elif size == 1 or size == -(-len(changed) // GROUPS):
                break
            else:
                size //= 2
        return end

    def shorten(self, end: Array) -> Array:
        """The first point on the segment from start to end where the class has changed.

        A 16-ary search along the segment: each round keeps the first part that ends in another
        class, so that four rounds resolve 1/65536 of its length.
        """
        low, high = 0.0, 1.0
        for _ in range(ROUNDS):
            shares = low + (high - low) * np.arange(1, PARTS) / PARTS
            points = to_numpy64(self._between(end, shares))
            lost = np.flatnonzero(self.margins(points) < 0)
            # Where none of the inner points has lost the class, the last part is the one.
            first = int(lost[0]) if len(lost) else PARTS - 1
            low, high = ([low, *shares][first], [*shares, high][first])
        nearest = self._between(end, np.array([high]))[0]
        # Where the class changes back and forth, rounding may have led astray.
        return nearest if self.margins(nearest[None, :])[0] < 0 else end

    def _between(self, end: Array, shares: Floats) -> Array:
        """Points at shares of the way from start to end; what does not go gradually is there."""
        points = (self.start + shares[:, None] * (end - self.start)).astype(end.dtype)
        if self.law is not None:
            return np.where(self.law.gradual, points, end)
        return self.chooser.step_rule.rounded(points)
