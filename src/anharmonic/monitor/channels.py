"""One-method seams: any detector with `update(value) -> alarmed`, river's among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import MissingExtra, SettingsError
from anharmonic.monitor.detector import Raised

__all__ = ["Channel", "Channels", "Detector", "DetectorFactory", "OneByOne", "river"]


class Detector(Protocol):
    """All that a detector must be able to do."""

    def update(self, value: float) -> bool:
        """Take one score in; whether that raises an alarm."""


DetectorFactory = Callable[[Floats], Detector]
"""From the reference's scores to a detector that has seen none of the stream."""


class Channel(Protocol):
    """What a monitor feeds: scores with their rows in, crossings and log evidence out."""

    @property
    def directions(self) -> tuple[str, ...]: ...

    @property
    def log_evidence(self) -> dict[str, float]: ...

    @property
    def unpromised(self) -> str | None:
        """Why no rate of false alarms is promised, None if one is."""

    def feed(self, scores: Floats, rows: Integers) -> tuple[list[Raised], Floats]: ...

    def reset(self) -> None: ...


Channels = dict[tuple[str, str | None], Channel]
"""A channel for each thing watched and segment, None for all traffic."""


class OneByOne:
    """A detector of anybody's as a channel: it knows alarms but no evidence (NaN)."""

    directions = ("either",)
    unpromised = "no rate of false alarms is promised: the detector states none"

    def __init__(self, factory: DetectorFactory, reference: Floats) -> None:
        self._factory, self._reference = factory, reference
        self.reset()

    def reset(self) -> None:
        """A new detector."""
        self.detector = self._factory(self._reference)

    @property
    def log_evidence(self) -> dict[str, float]:
        return {"either": float("nan")}

    def feed(self, scores: Floats, rows: Integers) -> tuple[list[Raised], Floats]:
        """Update one by one; the row of an alarm is also the best guess at its beginning."""
        raised: list[Raised] = []
        for score, row in zip(scores.tolist(), rows.tolist(), strict=True):
            if self.detector.update(score) and not raised:
                raised.append(Raised("either", row, row, float("nan")))
        return raised, np.full((1, len(scores)), np.nan)


class _River:
    """river's detectors say what they found in an attribute."""

    def __init__(self, detector: Any, reference: Floats) -> None:
        self._detector = detector
        # They have no reference of their own: they are shown it as if it had come first.
        for value in reference.tolist():
            detector.update(value)

    def update(self, value: float) -> bool:
        self._detector.update(value)
        return bool(self._detector.drift_detected)


def river(name: str = "ADWIN", shown: int = 1000) -> DetectorFactory:
    """A detector of river's by name (ADWIN, PageHinkley, KSWIN, …), with river's defaults.

    It is `shown` the reference's last scores first. It states no false-alarm rate.
    """
    try:
        from river import drift
    except ImportError as problem:
        raise MissingExtra("river", "monitor") from problem
    kind = getattr(drift, name, None)
    if kind is None:
        raise SettingsError(f"river has no detector {name!r}: ADWIN, PageHinkley or KSWIN")
    return lambda reference: _River(kind(), reference[-shown:])
