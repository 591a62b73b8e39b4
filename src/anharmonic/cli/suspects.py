"""`anharmonic suspects`: the rows to look at first, where other rows contradict the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic._core.columns import remark
from anharmonic._core.estimate import Estimate
from anharmonic.cli.groups import (
    Json,
    ModelOptions,
    Out,
    PointOptions,
    RunOptions,
    grouped,
)
from anharmonic.cli.labels import Labels, labels_of, without_labels
from anharmonic.cli.output_files import claim, finish
from anharmonic.cli.over_data import Weights
from anharmonic.cli.show import answer_cell, plain, printable

if TYPE_CHECKING:
    from anharmonic.scores import Scores

__all__ = ["suspects_command"]

SAID = {"answer": "answer", "others": "other rows say", "label": "label"}
"""Columns of the scores, and what they are called in a table."""


@grouped
def suspects_command(
    model: ModelOptions,
    points: PointOptions,
    run: RunOptions,
    labels: Labels = None,
    count: Annotated[int, typer.Option(min=1, help="How many rows to show.")] = 20,
    weights: Weights = "auto",
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Rows to look at first, wrong labels among them: where other rows contradict the model.

    Example: anharmonic suspects model.skops --data train.csv --labels outcome --count 20

    Nothing moves: the model is asked once per row. With --labels a row counts by how little other
    rows say its label, without them by how little they say the model's own answer.
    """
    claim(out)
    given, points = labels_of(points, labels), without_labels(points, labels)
    scores = ah.suspects(
        model.load(),
        points.table(points.reference),
        given,
        weights=weights,
        reference=points.reference_table(),
        moving=points.moves,
        **run.arguments(),
        progress=not as_json,
    )
    finish(scores, out)
    if as_json:
        listed = [_listed(scores, row) for row in scores.worst(count).tolist()]
        print(json.dumps(plain({**scores.summary(), "rows": listed})))
        return
    console = Console()
    console.print(_table(scores, count))
    about = f"{len(scores):,} rows, {scores.queries:,} queries{remark(scores.settings)}"
    console.print(printable(about), highlight=False, soft_wrap=True, style="dim")


def _listed(scores: Scores, row: int) -> dict[str, object]:
    """One row as plain values."""
    low, high = scores.intervals()
    return {
        "row": row,
        scores.metric: float(scores.values[row]),
        "interval95": [float(low[row]), float(high[row])],
        **{
            name: scores.columns[name][row].tolist() if name in scores.columns else None
            for name in SAID
        },
    }


def _table(scores: Scores, count: int) -> Table:
    low, high = scores.intervals()
    shown = {name: word for name, word in SAID.items() if name in scores.columns}
    name = printable(scores.settings.model or "a model")
    table = Table(title=f"rows to look at, of {name}", caption="By the lower ends of intervals.")
    table.add_column("row", justify="right")
    for word in shown.values():
        table.add_column(word)
    for word in (scores.metric, "95% interval"):
        table.add_column(word, justify="right")
    for row in scores.worst(count).tolist():
        table.add_row(
            str(row),
            *(printable(answer_cell(scores.columns[name][row])) for name in shown),
            str(Estimate(scores.values[row], scores.errors[row])),
            f"{low[row]:.4g} … {high[row]:.4g}",
        )
    return table
