"""Whether two Scores were measured alike, so that their means can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic.errors import SettingsError
from anharmonic.scores import Scores

__all__ = ["require_alike", "same_points"]

SETTINGS = ("kind", "reduction", "radius", "scale", "columns", "bounds")


def same_points(one: Scores, other: Scores) -> bool:
    """Whether both were measured at the same points, in the same order."""
    known = one.settings.get("fingerprint")
    return known is not None and known == other.settings.get("fingerprint")


def require_alike(scores: Scores, baseline: Scores) -> None:
    """Refuse to compare what was measured differently, and say what differs."""
    now, before = _facts(scores), _facts(baseline)
    differing = [
        f"{name} ({before[name]!r:.60}, now {now[name]!r:.60})"
        for name in now
        if not _alike(now[name], before[name])
    ]
    if differing:
        raise SettingsError(
            f"the baseline was measured with another {'; another '.join(differing)}: measure again "
            "with its settings (anharmonic check --baseline with --model and --data does), "
            "or make a new baseline"
        )


def _facts(scores: Scores) -> dict[str, Any]:
    known = scores.settings
    output = known.get("output")
    # Asking for what a model answers anyway is no difference.
    asked = known.get("kind") if output is None else output
    return {
        "metric": scores.metric,
        "output": asked,
        **{name: known.get(name) for name in SETTINGS},
    }


def _alike(one: Any, other: Any) -> bool:
    if one == other:
        return True
    try:
        # Another machine may sum in another order: the last digits are no difference.
        return bool(np.allclose(one, other, rtol=1e-9, atol=0))
    except (TypeError, ValueError):
        return False
