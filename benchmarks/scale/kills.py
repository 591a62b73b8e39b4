"""Kill −9 a worker process, a Ray actor and the driver on the way, ten times each.

After every kill the run goes on (Ray starts its actors anew by itself, the others are started
again) and must end with every row once and the very table of an undisturbed run.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import anharmonic as ah
from benchmarks.scale.material import cheap, generate

ROWS, TIMES, PATIENCE = 40_000, 10, 300.0
CHILD = """
import sys
import anharmonic as ah
from anharmonic.measures.streaming import running
from benchmarks.scale.material import slow

# Many small parts: there is something to lose at any moment.
running.rows_per_shard = lambda block, *_: block

if __name__ == "__main__":
    engine = {"processes": ah.workers.processes(2), "ray": ah.workers.ray(2)}[sys.argv[3]]
    source = ah.sources.files(sys.argv[1])
    ah.gamma(slow, source, engine=engine, out=sys.argv[2], batch_size=2048)
"""


def begin(data: Path, out: Path, engine: str) -> subprocess.Popen[bytes]:
    """A run in a process of its own."""
    command = [sys.executable, "-c", CHILD, str(data), str(out), engine]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def victims(child: subprocess.Popen[bytes], whom: str) -> list[Any]:
    """The processes that may be killed."""
    import psutil

    if "driver" in whom:
        return [psutil.Process(child.pid)]
    mark = "MapWorker" if whom == "actor" else "spawn_main"
    family = psutil.Process(child.pid).children(recursive=True)
    found = []
    for process in family:
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if mark in words:
            found.append(process)
    return found


def disturbed(data: Path, out: Path, whom: str, times: int, seed: int) -> tuple[int, int]:
    """Kills that were made, and starts that it took to come to the end."""
    dice = random.Random(seed)
    engine = "ray" if whom in ("actor", "driver of actors") else "processes"
    child, made, starts = begin(data, out, engine), 0, 1
    begun = time.monotonic()
    while True:
        time.sleep(dice.uniform(0.3, 1.5))
        if time.monotonic() - begun > PATIENCE * times:
            child.kill()
            raise TimeoutError(f"{whom}: no end in sight")
        if child.poll() is not None:
            if child.returncode == 0 and made >= times:
                return made, starts
            if child.returncode == 0:
                # It came to its end too soon: once more from the beginning.
                raise RuntimeError(f"{whom}: only {made} kills before the end, raise the rows")
            child, starts = begin(data, out, engine), starts + 1
            continue
        parts = len(list((out / "scores").glob("*.parquet"))) if (out / "scores").is_dir() else 0
        if made < times and parts > made:
            for process in victims(child, whom)[:1]:
                process.send_signal(signal.SIGKILL)
                made += 1


def table(out: Path) -> pa.Table:
    """All that a run wrote, in order."""
    stored = ah.StoredScores.load(out)
    return pa.concat_tables(list(stored.batches()))


def main(size: float = 1.0) -> bool:
    rows, times = int(ROWS * max(size, 0.3)), max(2, round(TIMES * size))
    met = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = generate(folder / "rows", rows)
        source = ah.sources.files(data)
        whole = ah.gamma(cheap, source, out=folder / "undisturbed", batch_size=2048)
        wanted = pa.concat_tables(list(whole.batches()))
        for seed, whom in enumerate(("worker", "actor", "driver", "driver of actors")):
            out = folder / whom
            begun = time.perf_counter()
            made, starts = disturbed(data, out, whom, times, seed)
            found = table(out)
            once = len(found) == rows == len(set(found["row"].to_pylist()))
            same = found.equals(wanted)
            met &= once and same
            print(
                f"  {whom}: {made} kills, {starts} starts, {time.perf_counter() - begun:.0f} s, "
                f"{'every row once' if once else 'ROWS LOST OR DOUBLED'}, "
                f"{'the same table' if same else 'ANOTHER TABLE'}"
            )
    print(f"kills: {'met' if met else 'MISSED'}")
    return met
