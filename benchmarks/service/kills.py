"""Kill the service while it works, again and again, and look for what is missing.

The client behaves as clients should: what was not acknowledged is sent again with the same id.
"""

from __future__ import annotations

import json
import random
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
from sqlalchemy import select

import anharmonic as ah
from anharmonic.serve.monitor.schema import events
from anharmonic.serve.monitor.store import Store
from benchmarks.service.load import closed, requests
from benchmarks.service.target import Target

__all__ = ["kept_exactly", "survived"]

MARK = 16
"""Bytes before a kept state that say whose it is."""


def survived(folder: Path, kills: int, store: str | None = None, seconds: float = 1.0) -> bool:
    """Whether every acknowledged event is there, none twice, and the state is what they give."""
    address = store or str(folder / "kills.db")
    target = Target(address, folder)
    moments = random.Random(0)
    enough = round(4000 * seconds * (kills + 1))
    waiting, acknowledged = requests(enough, "kill"), set[str]()
    for _ in range(kills):
        target.start()
        blow = threading.Timer(moments.uniform(0.3, 0.9) * seconds, target.kill)
        blow.start()
        acknowledged.update(closed(target.port, seconds, waiting).acknowledged)
        blow.join()
        waiting = [each for each in waiting if each[0] not in acknowledged]
    with target:
        acknowledged.update(closed(target.port, seconds / 2, waiting).acknowledged)
    return _checked(address, folder, acknowledged, kills)


def _checked(address: str, folder: Path, acknowledged: set[str], kills: int) -> bool:
    good, rows, _ = kept_exactly(address, folder, acknowledged)
    print(
        f"{kills} kills during load: {len(acknowledged):,} acknowledged, {rows:,} kept; none lost, "
        f"none twice and the detectors exactly where the kept scores lead: "
        f"{'met' if good else 'MISSED'}"
    )
    return good


def kept_exactly(
    address: str, folder: Path, acknowledged: set[str]
) -> tuple[bool, int, list[tuple[str, str, int]]]:
    """Whether what was acknowledged is kept once and the detectors are where it leads.

    With how many rows are kept, and the alarms that one monitor raises at these: what is watched,
    in which direction, at which row.
    """
    store = Store(address)
    with store.reading() as connection:
        rows = connection.execute(select(events).order_by(events.c.sequence)).all()
    kept = store.read_state("bench@1")
    store.close()
    names = [row.id for row in rows]
    lost = acknowledged - set(names)
    twice = len(names) - len(set(names))
    gaps = [row.sequence for row in rows] != list(range(1, len(rows) + 1))
    model = ah.as_model(str(folder / "model.joblib"), trust=True)
    monitor = ah.Monitor(model, np.load(folder / "reference.npy"))
    points = np.array([json.loads(row.point) for row in rows])
    first, *others = monitor.watch
    scores = {name: [json.loads(row.others)[name] for row in rows] for name in others}
    scores[first] = [row.score for row in rows]
    alarms = []
    # In the batches they were written in: an alarm that stands keeps others from being raised.
    for part in _batches([row.received for row in rows]):
        batch = {name: np.array(scores[name][part]) for name in monitor.watch}
        observed = monitor.observed(points[part], batch)
        alarms += [(alarm.watched, alarm.direction, alarm.at + 1) for alarm in observed.alarms]
    exact = kept.state is not None and kept.state[MARK:] == monitor.state()
    good = bool(acknowledged) and not lost and not twice and not gaps and exact
    if not good:
        print(f"{len(lost)} lost, {twice} twice, gaps: {gaps}, detectors exact: {exact}")
    return good, len(rows), alarms


def _batches(received: list[float]) -> list[slice]:
    """Runs of rows that were received together."""
    edges = [row for row in range(1, len(received)) if received[row] != received[row - 1]]
    return [slice(*ends) for ends in pairwise([0, *edges, len(received)])]
