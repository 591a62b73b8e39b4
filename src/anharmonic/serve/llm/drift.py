"""Gamma of chats that pass by, tested against a reference: has the model become unsteady?"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import InputError, SettingsError
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.summaries import lines, read_run
from anharmonic.monitor.alarms import Alarm, points_per_alarm
from anharmonic.monitor.evidence_tracker import EvidenceTracker
from anharmonic.monitor.fitting import fitted_channels
from anharmonic.serve.llm.scorer import ChatScore

__all__ = ["ChatWatch", "quiet_time", "way_of_measuring"]

CONFIDENCE = 0.9
"""That the bounds from the reference hold, as a monitor's."""
ALIKE = ("perturb", "count", "unit", "resample_temperature")
"""What of a recipe must be the same for gammas to compare."""


class ChatWatch:
    """Evidence that gamma of the chats has risen or fallen against a reference.

    While nothing changes, P(alarm within T scored chats) ≤ T/10000 with "1 per 10000".

    Parameters
    ----------
    reference : array (count,)
        Gammas from a time when all was well; hundreds are best.
    false_alarms
        The rate that is allowed, among scored chats.
    seed
        Of all that is random.
    promise
        Where the reference's own order shows that it cannot promise that rate, it is an error
        that says how many gammas are needed; False goes on without, and `status` says so.

    Examples
    --------
    >>> from anharmonic._core.estimate import Estimate
    >>> def chat(number, gamma):
    ...     exact = Estimate(gamma, 0.0)
    ...     return ChatScore(number, "why?", "so", exact, exact, 0, 0, 10)
    >>> random = np.random.default_rng(0)
    >>> watch = ChatWatch(random.uniform(0.0, 0.2, size=200))
    >>> [watch.update(chat(n, random.uniform(0.0, 0.2))) for n in range(100)] == [()] * 100
    True
    >>> any(watch.update(chat(100 + n, random.uniform(0.3, 0.5))) for n in range(50))
    True
    """

    def __init__(
        self,
        reference: Floats,
        false_alarms: str | float = "1 per 10000",
        seed: int = 0,
        *,
        promise: bool = True,
    ) -> None:
        rate = points_per_alarm(false_alarms)
        self.reference = len(reference)
        channels, _ = fitted_channels(
            {"gamma": reference}, None, rate, CONFIDENCE, "auto", "ranks", seed, promise
        )
        self._tracker = EvidenceTracker(channels, rate, memory=1)
        self._raised: list[dict[str, object]] = []
        self._lock = threading.Lock()

    def update(self, score: ChatScore) -> tuple[Alarm, ...]:
        """Add one more chat's gamma to the evidence; the alarms that it raises.

        A chat without a gamma is counted only.
        """
        with self._lock:
            step = self._tracker.observed(None, {"gamma": np.array([score.gamma.value])})
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._raised += [
                {**alarm.plain(), "chat": score.number, "time": now} for alarm in step.alarms
            ]
        return step.alarms

    def reset(self) -> None:
        """Clear alarms and evidence, once somebody has looked."""
        with self._lock:
            self._tracker.reset()
            self._raised = []

    def status(self) -> dict[str, object]:
        """Alarms, and the evidence against its line, as plain values.

        An alarm's `at` and `since` count the chats that came to be scored; `chat` is the number
        of the one that raised it.
        """
        with self._lock:
            tracker = self._tracker
            return {
                "reference": self.reference,
                "promise": tracker.promise,
                "weighed": tracker.scored,
                "without_gamma": tracker.seen - tracker.scored,
                "evidence": {str(key): value for key, value in tracker.evidence.items()},
                "line": tracker.threshold,
                "alarm": tracker.alarm,
                "alarms": list(self._raised),
            }


def way_of_measuring(recipe: Recipe, embed: str) -> dict[str, object]:
    """What two gammas must have in common to be compared."""
    return _way(recipe.plain(), embed)


def quiet_time(path: str | os.PathLike[str], way: Mapping[str, object]) -> Floats:
    """The gammas of a run, or of a gateway's own file of scores, if measured the same `way`."""
    first = next(lines(path), None) or {}
    if first.get("anharmonic") == "llm run":
        run = read_run(path)
        ways, gammas = [_way(run.header["recipe"], run.header["embed"])], run.values
    elif "way" in first:
        scores = list(lines(path))
        ways = [score.get("way", {}) for score in scores]
        gammas = np.array([score["gamma"][0] for score in scores], dtype=float)
    else:
        raise InputError(f"{path} holds no gammas: give a file of llm score, or of llm serve --out")
    for other in ways:
        differing = [
            f"{name} {other.get(name)!r}, here {value!r}"
            for name, value in way.items()
            if other.get(name) != value
        ]
        if differing:
            raise SettingsError(
                f"{path} was measured otherwise ({'; '.join(differing)}): give the same options "
                "here, or another reference"
            )
    return np.asarray(gammas[np.isfinite(gammas)])


def _way(recipe: Mapping[str, object], embed: str) -> dict[str, object]:
    return {**{name: recipe[name] for name in ALIKE}, "embed": embed}
