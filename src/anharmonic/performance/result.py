"""What is said of a model's performance: metrics with intervals, and whether they can be known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core import tables
from anharmonic._core.protocols import Array

__all__ = ["Curve", "Interval", "Performance"]


class Interval(NamedTuple):
    """An estimate and the interval around it.

    Parameters
    ----------
    value
        The estimate.
    low, high
        Ends of the interval.

    Examples
    --------
    >>> print(Interval(0.8123, 0.79, 0.83))
    0.8123 [0.79, 0.83]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True, repr=False)
class Performance:
    """A model's performance on some rows.

    Parameters
    ----------
    metrics
        Each metric's estimate with its interval.
    rows, labelled
        How many rows, and how many of them had labels.
    known
        Whether the traffic lies where the estimate has grounds.
    reason
        Why not, in words, or what to be careful about.
    level
        Of the intervals.
    first, last
        The numbers of the first and the last row, where they are of a stream.
    start
        The time of the first row, where times are known.
    segment
        The part of the traffic, None for all.
    """

    metrics: Mapping[str, Interval]
    rows: int
    labelled: int
    known: bool
    reason: str = ""
    level: float = 0.9
    first: int = 0
    last: int = 0
    start: object = None
    segment: str | None = None

    def __getitem__(self, metric: str) -> Interval:
        return self.metrics[metric]

    def plain(self) -> dict[str, object]:
        """As plain values, ready for JSON."""
        metrics = {name: interval._asdict() for name, interval in self.metrics.items()}
        start = None if self.start is None else str(self.start)
        facts = {name: getattr(self, name) for name in _FACTS}
        return {"metrics": metrics, **facts, "level": self.level, "start": start}

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {interval}" for name, interval in self.metrics.items())
        where = "" if self.segment is None else f" in {self.segment}"
        doubt = "" if self.known else f"; NOT KNOWN: {self.reason}"
        labelled = f", {self.labelled:,} labelled" if self.labelled else ""
        return f"<performance{where}: {said} on {self.rows:,} rows{labelled}{doubt}>"

    def _repr_html_(self) -> str:
        cells: dict[str, object] = {name: str(found) for name, found in self.metrics.items()}
        cells |= {"rows": f"{self.rows:,}", "labelled": f"{self.labelled:,}"}
        cells["known"] = "yes" if self.known else f"no: {self.reason}"
        return tables.facts(cells)

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line, as `Curve.to_frame` has it per window."""
        return Curve((self,)).to_frame(backend)


_FACTS = ("rows", "labelled", "known", "reason", "first", "last", "segment")


@dataclass(frozen=True, repr=False)
class Curve:
    """Performance of window after window, or of segment beside segment.

    Parameters
    ----------
    windows
        One result each.
    """

    windows: tuple[Performance, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.windows)

    def __iter__(self) -> Iterator[Performance]:
        return iter(self.windows)

    def __getitem__(self, number: int) -> Performance:
        return self.windows[number]

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line per window, as the first installed of pandas, polars and pyarrow.

        Parameters
        ----------
        backend
            Which of them instead.
        """
        columns: dict[str, Array] = {}
        if any(window.start is not None for window in self.windows):
            columns["start"] = np.array([window.start for window in self.windows])
        if any(window.segment is not None for window in self.windows):
            columns["segment"] = np.array([str(window.segment) for window in self.windows])
        for name in ("first", "last", "rows", "labelled", "known", "reason"):
            columns[name] = np.array([getattr(window, name) for window in self.windows])
        for metric in self.windows[0].metrics if self.windows else ():
            for part in Interval._fields:
                name = metric if part == "value" else f"{metric}_{part}"
                columns[name] = np.array([getattr(line[metric], part) for line in self.windows])
        return tables.frame(tables.arrow(columns, {"holds": "performance"}), backend)

    def __repr__(self) -> str:
        unknown = sum(not window.known for window in self.windows)
        return f"<performance of {len(self)} windows, {unknown} not known>"

    def _repr_html_(self) -> str:
        cells = {f"{line.first:,}–{line.last:,}": repr(line) for line in self.windows}
        return tables.facts(cells)
