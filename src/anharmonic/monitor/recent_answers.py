"""The latest rows with the model's answers, and their labels: for rows to label and groups."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers

__all__ = ["AnswerMemory", "KnownLabel", "RecentAnswers"]


class RecentAnswers(NamedTuple):
    """The latest rows: their numbers, ids, segments ("" for none), outputs and coded cells."""

    rows: Integers
    ids: tuple[str, ...]
    segments: tuple[str, ...]
    outputs: Floats
    codes: Floats

    def part(self, chosen: Integers | NDArray[np.bool_]) -> RecentAnswers:
        """Some of them."""
        places = np.arange(len(self.rows))[chosen].tolist()
        return RecentAnswers(
            self.rows[places],
            tuple(self.ids[place] for place in places),
            tuple(self.segments[place] for place in places),
            self.outputs[places],
            self.codes[places],
        )


class KnownLabel(NamedTuple):
    """A label, and the chance with which its row was chosen where that was given."""

    label: object
    chance: float | None


class AnswerMemory:
    """At most `capacity` rows, the oldest let go; labels go with their rows."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.labels: dict[int, KnownLabel] = {}
        """By the rows' numbers."""
        self._batches: deque[RecentAnswers] = deque()
        self._held = 0

    def add(self, recent: RecentAnswers) -> None:
        """Remember rows."""
        self._batches.append(recent)
        self._held += len(recent.rows)
        while self._held > self.capacity:
            self._drop_oldest(self._held - self.capacity)

    def _drop_oldest(self, count: int) -> None:
        """Forget so many of the oldest rows, or all of the oldest batch if it has fewer."""
        oldest = self._batches.popleft()
        count = min(count, len(oldest.rows))
        for row in oldest.rows[:count].tolist():
            self.labels.pop(row, None)
        if count < len(oldest.rows):
            self._batches.appendleft(oldest.part(np.arange(count, len(oldest.rows))))
        self._held -= count

    def note(self, row: int, label: KnownLabel) -> None:
        """Remember a row's label, if the row is; of two labels the first was joined."""
        if self._batches and row >= int(self._batches[0].rows[0]):
            self.labels.setdefault(row, label)

    def rows(self) -> RecentAnswers | None:
        """All rows, None if there are none."""
        return _joined(list(self._batches)) if self._batches else None

    def drop_from(self, row: int, waiting: Collection[int]) -> None:
        """Forget rows from number `row` on, and labels of rows that wait for theirs again."""
        batches, self._batches, self._held = self._batches, deque(), 0
        for batch in batches:
            kept = batch.part(batch.rows < row)
            if len(kept.rows):
                self._batches.append(kept)
                self._held += len(kept.rows)
        self.labels = {
            number: label
            for number, label in self.labels.items()
            if number < row and number not in waiting
        }

    def clear(self) -> None:
        """Forget everything."""
        self._batches.clear()
        self.labels.clear()
        self._held = 0


def _joined(parts: Sequence[RecentAnswers]) -> RecentAnswers:
    return RecentAnswers(
        np.concatenate([part.rows for part in parts]),
        tuple(id for part in parts for id in part.ids),
        tuple(segment for part in parts for segment in part.segments),
        np.concatenate([part.outputs for part in parts]),
        np.concatenate([part.codes for part in parts]),
    )
