"""Gamma of chats that pass by, weighed against a quiet time: has the model become unsteady?"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import InputError, SettingsError
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.summaries import lines, read_run
from anharmonic.monitor.alarms import Alarm, points_per_alarm
from anharmonic.monitor.evidence_tracker import EvidenceTracker, fitted_channels
from anharmonic.serve.llm.scorer import ChatScore

__all__ = ["ChatWatch", "quiet_time", "way_of_measuring"]

CONFIDENCE = 0.9
"""That the bounds from the reference hold, as a monitor's."""
ALIKE = ("perturb", "count", "unit", "resample_temperature")
"""What of a recipe must be the same for gammas to be of one kind."""


class ChatWatch:
    """Evidence that gamma of the chats has risen or fallen against `reference`, some gammas.

    While nothing changes, P(alarm within T scored chats) ≤ T/10000 with "1 per 10000". Where the
    gammas' own order shows that they cannot promise that, it is an error that says how many are
    needed; `promise=False` goes on without, and `status` says so.

    >>> from anharmonic._core.estimate import Estimate
    >>> def chat(number, gamma):
    ...     exact = Estimate(gamma, 0.0)
    ...     return ChatScore(number, "why?", "so", exact, exact, 0, 0, 10)
    >>> random = np.random.default_rng(0)
    >>> watch = ChatWatch(random.uniform(0.0, 0.2, size=200))
    >>> [watch.update(chat(at, random.uniform(0.0, 0.2))) for at in range(100)] == [()] * 100
    True
    >>> any(watch.update(chat(100 + at, random.uniform(0.3, 0.5))) for at in range(50))
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
        channels = fitted_channels(
            {"gamma": reference}, None, rate, CONFIDENCE, "auto", "evidence", seed, promise
        )
        self._weighing = EvidenceTracker(channels, rate, memory=1)
        self._raised: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def update(self, score: ChatScore) -> tuple[Alarm, ...]:
        """Weigh one more chat; the alarms that it raises. One without a gamma is counted only."""
        with self._lock:
            found = self._weighing.observed(None, {"gamma": np.array([score.gamma.value])})
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._raised += [
                {**alarm.plain(), "chat": score.number, "time": now} for alarm in found.alarms
            ]
        return found.alarms

    def reset(self) -> None:
        """Clear alarms and evidence, once somebody has looked."""
        with self._lock:
            self._weighing.reset()
            self._raised = []

    def status(self) -> dict[str, Any]:
        """Alarms, and the evidence against its line, as plain values.

        An alarm's `at` and `since` count the chats that came to be scored; `chat` is the number
        of the one that raised it.
        """
        with self._lock:
            weighing = self._weighing
            return {
                "reference": self.reference,
                "promise": weighing.promise,
                "weighed": weighing.scored,
                "without_gamma": weighing.seen - weighing.scored,
                "evidence": {str(key): value for key, value in weighing.evidence.items()},
                "line": weighing.threshold,
                "alarm": weighing.alarm,
                "alarms": list(self._raised),
            }


def way_of_measuring(recipe: Recipe, embed: str) -> dict[str, Any]:
    """What two gammas must have in common to be held against each other."""
    return _of(recipe.plain(), embed)


def quiet_time(path: str | os.PathLike[str], way: dict[str, Any]) -> Floats:
    """The gammas of a run, or of a gateway's own file of scores, if measured the same `way`."""
    first = next(lines(path), None) or {}
    if first.get("anharmonic") == "llm run":
        run = read_run(path)
        ways, gammas = [_of(run.header["recipe"], run.header["embed"])], run.values
    elif "way" in first:
        found = list(lines(path))
        ways = [each.get("way", {}) for each in found]
        gammas = np.array([each["gamma"][0] for each in found], dtype=float)
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


def _of(recipe: dict[str, Any], embed: str) -> dict[str, Any]:
    return {**{name: recipe[name] for name in ALIKE}, "embed": embed}
