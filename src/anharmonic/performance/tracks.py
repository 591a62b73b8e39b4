"""One part of a stream as windows; and the rows of all parts that wait for a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.performance.estimator import Estimator
from anharmonic.performance.metrics import observed_credits
from anharmonic.performance.result import Performance
from anharmonic.performance.windows import Held, Window, close_window, shown_performance

__all__ = ["Pending", "Track", "Waiting"]


class Track:
    """Windows of all traffic or of a segment; the rows of the open one are held as they are.

    A label that comes before its window is closed waits here, with its row: so as many are kept
    as a window has rows.
    """

    def __init__(self, estimator: Estimator, window: int, windows: int) -> None:
        self.estimator, self.size, self.most = estimator, window, windows
        self.outputs: list[Floats] = []
        self.cells: list[Floats] = []
        self.keys: list[str] = []
        self.places: dict[str, int] = {}
        """Of each id the place in the open window."""
        self.early: dict[int, tuple[float, float]] = {}
        """Labels and weights by place in the open window."""
        self.first, self.last, self.start = 0, 0, ""
        self.closed = 0
        self.windows: list[Window] = []

    def add(self, outputs: Floats, cells: Floats | None, key: str, time: str, row: int) -> bool:
        """One row; whether the window is full."""
        if not self.outputs:
            self.first, self.start = row, time
        self.last = row
        if key:
            self.places[key] = len(self.outputs)
        self.outputs.append(outputs)
        self.keys.append(key)
        if cells is not None:
            self.cells.append(cells)
        return len(self.outputs) >= self.size

    def close(self) -> Iterator[tuple[str, Held]]:
        """Close the window: of each row that waits for a label, what that is held against."""
        window, held = self._estimated()
        keys, early = self.keys, self.early
        self.windows = [*self.windows, window][-self.most :]
        self.outputs, self.cells, self.keys, self.places, self.early = [], [], [], {}, {}
        self.closed += 1
        for place, (key, expected) in enumerate(zip(keys, held, strict=True)):
            if key and place not in early:
                yield key, expected

    def _estimated(self) -> tuple[Window, list[Held]]:
        """The open rows as a window, with the labels that have come."""
        outputs, cells = np.array(self.outputs), np.array(self.cells) if self.cells else None
        facts = (self.closed, self.first, self.last, self.start)
        window, held = close_window(self.estimator, outputs, cells, *facts)
        for place, (label, weight) in sorted(self.early.items()):
            observed = self._observed(self.outputs[place], label)
            window.add_label(held[place].residuals(observed), weight)
        return window, held

    def add_early(self, key: str, label: float, weight: float) -> None:
        """A label of a row in the open window."""
        self.early[self.places[key]] = label, weight

    def add_label(self, held: Held, outputs: Floats, label: float, weight: float) -> None:
        """A label of a row in a closed window, which may be gone by now."""
        oldest = self.windows[0].number if self.windows else 0
        if held.window >= oldest:
            residuals = held.residuals(self._observed(outputs, label))
            self.windows[held.window - oldest].add_label(residuals, weight)

    def _observed(self, outputs: Floats, label: float) -> Floats:
        credits = observed_credits(outputs[None], np.array([label]), self.estimator.kind)
        return np.asarray(credits[0])

    def curve(self, level: float | None, segment: str | None) -> list[Performance]:
        """Each window's performance."""
        if not self.windows:
            return []
        level = self.estimator.level if level is None else level
        return shown_performance(self.estimator, self.windows, level, segment)

    def latest(self, level: float | None, segment: str | None = None) -> Performance:
        """The newest window's, or that of the open one if it is the first."""
        if self.windows:
            return self.curve(level, segment)[-1]
        if self.early:
            level = self.estimator.level if level is None else level
            window, _ = self._estimated()
            return shown_performance(self.estimator, [window], level, segment)[0]
        cells = np.array(self.cells) if self.cells else None
        width = self.estimator.reference.outputs.shape[1:]
        outputs = np.array(self.outputs).reshape(len(self.outputs), *width)
        if cells is None and self.estimator.has_features:
            cells = np.empty((0, len(self.estimator.ranks)))
        found = self.estimator.estimate(outputs, cells, level=level)
        where = {"first": self.first, "last": self.last, "start": self.start or None}
        return replace(found, **where, segment=segment)  # type: ignore[arg-type]


@dataclass
class Waiting:
    """A row that waits for its label.

    Parameters
    ----------
    row
        Its number in the stream.
    outputs
        What the model answered.
    segment
        The part of the traffic that is kept apart, None where it counts in the whole alone.
    held
        Of each part, None for the whole, whose window is closed: what a label is held against.
    """

    row: int
    outputs: Floats
    segment: str | None
    held: dict[str | None, Held] = field(default_factory=dict)

    @property
    def parts(self) -> list[str | None]:
        """Where the row counts: in all traffic, and in its segment."""
        return [None] if self.segment is None else [None, self.segment]


class Pending:
    """Rows by id that have no label yet, at most `most`: the oldest go first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: dict[str, Waiting] = {}

    def add(self, key: str, row: Waiting) -> None:
        """A row that may get a label; the same id again replaces the row before."""
        self.rows.pop(key, None)
        self.rows[key] = row
        while len(self.rows) > self.most:
            del self.rows[next(iter(self.rows))]

    def hold(self, key: str, segment: str | None, held: Held) -> None:
        """The row's window of this part is closed."""
        row = self.rows.get(key)
        if row is not None:
            row.held[segment] = held

    def take(self, key: str) -> Waiting | None:
        """The row whose label has come; None where no such row waits for one."""
        return self.rows.pop(key, None)
