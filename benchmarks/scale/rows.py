"""Fifty million rows of ten features: memory that does not grow, time that grows with the rows.

Bars: less than 2 GB resident in every process; seconds grow with an exponent of at most 1.05 over
a decade of rows. Two worker processes; rows are generated first, and what generating takes is not
counted. `--size` makes it smaller where twenty minutes are not enough, and the result says so.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.scale.material import generate

ROWS, DECADE = 50_000_000, 10
GIGABYTES, EXPONENT = 2.0, 1.05
CHILD = """
import sys
import anharmonic as ah
from benchmarks.scale.material import cheap

if __name__ == "__main__":
    source = ah.sources.files(sys.argv[1])
    stored = ah.gamma(cheap, source, engine=ah.workers.processes(2), out=sys.argv[2], fresh=True)
    assert len(stored) == int(sys.argv[3]), stored
    print(stored)
"""


def run(data: Path, out: Path, rows: int) -> tuple[float, float]:
    """Seconds, and the largest gigabytes that any of the processes held at once."""
    import psutil

    begun = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(data), str(out), str(rows)])
    parent, largest = psutil.Process(child.pid), 0.0
    while child.poll() is None:
        try:
            family = [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            break
        for process in family:
            try:
                largest = max(largest, process.memory_info().rss / 1e9)
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.2)
    if child.wait():
        raise RuntimeError("the run failed")
    return time.perf_counter() - begun, largest


def main(size: float = 1.0) -> bool:
    rows = int(ROWS * size)
    counts = [rows // DECADE, rows]
    seconds, held = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in counts:
            data = generate(folder / f"rows-{count}", count)
            took, largest = run(data, folder / f"out-{count}", count)
            seconds.append(took)
            held.append(largest)
            print(
                f"  {count:,} rows: {took:.0f} s ({1e6 * took / count:.1f} µs per row), "
                f"{largest:.2f} GB in the largest process"
            )
    exponent = float(np.log(seconds[1] / seconds[0]) / np.log(counts[1] / counts[0]))
    met = max(held) < GIGABYTES and exponent <= EXPONENT
    print(
        f"rows: {rows:,} ({size:.0%} of {ROWS:,}), exponent {exponent:.3f} (bar {EXPONENT}), "
        f"{max(held):.2f} GB (bar {GIGABYTES}): {'met' if met else 'MISSED'}"
    )
    return met
