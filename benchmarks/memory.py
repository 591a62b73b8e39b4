"""What a run needs beyond its data, as the growth of the process's peak resident memory.

Bars: 1,000,000 points of 30 features in under 1.5 GB; a simplex of 10,001 vertices in 10,000
dimensions around 100 points in under 1 GB; gamma, sway and a search of one image of 10,000 pixels,
20 queries at a time, in under 0.05 GB. Each runs in a process of its own.
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

IMAGE = """
import numpy as np, resource, anharmonic as ah
from anharmonic.measures.stability import nstep_robustness
random = np.random.default_rng(0)
image, weights = np.round(random.uniform(0, 255, (1, 100, 100))), random.normal(size=(10_000, 10))
model = lambda x: np.asarray(x).reshape(len(x), -1) @ weights / 10_000
model(np.repeat(image, 21, axis=0))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
grey = {"radius": 100.0, "bounds": (0, 255), "directions": 20}
scores = ah.gamma(model, image, scale=None, rotations=1, noise="ignore", **grey)
sway = nstep_robustness(model, image, kind="sway", grid=1.0, **grey)
search = ah.adversarial_search(model, image, grid=1.0, steps=25, **grey)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) / 1e6, scores.queries + sway.queries + int(search.queries.sum()))
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
        ("an image of 10,000 pixels, 20 queries at a time", IMAGE, 0.05),
    ):
        gigabytes, queries = peak(program)
        good &= gigabytes < bar
        print(f"memory: {name}: {gigabytes:.3f} GB above the data, {queries:,} queries", end="")
        print(f"; bar: < {bar} GB: {'met' if gigabytes < bar else 'MISSED'}", flush=True)
    return good


if __name__ == "__main__":
    raise SystemExit(not main())
