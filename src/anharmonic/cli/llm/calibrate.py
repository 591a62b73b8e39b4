"""`anharmonic llm calibrate`: bands of gamma from answers that somebody judged."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from anharmonic.cli.groups import Json, Seed
from anharmonic.cli.show import plain, tell
from anharmonic.errors import InputError, SettingsError
from anharmonic.llm.bands import Calibration, calibrate
from anharmonic.llm.questions import read_rows
from anharmonic.llm.summaries import read_run

__all__ = ["calibrate_command"]

YES, NO = {"1", "true", "yes", "good", "correct"}, {"0", "false", "no", "bad", "wrong"}


def calibrate_command(
    run: Annotated[Path, typer.Argument(help="A run written by llm score.")],
    labels: Annotated[Path, typer.Argument(help="A table with id and correct (0 or 1).")],
    trusted: Annotated[
        float, typer.Option(min=0, max=1, help="The share of good answers below the first limit.")
    ] = 0.8,
    doubted: Annotated[
        float,
        typer.Option(min=0, max=1, help="The share of good ones not reached above the second."),
    ] = 0.5,
    out: Annotated[Path | None, typer.Option(help="Write the bands here, for --bands.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fit the two limits to judged answers, with 95% intervals.

    Example: anharmonic llm calibrate run.jsonl labels.csv --out bands.json
    """
    summary = read_run(run)
    if summary.header["recipe"]["unit"] != "sqrt1mcos":
        raise SettingsError("bands are in sqrt1mcos: make the run with --unit sqrt1mcos")
    judged = _labels(labels)
    rows = [row for row, name in enumerate(summary.ids) if name in judged]
    if not rows:
        raise InputError(f"no id of {labels} stands in {run}: both need the questions' ids")
    fit = calibrate(
        summary.values[rows],
        np.array([judged[summary.ids[row]] for row in rows]),
        trusted=trusted,
        doubted=doubted,
        seed=seed,
    )
    if out is not None:
        fit.bands.save(out)
        tell(f"written: {out}")
    if as_json:
        print(json.dumps(plain(asdict(fit))))
    else:
        Console(highlight=False).print(_table(fit, trusted, doubted))


def _labels(path: Path) -> dict[str, bool]:
    """Whether each answer was good, by its question's id."""
    labels = {}
    for number, row in enumerate(read_rows(path)):
        label = str(row.get("correct", "")).strip().lower()
        if "id" not in row or label not in YES | NO:
            raise InputError(f"{path}, row {number}: each needs an id and correct, 0 or 1")
        labels[str(row["id"])] = label in YES
    return labels


def _table(fit: Calibration, trusted: float, doubted: float) -> Table:
    table = Table(title=f"{fit.judged:,} judged answers, {fit.good:,} good", show_header=False)
    rows = (
        (f"at least {trusted:.0%} good below", fit.bands.low, fit.low_interval),
        (f"less than {doubted:.0%} good above", fit.bands.high, fit.high_interval),
        ("AUROC of gamma", fit.auroc, fit.auroc_interval),
    )
    for words, value, (low, high) in rows:
        table.add_row(words, f"{value:.3f} [{low:.3f}, {high:.3f}]")
    return table
