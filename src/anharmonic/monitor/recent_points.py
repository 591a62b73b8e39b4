"""The latest scored points, so that an alarm can be explained: bounded, whatever comes in."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.monitor.rows import taken

__all__ = ["RecentPoints", "RecentRows"]


class RecentRows(NamedTuple):
    """Some remembered rows.

    `rows` (n,) are their numbers in the stream, `scores` (watched, n), `segments` (n,) where
    known; `places` say of each row which batch of points holds it, and where in that batch.
    """

    rows: Integers
    scores: Floats
    segments: NDArray[np.str_] | None
    places: list[tuple[Array, int]]

    def take(self, chosen: Integers) -> RecentRows:
        """Those at some positions, in that order."""
        return RecentRows(
            self.rows[chosen],
            self.scores[:, chosen],
            None if self.segments is None else self.segments[chosen],
            [self.places[position] for position in chosen.tolist()],
        )

    def points(self) -> list[Array]:
        """The points one by one, each as a batch of one row; None where it was not at hand."""
        return [
            None if batch is None else taken(batch, np.array([position]))
            for batch, position in self.places
        ]


class RecentPoints:
    """Batches of scored rows, the oldest let go when more than `capacity` rows are kept."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._batches: deque[RecentRows] = deque()
        self._held = 0

    def clear(self) -> None:
        """Forget everything."""
        self._batches.clear()
        self._held = 0

    def add(
        self,
        points: Array,
        rows: Integers,
        scores: Floats,
        segments: NDArray[np.str_] | None,
        wanted: NDArray[np.bool_],
    ) -> None:
        """Remember the rows that are wanted."""
        chosen = np.flatnonzero(wanted)[-self.capacity :]
        if not len(chosen) or not self.capacity:
            return
        # A copy of the chosen rows: a view would keep the whole batch alive.
        kept = None if points is None else taken(points, chosen)
        self._batches.append(
            RecentRows(
                rows[chosen],
                scores[:, chosen],
                None if segments is None else segments[chosen],
                [(kept, position) for position in range(len(chosen))],
            )
        )
        self._held += len(chosen)
        # Whole batches go, so that up to one batch more than the capacity is held.
        while self._held - len(self._batches[0].rows) >= self.capacity:
            self._held -= len(self._batches.popleft().rows)

    def drop_from(self, row: int) -> None:
        """Forget rows from number `row` on."""
        for place, batch in enumerate(self._batches):
            self._batches[place] = batch.take(np.flatnonzero(batch.rows < row))
        while self._batches and not len(self._batches[-1].rows):
            self._batches.pop()
        self._held = sum(len(batch.rows) for batch in self._batches)

    def since(self, row: int, segment: str | None) -> RecentRows | None:
        """What is remembered from a row on, in a segment or everywhere."""
        if not self._batches:
            return None
        labels = [batch.segments for batch in self._batches]
        known_labels = [label for label in labels if label is not None]
        # Segments are known only if every batch came with them.
        segments = np.concatenate(known_labels) if len(known_labels) == len(labels) else None
        everything = RecentRows(
            np.concatenate([batch.rows for batch in self._batches]),
            np.concatenate([batch.scores for batch in self._batches], axis=1),
            segments,
            [place for batch in self._batches for place in batch.places],
        )
        wanted = everything.rows >= row
        if segment is not None and segments is not None:
            wanted = wanted & (segments == segment)
        return everything.take(np.flatnonzero(wanted))
