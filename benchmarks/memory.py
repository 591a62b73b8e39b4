"""What a run needs beyond its data, as the growth of the process's peak resident memory.

Bars: 1,000,000 points of 30 features in under 1.5 GB; a simplex of 10,001 vertices in 10,000
dimensions around 100 points in under 1 GB. Each runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys

POINTS = """
import numpy as np, resource, anharmonic as ah
data = np.random.default_rng(0).normal(size=(1_000_000, 30))
model = lambda x: np.tanh(x[:, :2])
ah.gamma(model, data[:100])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
scores = ah.gamma(model, data)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) / 1e6, scores.queries)
"""
SIMPLEX = """
import numpy as np, resource, anharmonic as ah
data = np.random.default_rng(0).normal(size=(100, 10_000))
model = lambda x: x[:, 0] ** 2
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
scores = ah.gamma(model, data, ball="simplex", rotations=0, radius=1.0, scale=None, noise="ignore")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert np.allclose(scores.values, 1 / 10_000)
print((after - before) / 1e6, scores.queries)
"""


def peak(program: str) -> tuple[float, int]:
    """Gigabytes above the data, and queries made."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=900
    )
    gigabytes, queries = done.stdout.split()
    return float(gigabytes), int(queries)


def main() -> bool:
    good = True
    for name, program, bar in (
        ("1,000,000 points × 30 features", POINTS, 1.5),
        ("10,000-d simplex, 100 points", SIMPLEX, 1.0),
    ):
        gigabytes, queries = peak(program)
        good &= gigabytes < bar
        print(f"memory: {name}: {gigabytes:.2f} GB above the data, {queries:,} queries", end="")
        print(f"; bar: < {bar} GB: {'met' if gigabytes < bar else 'MISSED'}", flush=True)
    return good


if __name__ == "__main__":
    raise SystemExit(not main())
