"""`anharmonic support`: which rows hold the answer at one row up, and which contradict it."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic.cli.groups import Json, ModelOptions, PointOptions, RunOptions, grouped
from anharmonic.cli.over_data import Weights
from anharmonic.cli.show import plain, printable

__all__ = ["support_command"]


@grouped
def support_command(
    model: ModelOptions,
    points: PointOptions,
    run: RunOptions,
    row: Annotated[int, typer.Option(min=0, help="Which row of the data, from 0.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Steps from neighbour to neighbour.")] = 3,
    count: Annotated[int, typer.Option(min=1, help="How many other rows to show.")] = 10,
    weights: Weights = "auto",
    as_json: Json = False,
) -> None:
    """Which rows hold the answer at one row up, which contradict it, and what they rest on.

    Example: anharmonic support model.skops --data train.csv --drop outcome --row 17

    Nothing moves: the model is asked once per row.
    """
    explained = ah.support(
        model.load(),
        points.table(points.reference),
        row,
        reference=points.reference_table(),
        weights=weights,
        steps=steps,
        moving=points.moves,
        **run.arguments(),
    )
    if as_json:
        print(json.dumps(plain(explained.summary())))
        return
    table = Table(title=f"what the answer at row {row} rests on")
    for heading in ("row", "weight", "answer", ""):
        table.add_column(heading, justify="right" if heading in ("row", "weight") else "left")
    for other in explained.supporters[:count]:
        verdict = "agrees" if other.agrees else "contradicts"
        table.add_row(
            printable(other.name), f"{other.weight:.1%}", printable(other.answer), verdict
        )
    console = Console()
    console.print(table)
    for sentence in (explained.sentence, explained.boundary_sentence):
        console.print(printable(sentence), highlight=False, soft_wrap=True)
    console.print(f"{explained.queries:,} queries", style="dim")
