"""How SPADE's time grows with the points: 25,000 to 400,000 of 32 dimensions, fast search.

    python -m benchmarks.spade_growth                          # a table, and the exponent
    python -m benchmarks.spade_growth --picture docs/pictures/spade-growth.svg

Every size runs in a process of its own. The exponent is the slope of log seconds against log
points; that of CPU seconds stands beside it, for a machine that is not ours alone. Accuracy is
fixed by fixed settings, and the recall of neighbours beside each size says whether it held.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.spade_data import surface

SIZES = (25_000, 50_000, 100_000, 200_000, 400_000)
DIMENSION, BAR = 32, 1.2


def one(size: int, search: str) -> dict[str, Any]:
    """Score one size in this process."""
    inputs, outputs = surface(size, DIMENSION)
    begun = time.perf_counter(), time.process_time()
    import anharmonic as ah

    scores = ah.spade(inputs, outputs, search=search)
    return {
        "points": size,
        "wall": time.perf_counter() - begun[0],
        "cpu": time.process_time() - begun[1],
        "score": scores.score,
        "recall": scores.settings.recall,
        "stages": scores.settings.seconds,
    }


def slope(found: list[dict[str, Any]], what: str) -> float:
    points, seconds = (np.log([each[name] for each in found]) for name in ("points", what))
    return float(np.polyfit(points, seconds, 1)[0])


def apart(size: int, search: str) -> dict[str, Any]:
    """What a process of its own found, with as many threads as there are cores."""
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    command = [sys.executable, "-m", "benchmarks.spade_growth", "--one", str(size), search]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    stages = ", ".join(f"{name} {spent:.1f}" for name, spent in found["stages"].items())
    recalls = ", ".join(f"{side} {each:.4f}" for side, each in found["recall"].items())
    print(
        f"{size:,}: {found['wall']:.1f} s ({found['cpu']:.1f} CPU s), λ = {found['score']:.4g}, "
        f"recall of {recalls}; {stages}",
        flush=True,
    )
    return found


def drawn(found: list[dict[str, Any]], path: Path) -> None:
    from studies.pictures import Curve, Picture, curves, write_pictures

    sizes = np.array([each["points"] for each in found], dtype=np.float64)
    cpu = np.array([each["cpu"] for each in found])
    bar = cpu[0] * (sizes / sizes[0]) ** BAR
    lines = [
        Curve("seconds", sizes, [each["wall"] for each in found]),
        Curve("CPU seconds", sizes, cpu),
        Curve(f"CPU seconds if they grew with the power {BAR}", sizes, bar, dash="dash"),
    ]
    picture = Picture("growth", "", curves(lines, "points", "seconds", "xy"))
    write_pictures({path: picture})


def main(arguments: list[str] | None = None) -> bool:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--search", default="fast")
    parser.add_argument("--picture", type=Path)
    chosen = parser.parse_args(arguments or [])
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before we begin")
    found = [apart(size, chosen.search) for size in chosen.sizes]
    grown = slope(found, "wall"), slope(found, "cpu")
    met = grown[0] <= BAR
    print(
        f"grows with the power {grown[0]:.2f} of the points, in CPU seconds {grown[1]:.2f}; bar "
        f"{BAR}: {'met' if met else 'MISSED'}"
    )
    if chosen.picture is not None:
        drawn(found, chosen.picture)
    return met


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(int(sys.argv[2]), sys.argv[3])))
        raise SystemExit(0)
    raise SystemExit(not main(sys.argv[1:]))
