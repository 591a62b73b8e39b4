"""`anharmonic compare`: several models on the same points."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from anharmonic.cli.options import (
    Ball,
    Bounds,
    Columns,
    Count,
    Data,
    Drop,
    Json,
    Moving,
    OutputOption,
    Radius,
    Reduction,
    Reference,
    Scale,
    chosen,
    load,
    name_and_value,
    number,
    pair,
    radius_value,
    reference_data,
    scale_value,
    split,
)
from anharmonic.cli.show import plain
from anharmonic.comparison import Comparison, compare
from anharmonic.errors import SettingsError
from anharmonic.files import read_data
from anharmonic.moments import Estimate
from anharmonic.regions import points

__all__ = ["compare_command"]


def compare_command(
    models: Annotated[list[str], typer.Argument(help="NAME=MODEL, as often as there are models.")],
    data: Data = None,
    radius: Radius = "auto",
    ball: Ball = "auto pairs",
    directions: Count = None,
    rotations: Annotated[int, typer.Option(min=0, help="Independent copies of the ball.")] = 4,
    output: OutputOption = None,
    reduction: Reduction = None,
    scale: Scale = "auto",
    reference: Reference = None,
    bounds: Bounds = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    seed: int = 0,
    trust: Annotated[bool, typer.Option(help="Allow files that run code when read.")] = False,
    as_json: Json = False,
) -> None:
    """Rank models by gamma on the same points, and say which differences are real."""
    if data is None:
        raise SettingsError("give --data, or see: anharmonic compare --help")
    named = dict(name_and_value(each) for each in models)
    found = compare(
        {name: load(source, output, trust) for name, source in named.items()},
        points(chosen(read_data(data), columns, drop), moving=split(moving)),
        radius=radius_value(radius),
        ball=ball,
        scale=scale_value(scale),
        reference=reference_data(reference, columns, drop),
        seed=seed,
        directions=directions,
        rotations=rotations,
        reduction=number(reduction),
        bounds=pair(bounds),
    )
    if as_json:
        print(json.dumps(_summary(found)))
        return
    console = Console()
    console.print(_ranking(found))
    for each in found.differences:
        console.print(str(each), highlight=False, style="" if each.real else "dim")


def _ranking(found: Comparison) -> Table:
    table = Table(title="gamma, from the most harmonic on")
    for heading in ("model", "gamma", "queries"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for name in found.ranking:
        scores = found.scores[name]
        table.add_row(name, str(Estimate(scores.mean, scores.error)), f"{scores.queries:,}")
    return table


def _summary(found: Comparison) -> dict[str, object]:
    return {
        "ranking": found.ranking,
        "queries": found.queries,
        "models": {name: plain(scores.summary()) for name, scores in found.scores.items()},
        "differences": [
            {
                "larger": each.larger,
                "smaller": each.smaller,
                "difference": each.estimate.value,
                "error": each.estimate.error,
                "interval": list(each.interval),
                "real": each.real,
            }
            for each in found.differences
        ],
    }
