"""What the monitor costs per batch of traffic beside the model: this tree against another one.

    python -m benchmarks.monitor_batches               # this tree's microseconds per batch
    python -m benchmarks.monitor_batches OTHER/src     # and the ratio to another checkout's

Both run as processes of their own, in turn, so that a machine that slows down is fair to both.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

SIZES = (1, 16, 256)
ROUNDS = 5
PROGRAM = """
import json, time, numpy as np, anharmonic as ah
random = np.random.default_rng(0)
weights = random.normal(size=(8, 3))
model = lambda x: np.tanh(x @ weights)
watch = ah.Monitor(model, random.normal(size=(1000, 8)), seed=0)
found = {}
for size in SIZES:
    batches = random.normal(size=(200, size, 8))
    for batch in batches[:20]:
        watch.update(batch)
    begun = time.perf_counter()
    for batch in batches:
        watch.update(batch)
    found[size] = (time.perf_counter() - begun) / len(batches) * 1e6
print(json.dumps(found))
"""


def measure(source: Path) -> dict[str, float]:
    """Microseconds per batch, by its rows."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("SIZES", repr(SIZES))],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(other: Path | None) -> None:
    """Print this tree's times, and the ratios where there is another one."""
    here = Path(__file__).parents[1] / "src"
    pairs = [(measure(here), None if other is None else measure(other)) for _ in range(ROUNDS)]
    for size in map(str, SIZES):
        ours = [mine[size] for mine, _ in pairs]
        line = f"{size:>4} rows: {statistics.median(ours):8.0f} µs per batch"
        ratios = [mine[size] / theirs[size] for mine, theirs in pairs if theirs is not None]
        if ratios:
            low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
            line += f", {middle:.2f} of the other's ({low:.2f} to {high:.2f})"
        print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
