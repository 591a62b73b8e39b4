"""Settings of a monitor: how points are scored and watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

__all__ = ["MonitorSettings"]

RENAMED = {"queries_per_row": "queries_a_row"}
"""Names in JSON, where they are those of 0.1.0."""


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """What a monitor watches, against what, with which promise.

    Parameters
    ----------
    model, radius, scale, columns, ball, seed
        As in `Settings`: how neighbours are made. Where nothing moves there is no radius, and
        `columns` are those that make rows alike.
    watch, segments
        What is watched, and the segments that were seen.
    queries_per_row, score
        What one row costs, and how much is scored.
    reference
        How many points the reference has.
    blocks
        Scores that are averaged before each bet, by what is watched.
    promise, promised
        What is promised, in words, and whether anything is.
    """

    model: str
    watch: tuple[str, ...]
    radius: float | None
    scale: tuple[float, ...]
    columns: tuple[str, ...]
    ball: str
    queries_per_row: int
    reference: int
    score: float | str
    segments: tuple[object, ...]
    blocks: Mapping[str, int]
    promise: str
    promised: bool
    seed: int

    def plain(self) -> dict[str, object]:
        """As plain values, ready for JSON."""
        cells: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            name = RENAMED.get(field.name, field.name)
            cells[name] = list(value) if isinstance(value, tuple) else value
        return cells
