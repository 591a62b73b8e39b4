"""The latest scored points, so that an alarm can be explained: bounded, whatever comes in."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic.monitor.rows import taken

__all__ = ["Memory", "Recalled"]


class Recalled(NamedTuple):
    """Some remembered rows: numbers, scores (watched, rows), segments and places."""

    rows: Integers
    scores: Floats
    segments: NDArray[np.str_] | None
    places: list[tuple[Any, int]]

    def some(self, chosen: Integers) -> Recalled:
        """A few of them."""
        return Recalled(
            self.rows[chosen],
            self.scores[:, chosen],
            None if self.segments is None else self.segments[chosen],
            [self.places[each] for each in chosen.tolist()],
        )

    def points(self) -> list[Any]:
        """The points one by one, each as a batch of one row; None where it was not at hand."""
        return [
            None if batch is None else taken(batch, np.array([place]))
            for batch, place in self.places
        ]


class Memory:
    """Batches of scored rows, the oldest let go when more than `most` rows are kept."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._batches: deque[Recalled] = deque()
        self._held = 0

    def clear(self) -> None:
        """Forget everything."""
        self._batches.clear()
        self._held = 0

    def add(
        self,
        points: Any,
        rows: Integers,
        scores: Floats,
        segments: NDArray[np.str_] | None,
        known: NDArray[np.bool_],
    ) -> None:
        """Remember the rows that are scored."""
        chosen = np.flatnonzero(known)[-self.most :]
        if not len(chosen) or not self.most:
            return
        # Only what is kept may keep a batch alive.
        kept = None if points is None else taken(points, chosen)
        self._batches.append(
            Recalled(
                rows[chosen],
                scores[:, chosen],
                None if segments is None else segments[chosen],
                [(kept, place) for place in range(len(chosen))],
            )
        )
        self._held += len(chosen)
        while self._held - len(self._batches[0].rows) >= self.most:
            self._held -= len(self._batches.popleft().rows)

    def since(self, row: int, segment: str | None) -> Recalled | None:
        """What is remembered from a row on, in a segment or everywhere."""
        if not self._batches:
            return None
        whole = [
            np.concatenate([each.rows for each in self._batches]),
            np.concatenate([each.scores for each in self._batches], axis=1),
        ]
        labels = [each.segments for each in self._batches]
        known = [each for each in labels if each is not None]
        segments = np.concatenate(known) if len(known) == len(labels) else None
        places = [place for each in self._batches for place in each.places]
        every = Recalled(whole[0], whole[1], segments, places)
        wanted = every.rows >= row
        if segment is not None and segments is not None:
            wanted = wanted & (segments == segment)
        return every.some(np.flatnonzero(wanted))
