"""A stream that drifts, for `anharmonic demo --serve`: bottles on their way past a sorter.

A classifier sorts wine by thirteen measurements from two cellars. After a while the instruments
of the south cellar slip a little further with every bottle. Labels are never seen; the monitor
has to notice from the model's own behaviour.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from anharmonic._core.protocols import Array, Model
from anharmonic.errors import MissingExtra
from anharmonic.models import as_model
from anharmonic.monitor import Monitor
from anharmonic.serve.http.problems import ServiceError
from anharmonic.serve.monitor.api import Service
from anharmonic.serve.monitor.payloads import build_events
from anharmonic.serve.monitor.records import Cell
from anharmonic.serve.monitor.settings import Settings
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import StoredMonitor

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Bottles", "demo_service"]

REFERENCE, RATE, BATCH = 4000, 120, 12
"""Bottles of the reference, bottles per second, and bottles per request."""
CALM = 1500
"""Bottles before anything slips: twelve seconds at the stream's rate."""
SLIPPING = 1200
"""Bottles until the instruments have slipped all the way."""
CELLARS = ("north", "south")


class Bottles:
    """Wine without end, from the 178 bottles that scikit-learn brings."""

    def __init__(self, seed: int = 0) -> None:
        try:
            import pandas
            from sklearn.datasets import load_wine
            from sklearn.linear_model import LogisticRegression
            from sklearn.pipeline import make_pipeline
            from sklearn.preprocessing import StandardScaler
        except ImportError as problem:
            raise MissingExtra("scikit-learn", "sklearn") from problem
        bunch = load_wine()
        self.names = [name.replace("/", " ") for name in bunch.feature_names]
        self._bottles, self._spread = bunch.data, bunch.data.std(axis=0)
        self._centre = bunch.data.mean(axis=0)
        self._random = np.random.default_rng(seed)
        self._frame = pandas.DataFrame
        sorter = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        self._sorter = sorter.fit(bunch.data, bunch.target)

    @property
    def model(self) -> Model:
        """The sorter, which does not look at the cellar."""

        def wine_sorter(table: DataFrame) -> Array:
            return self._sorter.predict_proba(np.asarray(table[self.names], dtype=np.float64))

        return as_model(wine_sorter)

    def drawn(self, count: int, slip: float = 0.0) -> list[list[Cell]]:
        """Bottles like the known ones; those of the south cellar have slipped to the middle."""
        # A smoothed bootstrap: bottles drawn again, each with noise of a fifth of the spread.
        values = self._bottles[self._random.integers(len(self._bottles), size=count)]
        values = values + 0.2 * self._spread * self._random.normal(size=values.shape)
        south = self._random.random(count) < 0.4
        values[south] += slip * (self._centre - values[south])
        cellars = [CELLARS[int(is_south)] for is_south in south]
        return [[*row, cellar] for row, cellar in zip(values.tolist(), cellars, strict=True)]

    def reference(self) -> DataFrame:
        """Bottles from a time when all was well, as a table."""
        return self._frame(self.drawn(REFERENCE), columns=[*self.names, "cellar"])

    def stream(self) -> Iterator[list[list[Cell]]]:
        """Batches without end, calm at first."""
        for start in itertools.count(0, BATCH):
            yield self.drawn(BATCH, 0.7 * min(1.0, max(0, start - CALM) / SLIPPING))


def demo_service(store: str, settings: Settings, seed: int = 0) -> Service:
    """A service that feeds itself, a hundred and twenty bottles per second."""
    bottles = Bottles(seed)
    reference = bottles.reference()
    monitor = Monitor(
        bottles.model, reference, segment="cellar", false_alarms="1 per 10000", seed=seed
    )
    watch = StoredMonitor(monitor, reference, Store(store), "wine sorter", "demo")
    service = Service(watch, settings)
    service.beside.append(lambda: _feed(service, bottles))
    return service


async def _feed(service: Service, bottles: Bottles) -> None:
    clock = asyncio.get_running_loop().time
    due = clock()
    for rows in bottles.stream():
        with suppress(ServiceError):
            await service.pipeline.submit(build_events(rows, None, None, None))
        # On time, but no more than a second behind: what a slow moment missed is not made up.
        due = max(due + BATCH / RATE, clock() - 1.0)
        await asyncio.sleep(due - clock())
