"""One part of a stream as windows; and the rows of all parts that wait for a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.performance.estimator import Estimator
from anharmonic.performance.result import Performance
from anharmonic.performance.windows import Window, close_window, shown_performance

__all__ = ["Pending", "Track", "Waiting"]


class Track:
    """Windows of all traffic or of a segment; the rows of the open one are held as they are."""

    def __init__(self, estimator: Estimator, window: int, windows: int) -> None:
        self.estimator, self.size, self.most = estimator, window, windows
        self.outputs: list[Floats] = []
        self.cells: list[Floats] = []
        self.keys: list[str] = []
        self.first, self.start = 0, ""
        self.closed = 0
        self.windows: list[Window] = []

    def add(self, outputs: Floats, cells: Floats | None, key: str, time: str, row: int) -> bool:
        """One row; whether the window is full."""
        if not self.outputs:
            self.first, self.start = row, time
        self.outputs.append(outputs)
        self.keys.append(key)
        if cells is not None:
            self.cells.append(cells)
        return len(self.outputs) >= self.size

    def close(self) -> Iterator[tuple[str, int, Floats]]:
        """Close the window: of each row with a key, the window and what a label is held against."""
        outputs, cells = np.array(self.outputs), np.array(self.cells) if self.cells else None
        window, credits, slopes = close_window(
            self.estimator, outputs, cells, self.closed, self.first, self.start
        )
        self.windows = [*self.windows, window][-self.most :]
        keys, self.outputs, self.cells, self.keys = self.keys, [], [], []
        self.closed += 1
        for place, key in enumerate(keys):
            if key:
                yield key, window.number, np.concatenate([credits[place][None], slopes[:, place]])

    def add_label(self, number: int, residuals: Floats, weight: float) -> None:
        """A label of a row in a window that may be gone by now."""
        oldest = self.windows[0].number if self.windows else 0
        if number >= oldest:
            self.windows[number - oldest].add_label(residuals, weight)

    def curve(self, level: float | None, segment: str | None) -> list[Performance]:
        """Each window's performance."""
        level = self.estimator.level if level is None else level
        return shown_performance(self.estimator, self.windows, level, segment)

    def latest(self, level: float | None, segment: str | None = None) -> Performance:
        """The newest window's, or that of the open one if it is the first."""
        if self.windows:
            return self.curve(level, segment)[-1]
        cells = np.array(self.cells) if self.cells else None
        width = self.estimator.reference.outputs.shape[1:]
        outputs = np.array(self.outputs).reshape(len(self.outputs), *width)
        if cells is None and self.estimator.has_features:
            cells = np.empty((0, len(self.estimator.ranks)))
        return self.estimator.estimate(outputs, cells, level=level)


@dataclass
class Waiting:
    """A row that waits for its label: its outputs and, by segment, window and expectation."""

    outputs: Floats
    segment: str | None
    label: float | None = None
    weight: float = 1.0
    windows: dict[str | None, int] = field(default_factory=dict)
    residues: dict[str | None, Floats] = field(default_factory=dict)
    left: set[str | None] = field(default_factory=set)


class Pending:
    """Rows by id, at most `most`: the oldest go first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: dict[str, Waiting] = {}

    def add(self, key: str, outputs: Floats, segment: str | None) -> None:
        """A row that may get a label; the same id again replaces the row before."""
        self.rows.pop(key, None)
        self.rows[key] = Waiting(outputs, segment, left={None, segment})
        while len(self.rows) > self.most:
            del self.rows[next(iter(self.rows))]

    def place(self, key: str, segment: str | None, number: int, residue: Floats) -> None:
        """The row's window of this segment is closed."""
        row = self.rows.get(key)
        if row is not None:
            row.windows[segment], row.residues[segment] = number, residue

    def label(self, key: str, label: float, weight: float) -> Floats | None:
        """Note a label; the row's outputs, or None where no such row waits for one."""
        row = self.rows.get(key)
        if row is None or row.label is not None:
            return None
        row.label, row.weight = label, weight
        return row.outputs

    def segments_of(self, key: str) -> list[str | None]:
        """Where the row counts: in all traffic, and in its segment."""
        segment = self.rows[key].segment
        return [None] if segment is None else [None, segment]

    def take(self, key: str, segment: str | None) -> tuple[int, Floats, Floats] | None:
        """Window, expectation and outputs of a row with a closed window, once."""
        row = self.rows.get(key)
        if row is None or segment not in row.left or segment not in row.windows:
            return None
        found = row.windows[segment], row.residues[segment], row.outputs
        row.left.discard(segment)
        if not row.left:
            del self.rows[key]
        return found

    def labelled_early(self, segment: str | None) -> list[tuple[str, float, float]]:
        """Rows whose label came before their window was closed."""
        return [
            (key, row.label, row.weight)
            for key, row in self.rows.items()
            if row.label is not None and segment in row.windows and segment in row.left
        ]
