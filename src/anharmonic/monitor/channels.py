"""What a monitor feeds: `Evidence`, or any detector with `update(value) -> alarmed`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import MissingExtra, SettingsError
from anharmonic.monitor.detector import Crossing

__all__ = ["Channel", "Channels", "Detector", "DetectorChannel", "DetectorFactory", "river"]


class Detector(Protocol):
    """All that a detector must be able to do: `update(value) -> alarmed`.

    Examples
    --------
    >>> class Above:
    ...     def update(self, value: float) -> bool:
    ...         return value > 3.0
    >>> DetectorChannel(lambda reference: Above(), np.zeros(10)).feed(
    ...     np.array([1.0, 5.0]), np.array([7, 8])
    ... )[0]
    [Crossing(direction='either', at=8, since=8, log_evidence=nan, carriers=())]
    """

    def update(self, value: float) -> bool:
        """Take one score in; whether that raises an alarm."""


DetectorFactory = Callable[[Floats], Detector]
"""From the reference's scores to a detector that has seen none of the stream."""


class Channel(Protocol):
    """What a monitor feeds: scores with their rows in, crossings and log evidence out."""

    @property
    def directions(self) -> tuple[str, ...]:
        """Directions that it has evidence of, one row of `feed`'s log evidence each."""

    @property
    def log_evidence(self) -> dict[str, float]:
        """Log evidence of each direction now."""

    @property
    def unpromised(self) -> str | None:
        """Why no rate of false alarms is promised, None if one is."""

    def feed(self, scores: Floats, rows: Integers) -> tuple[list[Crossing], Floats]:
        """First crossings of the line, and log evidence (directions, n) after each of n scores."""

    def reset(self) -> None:
        """Forget the stream."""


Channels = dict[tuple[str, str | None], Channel]
"""A channel for each thing watched and segment, None for all traffic."""


class DetectorChannel:
    """Any `Detector` as a channel, fed one by one: it knows alarms but no evidence (NaN)."""

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

    def feed(self, scores: Floats, rows: Integers) -> tuple[list[Crossing], Floats]:
        """Update one by one; the row of an alarm is also the best guess at its beginning."""
        crossings: list[Crossing] = []
        for score, row in zip(scores.tolist(), rows.tolist(), strict=True):
            # Every score goes in, also after the first alarm: the detector's state moves on.
            if self.detector.update(score) and not crossings:
                crossings.append(Crossing("either", row, row, float("nan")))
        return crossings, np.full((1, len(scores)), np.nan)


class _RiverDetector(Protocol):
    """The part of river's `base.DriftDetector` that is used."""

    @property
    def drift_detected(self) -> bool: ...

    def update(self, x: float) -> object: ...


class _River:
    """river's detectors say in an attribute whether there is drift."""

    def __init__(self, detector: _RiverDetector, reference: Floats) -> None:
        self._detector = detector
        # They have no reference of their own: they are shown it as if it had come first.
        for value in reference.tolist():
            detector.update(value)

    def update(self, value: float) -> bool:
        self._detector.update(value)
        return bool(self._detector.drift_detected)


def river(name: str = "ADWIN", shown: int = 1000) -> DetectorFactory:
    """A detector of river's, with river's defaults, for `Monitor(detector=…)`.

    It states no false-alarm rate.

    Parameters
    ----------
    name
        Of a class in `river.drift`: ADWIN, PageHinkley, KSWIN, …
    shown
        How many of the reference's last scores it is fed first.

    References
    ----------
    Montiel et al., "River: machine learning for streaming data in Python", JMLR 22 (2021).
    """
    try:
        from river import drift
    except ImportError as problem:
        raise MissingExtra("river", "monitor") from problem
    detector_class = getattr(drift, name, None)
    if detector_class is None:
        raise SettingsError(f"river has no detector {name!r}: ADWIN, PageHinkley or KSWIN")
    return lambda reference: _River(detector_class(), reference[-shown:])
