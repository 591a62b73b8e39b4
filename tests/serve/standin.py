"""A monitor with an exact answer: an alarm when the running sum of scores passes a line."""

from __future__ import annotations

import json
import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from anharmonic.monitor.alarms import Alarm, Key


class AllColumns:
    """Every column moves, whatever the reference has."""

    def __contains__(self, name: str) -> bool:
        return True


class StandIn:
    """Scores are the first feature; evidence is their sum; the model can be made to hang."""

    threshold = rate = 100.0
    score, seed, segment, queries_per_row = 1.0, 0, None, 17
    watch = ("gamma",)
    promise = "one among a hundred"
    settings = SimpleNamespace(plain=dict)
    scorer = SimpleNamespace(
        complete=AllColumns(), over_data=None, output=None, bounds=None, reduction=None
    )
    reference: dict[str, Any] = {"gamma": np.linspace(0.0, 2.0, 50)}  # noqa: RUF012

    def __init__(self) -> None:
        self.seen = self.scored = self.queries = 0
        self.skipped: Counter[str] = Counter()
        self.total = 0.0
        self.alarms: list[Any] = []
        self.free = threading.Event()
        self.free.set()
        self.asked: list[int] = []
        self.asking = 0

    @property
    def evidence(self) -> dict[Key, float]:
        return {Key("gamma", None, "up"): self.total}

    @property
    def alarm(self) -> bool:
        return self.total >= self.threshold

    def measure(self, points: Any) -> dict[str, Any]:
        self.asking = len(points)
        assert self.free.wait(60)
        values = np.asarray(points, dtype=float)[:, 0]
        if (values == -666).any():
            raise ValueError("a point the model cannot take")
        self.asked.append(len(values))
        self.queries += 17 * len(values)
        return {"gamma": values}

    def observed(
        self, points: Any, scores: dict[str, Any], segments: Any = None, reasons: Any = None
    ) -> Any:
        before = self.alarm
        values = scores["gamma"]
        trace = self.total + np.cumsum(np.nan_to_num(values))
        self.total = float(trace[-1])
        new: list[Alarm] = []
        if self.alarm and not before:
            first = int(np.argmax(trace >= self.threshold))
            at, size = self.seen + first, (float(trace[first]), self.threshold)
            new = [Alarm("gamma", None, "up", at, 0, *size)]
        self.seen += len(values)
        self.scored += int(np.isfinite(values).sum())
        key = Key("gamma", None, "up")
        return SimpleNamespace(
            scores=scores, evidence=self.evidence, alarms=new, trace={key: trace}
        )

    def reset(self) -> None:
        self.total = 0.0

    def state(self) -> bytes:
        return json.dumps([self.seen, self.scored, self.total]).encode()

    def restore(self, state: bytes) -> None:
        self.seen, self.scored, self.total = json.loads(state)

    def follow(self, state: bytes) -> None:
        self.restore(state)

    def go_back(self, state: bytes) -> None:
        self.restore(state)


class Labelled(StandIn):
    """The same with labels: they are added up, and the state holds their sum and how many."""

    def __init__(self) -> None:
        super().__init__()
        self.labels = [0.0, 0.0]
        self.ids: list[str] = []

    def observed(
        self,
        points: Any,
        scores: dict[str, Any],
        segments: Any = None,
        reasons: Any = None,
        ids: Any = None,
    ) -> Any:
        self.ids += ids
        return super().observed(points, scores, segments, reasons)

    def add_labels(self, ids: list[str], labels: list[Any]) -> None:
        assert set(ids) <= set(self.ids)
        if "refused" in labels:
            raise ValueError("a label the monitor cannot take")
        self.labels = [self.labels[0] + sum(labels), self.labels[1] + len(labels)]

    def state(self) -> bytes:
        return json.dumps([json.loads(super().state()), self.labels]).encode()

    def restore(self, state: bytes) -> None:
        counts, self.labels = json.loads(state)
        super().restore(json.dumps(counts).encode())
