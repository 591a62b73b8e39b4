"""How well a model does, window by window, as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypedDict

__all__ = [
    *("PerformanceWindow", "finite_or_none", "performance_words", "plain_window"),
    "plain_windows",
]

MOST_WINDOWS, MOST_METRICS = 200, 12
MOST_CHARACTERS = 300


class PerformanceWindow(TypedDict):
    """How well the model does over some rows: for each metric an estimate, its low and high."""

    first: int
    last: int
    start: float | None
    metrics: dict[str, tuple[float | None, float | None, float | None]]
    labelled: int
    known: bool
    reason: str


def plain_windows(curve: Iterable[Any], shift: int = 0) -> list[PerformanceWindow]:
    """The latest windows of a curve as plain values."""
    return [window for row in list(curve)[-MOST_WINDOWS:] if (window := plain_window(row, shift))]


def plain_window(window: Any, shift: int = 0) -> PerformanceWindow | None:
    """One window as plain values; None where there is nothing to say yet.

    `shift` leads from the monitor's row numbers to those of the events.
    """
    if window is None or not hasattr(window, "metrics"):
        return None
    start = getattr(window, "start", None)
    metrics = {
        str(name)[:80]: (finite_or_none(value), finite_or_none(low), finite_or_none(high))
        for name, (value, low, high) in list(window.metrics.items())[:MOST_METRICS]
    }
    return {
        "first": int(getattr(window, "first", 0)) + shift,
        "last": int(getattr(window, "last", 0)) + shift,
        "start": None if start is None else float(start),
        "metrics": metrics,
        "labelled": int(getattr(window, "labelled", 0)),
        "known": bool(getattr(window, "known", True)),
        "reason": str(getattr(window, "reason", ""))[:MOST_CHARACTERS],
    }


def performance_words(window: PerformanceWindow) -> list[tuple[str, str]]:
    """Each metric with its estimate and band, as a page writes it."""
    return [
        (name, "not known" if value is None else f"{value:.4g} ({_span(low, high)})")
        for name, (value, low, high) in window["metrics"].items()
    ]


def _span(low: float | None, high: float | None) -> str:
    return " to ".join("?" if end is None else f"{end:.4g}" for end in (low, high))


def finite_or_none(value: Any) -> float | None:
    """A number, None where it is none or not finite."""
    number = float(value) if value is not None else math.nan
    return number if math.isfinite(number) else None
