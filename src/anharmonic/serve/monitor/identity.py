"""What detectors belong to, a reference, settings and a model, and how it is seen to change.

Evidence gathered under one set of these means nothing under another, and the false alarm rate
does not hold across the change. The model itself is recognised by what it does: its scores on the
reference, which the detectors compare everything with.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Array, Floats
from anharmonic.monitor import Monitor
from anharmonic.monitor.scorer import DATA
from anharmonic.regions import as_region

__all__ = ["Identity", "mark"]

SCORES = 1024
"""Scores of reference points that are stored, per thing watched."""
SAME = 1e-6
"""Relative tolerance: other processors and libraries round differently."""
SETTINGS = ("radius", "scale", "columns", "ball", "queries_a_row", "score")
"""Of a monitor's `settings`, those that scores or the choice of rows depend on."""
NAMES = {
    "rate": "--false-alarms",
    "watch": "--watch",
    "seed": "--seed",
    "segment": "--segment",
    "reference": "the reference",
    "radius": "--radius",
    "score": "--score",
    "output": "--output",
    "queries_a_row": "--directions",
    "ball": "--directions",
    "columns": "the columns",
    "scale": "the units",
    "reduction": "the reduction",
    "bounds": "the bounds",
    "window": "--window",
    "memory": "--memory",
}
"""What a difference is called in messages: the option that sets it, where there is one."""


def mark(monitor: Monitor, reference: object) -> bytes:
    """Sixteen bytes of reference, rate, watch, seed and segment; the format of 0.1.0."""
    values = _values(monitor, reference)
    segment = monitor.segment if isinstance(monitor.segment, str | int) else None
    settings = repr((monitor.rate, list(monitor.watch), monitor.seed, segment, values.shape))
    return hashlib.blake2b(values.tobytes() + settings.encode(), digest_size=16).digest()


@dataclass(frozen=True)
class Identity:
    """A monitor's settings and some of its reference's scores, as plain values."""

    settings: Mapping[str, object]
    scores: Mapping[str, Sequence[float]]

    @classmethod
    def of(cls, monitor: Monitor, reference: object) -> Identity:
        """The identity of a monitor that was fitted on `reference`."""
        values = _values(monitor, reference)
        settings, scorer, segment = monitor.settings.plain(), monitor.scorer, monitor.segment
        plain = {
            "rate": monitor.rate,
            "watch": list(monitor.watch),
            "seed": monitor.seed,
            "segment": segment if isinstance(segment, str | int | None) else "a function",
            "reference": hashlib.blake2b(values.tobytes(), digest_size=16).hexdigest(),
            "score": monitor.score,
            **{name: settings[name] for name in SETTINGS if name in settings},
            **{name: repr(getattr(scorer, name)) for name in ("output", "bounds")},
            "reduction": _name_of(scorer.reduction),
            "scores": _recognised_by(monitor),
        }
        judge = getattr(monitor, "judge", None)
        if judge is not None:
            plain |= {"window": judge.tracker.window, "memory": judge.memory}
        # Through JSON, so that it compares equal to what a store gives back: tuples are lists.
        return cls.read(json.dumps(plain))

    @classmethod
    def read(cls, text: str) -> Identity:
        """What `written` gave."""
        settings = json.loads(text)
        scores = settings.pop("scores", {})
        return cls(settings, scores)

    def written(self) -> str:
        """All of it as JSON."""
        return json.dumps({**self.settings, "scores": self.scores})

    def changes_since(self, earlier: Identity, noise: float = 0.0) -> list[str]:
        """What has changed, in words; nothing where detectors may go on.

        `noise` is how much the model's scores of the same points differ from call to call.
        """
        before = earlier.settings
        # A setting that an older version did not store cannot be compared.
        changed = [
            NAMES.get(name, name)
            for name, value in self.settings.items()
            if name in before and not _same(before[name], value)
        ]
        # Other settings give other scores: only under equal ones do scores speak of the model.
        if not changed and any(
            not _close(earlier.scores.get(name, []), scores, noise)
            for name, scores in self.scores.items()
        ):
            changed = ["the model"]
        return list(dict.fromkeys(changed))


def _values(monitor: Monitor, reference: object) -> Array:
    """The reference's numbers: those that could move, or all that make rows alike."""
    over_data = monitor.scorer.over_data
    if over_data is not None:
        return np.ascontiguousarray(over_data.encoded.words())
    return np.ascontiguousarray(to_numpy64(as_region(reference).values))


def _recognised_by(monitor: Monitor) -> dict[str, list[float]]:
    """What the model does at the reference: its scores of each thing watched.

    Of gamma over the data, the answers instead: a last digit of one answer can make a tree split
    elsewhere, so that scores change where the model has not.
    """
    over_data = monitor.scorer.over_data
    watch = monitor.watch if over_data is not None else {}
    return {
        name: _sample(
            over_data.answers.ravel() if over_data is not None and watch[name] == DATA else scores
        ).tolist()
        for name, scores in monitor.reference.items()
    }


def _name_of(reduction: object) -> str:
    return str(getattr(reduction, "name", None) or getattr(reduction, "__name__", ""))


def _sample(scores: Floats) -> Floats:
    """Scores spread evenly over the reference, the first and the last among them."""
    rows = np.linspace(0, len(scores) - 1, min(SCORES, len(scores))).round().astype(int)
    return np.take(np.asarray(scores, dtype=np.float64), rows)


def _same(before: object, now: object) -> bool:
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(_same, before, now))
    if isinstance(before, float) and isinstance(now, float):
        return math.isclose(before, now, rel_tol=SAME)
    return bool(before == now)


def _close(before: Sequence[float], now: Sequence[float], noise: float) -> bool:
    if len(before) != len(now):
        return False
    old, new = np.array(before, dtype=np.float64), np.array(now, dtype=np.float64)
    tolerance = SAME * max(np.abs(old).max(initial=0.0), np.abs(new).max(initial=0.0)) + noise
    return bool((np.abs(old - new) <= tolerance).all())
