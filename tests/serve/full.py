"""A stand-in that has all that a monitor may have: channels, labels, columns, performance."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np

from anharmonic.monitor.alarms import Alarm, Key
from tests.serve.standin import StandIn

NAMES = ("gamma", "confidence")


class Full(StandIn):
    """Watches the first two features; an alarm when the sum of one of them passes a line."""

    watch = NAMES
    reference: dict[str, Any] = {name: np.linspace(0.0, 2.0, 50) for name in NAMES}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.totals = dict.fromkeys((*NAMES, "inputs"), 0.0)
        self.labelled = 0

    @property
    def evidence(self) -> dict[Key, float]:
        return {Key(name, None, "up"): total for name, total in self.totals.items()}

    @property
    def alarm(self) -> bool:
        return max(self.totals.values()) >= self.threshold

    def measure(self, points: Any) -> dict[str, Any]:
        first = super().measure(points)["gamma"]
        return {"gamma": first, "confidence": np.asarray(points, dtype=float)[:, 1]}

    def observed(
        self,
        points: Any,
        scores: dict[str, Any],
        segments: Any = None,
        reasons: Any = None,
        ids: Any = None,
        times: Any = None,
    ) -> Any:
        count = len(scores["gamma"])
        assert len(ids) == len(times) == count
        trace, new = {}, []
        for name in self.totals:
            steps = np.nan_to_num(scores[name]) if name in scores else np.zeros(count)
            logs = self.totals[name] + np.cumsum(steps)
            if self.totals[name] < self.threshold <= logs.max():
                first = int(np.argmax(logs >= self.threshold))
                at, since = self.seen + first, max(0, self.seen + first - 20)
                size = (float(logs[first]), self.threshold)
                carriers = ("by about 1 sd", "most in town")
                new.append(Alarm(name, None, "up", at, since, *size, "look at <b>it</b>", carriers))
            self.totals[name] = float(logs[-1])
            trace[Key(name, None, "up")] = logs
        self.alarms += new
        self.seen += count
        self.scored += int(np.isfinite(scores["gamma"]).sum())
        return SimpleNamespace(scores=scores, evidence=self.evidence, alarms=new, trace=trace)

    def add_labels(self, ids: list[str], labels: list[Any]) -> None:
        self.labelled += len(ids)

    def columns(self) -> list[Any]:
        shares = [0.1, 0.2, 0.4, 0.2, 0.1]
        bins = ["< 1", "1 to 2", "2 to 3", "3 to 4", "> 4"]
        moved = [0.02, 0.08, 0.2, 0.4, 0.3]
        return [
            SimpleNamespace(
                name="calm",
                kind="number",
                evidence=-1.5,
                change="",
                labels=bins,
                reference=shares,
                recent=shares,
            ),
            SimpleNamespace(
                name="moved <i>",
                kind="number",
                evidence=31.0,
                change="rose by 0.5 sd",
                labels=bins,
                reference=shares,
                recent=moved,
            ),
            SimpleNamespace(
                name="town",
                kind="text",
                evidence=8.0,
                change="new value 'east' in 3% of rows",
                labels=["north", "south", "a rather long name of a place", "east"],
                reference=[0.6, 0.3, 0.1, 0.0],
                recent=[0.55, 0.33, 0.09, 0.03],
            ),
        ]

    def performance_curve(self) -> list[Any]:
        windows = []
        for number in range(20):
            value, known = 0.9 - 0.004 * number, not 12 <= number < 16
            width = 0.01 if known else 0.08
            windows.append(
                SimpleNamespace(
                    first=100 * number,
                    last=100 * number + 99,
                    start=1.7e9 + 3600.0 * number,
                    metrics={
                        "accuracy": (value, value - width, value + width),
                        "log loss": (1 - value, 1 - value - width, 1 - value + width),
                    },
                    labelled=self.labelled,
                    known=known,
                    reason="" if known else "the traffic is outside the reference",
                )
            )
        return windows

    def performance(self) -> Any:
        return self.performance_curve()[-1]

    def reset(self) -> None:
        self.totals = dict.fromkeys(self.totals, 0.0)
        self.alarms = []

    def state(self) -> bytes:
        return json.dumps([self.seen, self.scored, self.totals, self.labelled]).encode()

    def restore(self, state: bytes) -> None:
        self.seen, self.scored, self.totals, self.labelled = json.loads(state)
