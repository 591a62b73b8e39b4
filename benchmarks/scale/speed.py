"""Ray of two actors on this machine: the bits of one process, its speed, and its price.

Bars: the same bits as the serial run; at least 1.7 times as fast on two cores, for a model that
uses one; at most 10% over bare Ray Data, `map_batches` of the model on the very rows it is asked
for, which are planned and written beforehand. What Ray takes to start is counted apart.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import anharmonic as ah
from anharmonic.sources import files
from benchmarks.scale.material import NAMES, boosted, generate

ROWS, PLANNED, ACTORS, ROUNDS = 200_000, 60_000, 2, 3
CALL, TREES = 8192, 300
FASTER, DEARER = 1.7, 1.10


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


class Bare:
    """What anybody writes: the model in an actor, asked for batches."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, batch: Any) -> Any:
        import pandas as pd

        return {"answer": self.model.predict_proba(pd.DataFrame(batch)[NAMES])[:, 1]}


def measure(folder: Path, rows: int, model: Any, engine: Any, name: str) -> ah.StoredScores:
    """Gamma of some rows, from the beginning."""
    source = files(folder / f"rows-{rows}")
    return ah.gamma(model, source, engine=engine, out=folder / name, fresh=True, batch_size=None)


def bare(folder: Path, model: Any) -> int:
    """Bare Ray Data on the questions of a plan."""
    import ray

    questions = ray.data.read_parquet(str(folder / "plan" / "queries"), columns=NAMES)
    answered = questions.map_batches(
        Bare,
        fn_constructor_args=(model,),
        batch_size=CALL,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=ACTORS),
        num_cpus=1,
    )
    return sum(len(batch["answer"]) for batch in answered.iter_batches(batch_size=None))


def main(size: float = 1.0) -> bool:
    import ray

    rows, planned = int(ROWS * size), int(PLANNED * size)
    model = boosted(TREES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in {rows, planned}:
            generate(folder / f"rows-{count}", count)
        source = files(folder / f"rows-{planned}")
        ah.plan(source, folder / "plan")
        start, _ = timed(
            lambda: ray.init(
                # Bare Ray Data reads its rows in tasks beside the actors.
                num_cpus=ACTORS + 1,
                include_dashboard=False,
                logging_level="ERROR",
                log_to_driver=False,
            )
        )
        engine = ah.workers.ray(ACTORS)
        pool, _ = timed(lambda: list(engine(model.predict_proba, [np.zeros((1, 10))] * ACTORS)))
        print(f"Ray starts in {start:.1f} s, {ACTORS} actors in {pool:.1f} s", flush=True)
        ratios, dearer = [], []
        for _ in range(ROUNDS):
            one, alone = timed(lambda: measure(folder, rows, model, None, "one"))
            two, together = timed(lambda: measure(folder, rows, model, engine, "two"))
            same = _tables(alone).equals(_tables(together)) and alone.mean == together.mean
            ratios.append(one / two)
            ours, _ = timed(lambda: measure(folder, planned, model, engine, "three"))
            theirs, asked = timed(lambda: bare(folder, model))
            dearer.append(ours / theirs)
            print(
                f"  one process {one:.1f} s, two actors {two:.1f} s: {one / two:.2f} times as fast"
                f"; {asked:,} questions: ours {ours:.1f} s, bare {theirs:.1f} s, "
                f"{ours / theirs:.3f}; {'same bits' if same else 'OTHER BITS'}",
                flush=True,
            )
        ray.shutdown()
    faster, price = float(np.median(ratios)), float(np.median(dearer))
    met = same and faster >= FASTER and price <= DEARER
    print(
        f"speed: {faster:.2f} (bar {FASTER}; {min(ratios):.2f}–{max(ratios):.2f}), over bare Ray "
        f"Data {price:.3f} (bar {DEARER}; {min(dearer):.3f}–{max(dearer):.3f}), "
        f"{'the same bits' if same else 'OTHER BITS'}: {'met' if met else 'MISSED'}"
    )
    return met


def _tables(stored: ah.StoredScores) -> pa.Table:
    return pa.concat_tables(list(stored.batches()))
