"""Performance of groups side by side, and their differences with intervals that hold together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core import tables
from anharmonic.performance.result import Interval

__all__ = ["Difference", "Groups"]


class Difference(NamedTuple):
    """A group's metric less the base group's.

    Parameters
    ----------
    metric
        What is compared, such as "accuracy".
    group, base
        The names of the two groups.
    interval
        The difference, and the interval around it.
    """

    metric: str
    group: str
    base: str
    interval: Interval

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0; one that is not known does not."""
        return self.interval.low > 0 or self.interval.high < 0


@dataclass(frozen=True, repr=False)
class Groups:
    """Metrics by group, differences to the largest group, and groups that were refused.

    Intervals are about what the groups are drawn from, not these rows alone: two groups of one
    law differ a little even where every row has its label.

    Parameters
    ----------
    metrics
        By group, each metric with its own interval at `level`.
    differences
        To the largest group; all their intervals of one metric hold together at `level`.
    refused
        By group, why nothing is said of it; by "GROUP: METRIC", why this metric is not.
    level
        Of the intervals.
    """

    metrics: dict[str, dict[str, Interval]]
    differences: tuple[Difference, ...]
    refused: dict[str, str]
    level: float

    def __repr__(self) -> str:
        clear = sum(difference.clear for difference in self.differences)
        refused = f", {len(self.refused)} refused" if self.refused else ""
        return f"<{len(self.metrics)} groups, {clear} clear differences{refused}>"

    def _repr_html_(self) -> str:
        cells: dict[str, object] = {
            f"{found.metric}: {found.group} − {found.base}": str(found.interval)
            for found in self.differences
        }
        return tables.facts(cells | {f"{group}": why for group, why in self.refused.items()})

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line per difference."""
        lines = self.differences
        columns: dict[str, Any] = {
            name: np.array([getattr(line, name) for line in lines], dtype=str)
            for name in ("metric", "group", "base")
        }
        for part in Interval._fields:
            columns[part] = np.array([getattr(line.interval, part) for line in lines], dtype=float)
        columns["clear"] = np.array([line.clear for line in lines], dtype=bool)
        return tables.frame(tables.arrow(columns, {"holds": "groups"}), backend)
