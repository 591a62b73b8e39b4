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
from anharmonic.cli.output_files import claim, finish
from anharmonic.cli.over_data import Weights
from anharmonic.cli.parsing import chosen, given_data, split
from anharmonic.cli.show import answer_cell, plain, printable, tell

if TYPE_CHECKING:
    from anharmonic._core.protocols import Array
    from anharmonic.scores import Scores

__all__ = ["suspects_command"]

SAID = {"answer": "answer", "others": "other rows say", "label": "label"}
"""Columns of the scores, and what they are called in a table."""


@grouped
def suspects_command(
    model: ModelOptions,
    points: PointOptions,
    run: RunOptions,
    labels: Annotated[
        str | None,
        typer.Option(help="The column with the labels, which is never a feature."),
    ] = None,
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
    rows, given = _rows(points, labels)
    reference = points.reference_table() if labels is None else _reference(points, labels)
    scores = ah.suspects(
        model.load(),
        rows,
        given,
        weights=weights,
        reference=reference,
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


def _rows(points: PointOptions, labels: str | None) -> tuple[Array, Array | None]:
    """The rows, and their labels as one column of the same file."""
    if labels is None:
        return points.table(points.reference), None
    from anharmonic._core.files import read_data

    path = given_data(points.data)
    table = read_data(path, tell)
    import narwhals.stable.v1 as nw

    one = nw.from_native(chosen(table, labels, None, path), eager_only=True)
    column = one[labels].to_numpy()
    return chosen(table, points.columns, _without(points, labels), path, _dropped(points)), column


def _reference(points: PointOptions, labels: str) -> Array | None:
    if points.reference is None:
        return None
    from anharmonic._core.files import read_data

    table = read_data(points.reference, tell)
    drop, elsewhere = _without(points, labels), [labels, *_dropped(points)]
    return chosen(table, points.columns, drop, points.reference, elsewhere)


def _without(points: PointOptions, labels: str) -> str:
    """What is left out of the features: what was named, and the labels."""
    return ",".join([*_dropped(points), labels])


def _dropped(points: PointOptions) -> list[str]:
    return split(points.drop) or []


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
