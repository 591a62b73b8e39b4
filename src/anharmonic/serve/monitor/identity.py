"""What detectors belong to: a reference, settings and a model, told apart in words.

Evidence gathered under one set of these means nothing under another, and the false alarm rate
does not hold across the change. The model itself is known by what it does: the scores of its
reference, which are what the detectors hold everything against.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Floats
from anharmonic.regions import as_region

__all__ = ["about", "differences", "mark"]

SCORES = 1024
"""Scores of reference points that are remembered, of each thing watched."""
SAME = 1e-6
"""Of the largest: other processors and libraries round otherwise."""
SETTINGS = ("radius", "scale", "columns", "ball", "queries_a_row", "score")
"""Of a monitor's `settings`, those that scores or their choice depend on."""
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
}


def mark(monitor: Any, reference: Any) -> bytes:
    """Sixteen bytes of reference, rate, watch, seed and segment, as they always were."""
    values = np.ascontiguousarray(to_numpy64(as_region(reference).values))
    segment = monitor.segment if isinstance(monitor.segment, str | int) else None
    settings = repr((monitor.rate, list(monitor.watch), monitor.seed, segment, values.shape))
    return hashlib.blake2b(values.tobytes() + settings.encode(), digest_size=16).digest()


def about(monitor: Any, reference: Any) -> dict[str, Any]:
    """All of it as plain values."""
    values = np.ascontiguousarray(to_numpy64(as_region(reference).values))
    told, scorer = monitor.settings.plain(), monitor.scorer
    segment = monitor.segment
    plain = {
        "rate": monitor.rate,
        "watch": list(monitor.watch),
        "seed": monitor.seed,
        "segment": segment if isinstance(segment, str | int | None) else "a function",
        "reference": hashlib.blake2b(values.tobytes(), digest_size=16).hexdigest(),
        "score": monitor.score,
        **{name: told[name] for name in SETTINGS if name in told},
        **{name: repr(getattr(scorer, name)) for name in ("output", "bounds")},
        "reduction": _named(scorer.reduction),
        "scores": {name: _few(scores).tolist() for name, scores in monitor.reference.items()},
    }
    found: dict[str, Any] = json.loads(json.dumps(plain))
    return found


def _named(reduction: Any) -> str:
    return str(getattr(reduction, "name", None) or getattr(reduction, "__name__", ""))


def _few(scores: Floats) -> Floats:
    """Scores spread over the reference, the first and the last among them."""
    places = np.linspace(0, len(scores) - 1, min(SCORES, len(scores))).round().astype(int)
    return np.take(np.asarray(scores, dtype=np.float64), places)


def differences(before: dict[str, Any], now: dict[str, Any], noise: float = 0.0) -> list[str]:
    """What has changed, in words; nothing where detectors may go on.

    `noise` is how much the model's scores of the same points differ from call to call.
    """
    changed = [
        NAMES.get(name, name)
        for name in now
        if name != "scores" and name in before and not _same(before[name], now[name])
    ]
    # The scores say only what the settings do not.
    if not changed and any(
        not _alike(before["scores"].get(name, []), scores, noise)
        for name, scores in now["scores"].items()
    ):
        changed = ["the model"]
    return list(dict.fromkeys(changed))


def _same(before: Any, now: Any) -> bool:
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(_same, before, now))
    if isinstance(before, float) and isinstance(now, float):
        return math.isclose(before, now, rel_tol=SAME)
    return bool(before == now)


def _alike(before: list[float], now: list[float], noise: float) -> bool:
    if len(before) != len(now):
        return False
    one, other = np.array(before, dtype=np.float64), np.array(now, dtype=np.float64)
    far = SAME * max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0)) + noise
    return bool((np.abs(one - other) <= far).all())
