"""What gamma over the data costs beyond the model's own time: seconds, memory, growth with rows.

`python -m benchmarks.data_cost [rows …]` takes 25,000 to 1,000,000 rows if not told; each size runs
in a process of its own, so that the memory is its alone.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

import anharmonic as ah

FEATURES, SIZES = 20, (25_000, 100_000, 400_000, 1_000_000)
SECONDS, GIGABYTES, EXPONENT = 30.0, 4.0, 1.1
WEIGHTS = ("forest", "neighbours", "boosted")


def one(rows: int, weights: str) -> dict[str, float]:
    """Seconds and the most memory held, of recorded answers: no model is asked at all."""
    random = np.random.default_rng(0)
    inputs = random.normal(size=(rows, FEATURES))
    outputs = np.tanh(inputs[:, 0] + inputs[:, 1] * inputs[:, 2]) + (random.random(rows) < 0.1)
    begun = time.perf_counter()
    ah.gamma_data(inputs, outputs, weights=weights)
    seconds = time.perf_counter() - begun
    return {
        "seconds": seconds,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def apart(rows: int, weights: str) -> dict[str, float]:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.data_cost", "one", str(rows), weights],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(sizes: tuple[int, ...] = SIZES) -> bool:
    """Every size with every kind of weights."""
    print(f"gamma over recorded answers, {FEATURES} features: no time of a model in it")
    print(f"{'weights':14}{'rows':>12}{'seconds':>10}{'GB':>8}")
    met = True
    for weights in WEIGHTS:
        found = {rows: apart(rows, weights) for rows in sizes}
        for rows, cost in found.items():
            print(f"{weights:14}{rows:12,}{cost['seconds']:10.1f}{cost['gigabytes']:8.2f}")
            met &= cost["gigabytes"] < GIGABYTES
            if rows <= 100_000:
                met &= cost["seconds"] <= SECONDS
        if len(sizes) > 1:
            logs = np.log([[rows, cost["seconds"]] for rows, cost in found.items()])
            power = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
            print(f"{weights}: seconds grow with rows to the power {power:.2f}", flush=True)
            met &= power <= EXPONENT
    print(
        f"bar: 100,000 rows in {SECONDS:g} s, below {GIGABYTES:g} GB, power ≤ {EXPONENT}: "
        f"{'met' if met else 'MISSED'}"
    )
    return met


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(one(int(sys.argv[2]), sys.argv[3])))
    else:
        raise SystemExit(not main(tuple(map(int, sys.argv[1:])) or SIZES))
