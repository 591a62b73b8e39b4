"""The nearest other decision: found by a search, then brought as close as it can be.

A search overshoots: its last step is a whole one, and some of its steps were not needed. So
features are put back while the decision stays changed, and what is left is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.margins import margins_of
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.measures.search import (
    Climb,
    StepArguments,
    StepChooser,
    adversarial_search,
    prepare,
)
from anharmonic.measures.search.result import Search
from anharmonic.measures.search.steps import blocks
from anharmonic.measures.setup.sphere import rows_on_device

__all__ = ["Change", "Counterfactual", "nearest_counterfactual"]

GROUPS = 64
"""Features are put back in at most so many groups at a time; few of them, one by one."""
PARTS, ROUNDS = 16, 4
"""The way is cut into parts, the first part that ends in another class into parts again."""


class Change(NamedTuple):
    """One feature of a counterfactual: its value before and after, and the change in units."""

    name: str
    before: float
    after: float
    units: float


@dataclass(frozen=True)
class Counterfactual:
    """A point close by where the model decides otherwise.

    `values` (n,) are its coordinates that may move; `changes` those that did, the largest
    first; `distance` is the length of the change in scaled units; `steps` what the search took.
    """

    values: Floats
    changes: tuple[Change, ...]
    label: str
    margin: float
    distance: float
    steps: int
    queries: int


def nearest_counterfactual(
    model: Any,
    point: Any,
    *,
    steps: int = 50,
    climb: Climb = "margin",
    **arguments: Unpack[StepArguments],
) -> tuple[Counterfactual | None, int]:
    """The nearest other decision a search from one row finds, or None, and the queries it took.

    Arguments are those of `adversarial_search`.

    >>> slope = lambda x: np.stack([x[:, 0], -x[:, 0]], axis=1)
    >>> at = np.array([[0.9, 5.0]])
    >>> found, _ = nearest_counterfactual(slope, at, radius=0.25, scale=None)
    >>> [change.name for change in found.changes], round(found.distance, 3)
    (['0'], 0.9)
    """
    search = adversarial_search(model, point, steps=steps, climb=climb, **arguments)
    spent = int(search.queries.sum())
    if not search.flipped[0]:
        return None, spent
    chooser, _ = prepare(model, point, "margin", **arguments)
    closer = _Closer(chooser, search)
    end = closer.shortened(closer.put_back(search.path(0)[-1].reshape(-1)))
    return _described(search, closer, end, spent), spent + closer.queries


def _described(search: Search, closer: _Closer, end: Array, spent: int) -> Counterfactual:
    start, units = closer.start, np.asarray(search.settings.scale)
    outputs = closer.asked(end[None, :])
    lengths = (end - start) / units
    moved = np.flatnonzero(end != start)
    order = moved[np.argsort(-np.abs(lengths[moved]), kind="stable")]
    names = search.settings.columns
    return Counterfactual(
        values=np.asarray(end, dtype=np.float64),
        changes=tuple(
            Change(names[place], float(start[place]), float(end[place]), float(lengths[place]))
            for place in order.tolist()
        ),
        label=search.name_of(int(np.argmax(outputs[0]))),
        margin=float(margins_of(outputs, closer.label)[0]),
        distance=float(np.linalg.norm(lengths)),
        steps=int(search.flips[0]),
        queries=spent + closer.queries,
    )


class _Closer:
    """Brings a changed point back towards where it came from, counting what it asks."""

    def __init__(self, chooser: StepChooser, search: Search) -> None:
        self.chooser, self.queries = chooser, 0
        self.start = search.starts[0]
        self.label: Integers = search.labels[:1, 0]
        self.like = rows_on_device(chooser.caller, np.array([0]))

    def asked(self, points: Array) -> Floats:
        """Outputs (points, classes)."""
        self.queries += len(points)
        xp = array_namespace(self.like)
        there = xp.asarray(points, dtype=self.like.dtype, device=device(self.like))
        return np.asarray(self.chooser.outputs(there[None, ...], np.array([0]))[0])

    def margins(self, points: Array) -> Floats:
        """How much the first class leads by at points (points, n); below 0 it has lost."""
        parts = [
            margins_of(outputs, np.repeat(self.label, len(outputs)))
            for few in blocks(np.arange(len(points)), self.chooser.chunk)
            for outputs in (self.asked(points[few]),)
        ]
        return np.asarray(np.concatenate(parts))

    def put_back(self, end: Array) -> Array:
        """The point with as few changed features as will do: large groups first, then small."""
        size = int(np.sum(end != self.start)) // 2
        while size:
            changed = np.flatnonzero(end != self.start)
            size = max(size, -(-len(changed) // GROUPS))
            groups = [group for group in blocks(changed, size) if len(group) < len(changed)]
            tries = np.repeat(end[None, :], len(groups), axis=0)
            for place, group in enumerate(groups):
                tries[place, group] = self.start[group]
            margins = self.margins(tries) if groups else np.zeros(1)
            if margins.min() < 0:
                end = tries[int(np.argmin(margins))]
            elif size == 1 or size == -(-len(changed) // GROUPS):
                break
            else:
                size //= 2
        return end

    def shortened(self, end: Array) -> Array:
        """The first place on the straight way to the point where the class has changed."""
        low, high = 0.0, 1.0
        for _ in range(ROUNDS):
            shares = low + (high - low) * np.arange(1, PARTS) / PARTS
            places = self.start + shares[:, None] * (end - self.start)
            places = to_numpy64(self.chooser.step_rule.rounded(places.astype(end.dtype)))
            lost = np.flatnonzero(self.margins(places) < 0)
            first = int(lost[0]) if len(lost) else PARTS - 1
            low, high = ([low, *shares][first], [*shares, high][first])
        place = (self.start + high * (end - self.start)).astype(end.dtype)
        place = self.chooser.step_rule.rounded(place[None, :])[0]
        # Where the class changes back and forth, rounding may have led astray.
        return place if self.margins(place[None, :])[0] < 0 else end
