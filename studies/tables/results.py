"""The raw measurements in one file, written after every table: a run that was stopped goes on.

`python -m studies.tables.results tables.json --data FOLDER` takes about an hour on one core; the
folder holds adult.csv, german_credit.csv and breast_recurrence.csv.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from anharmonic import workers
from anharmonic._core.files import whole_file
from studies.over_data.results import rounded
from studies.tables.models import Measured, measured_table
from studies.tables.remeasured import areas
from studies.tables.sets import CHOSEN_ON, TABLES, TESTED_ON

__all__ = ["Results", "measure", "read", "write"]


class Results(NamedTuple):
    """Every model of every table, and areas for flips under remeasuring of classifications."""

    models: dict[str, list[Measured]]
    remeasured: dict[str, dict[str, float]]


def read(path: Path) -> Results:
    """What `write` wrote."""
    held = json.loads(path.read_text())
    models = {
        name: [Measured(**model) for model in models] for name, models in held["models"].items()
    }
    return Results(models, held["remeasured"])


def write(results: Results, path: Path) -> None:
    """As JSON, whole or not at all."""
    models = {name: [model._asdict() for model in held] for name, held in results.models.items()}
    plain = {"models": models, "remeasured": results.remeasured}
    with whole_file(path) as temporary:
        Path(temporary).write_text(json.dumps(rounded(plain)))


def _measured(asked: tuple[str, str, Path]) -> list[Measured] | dict[str, float]:
    from threadpoolctl import threadpool_limits

    what, name, data = asked
    with threadpool_limits(limits=1):
        return measured_table(name, 0, data) if what == "models" else areas(name, 0, data)


def measure(path: Path, data: Path, processes: int) -> Results:
    """All that the file does not hold yet."""
    results = read(path) if path.exists() else Results({}, {})
    every = (*CHOSEN_ON, *TESTED_ON)
    asked = [("remeasured", name, data) for name in every if TABLES[name].task == "classification"]
    asked += [("models", name, data) for name in every]
    missing = [job for job in asked if job[1] not in getattr(results, job[0])]
    for (what, name, _), found in zip(
        missing, workers.processes(processes)(_measured, missing), strict=True
    ):
        getattr(results, what)[name] = found
        write(results, path)
        print(what, name, flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    measure(given.file, given.data, given.processes)
