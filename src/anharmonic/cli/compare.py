"""`anharmonic compare`: several models on the same points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from anharmonic import report
from anharmonic.cli.options import (
    Ball,
    Bounds,
    Columns,
    Directions,
    Drop,
    Json,
    Keep,
    Moving,
    NamedModels,
    OutputOption,
    Place,
    Points,
    Radius,
    Reduction,
    Reference,
    ResumeFolder,
    Rotations,
    Scale,
    Seed,
    Trust,
    Where,
    number,
    pair,
    radius_value,
    scale_value,
)
from anharmonic.cli.outputs import claim_page, folder_of
from anharmonic.cli.several import asked, explained
from anharmonic.cli.show import command_line, plain, printable
from anharmonic.columns import remark
from anharmonic.comparison import Comparison, compare
from anharmonic.moments import Estimate

__all__ = ["compare_command", "show_comparison"]


def compare_command(
    models: NamedModels,
    data: Points,
    region: Place = Where.auto,
    radius: Radius = "auto",
    ball: Ball = "auto pairs",
    directions: Directions = None,
    rotations: Rotations = 4,
    output: OutputOption = None,
    reduction: Reduction = None,
    scale: Scale = "auto",
    reference: Reference = None,
    bounds: Bounds = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    equivalence: Annotated[
        float, typer.Option(help="Models this share apart at most are called the same.")
    ] = 0.10,
    seed: Seed = 0,
    trust: Trust = False,
    page: Annotated[Path | None, typer.Option("--report", help="Write an HTML report.")] = None,
    keep: Keep = None,
    resume: ResumeFolder = None,
    as_json: Json = False,
) -> None:
    """Rank models by gamma on the same points, and say which differences are real.

    With --report or --keep, what is finished is kept on the way, and --resume goes on from it.
    """
    claim_page(page)
    given = asked(
        models,
        data,
        reference,
        output=output,
        trust=trust,
        columns=columns,
        drop=drop,
        moving=moving,
    )
    with folder_of(page, keep, resume) as folder:
        found = compare(
            given.models,
            given.region,
            region=region.value,
            radius=radius_value(radius),
            ball=ball,
            scale=scale_value(scale),
            reference=given.reference,
            equivalence=equivalence,
            seed=seed,
            directions=directions,
            rotations=rotations,
            reduction=number(reduction),
            bounds=pair(bounds),
            checkpoint=folder.path,
            resume=folder.resume,
            progress=not as_json,
        )
        if page is not None:
            report.write(
                page,
                found,
                points=given.region,
                contributions=explained(given, found),
                command=command_line(),
            )
        show_comparison(found, as_json)


def show_comparison(found: Comparison, as_json: bool) -> None:
    """The ranking on standard output, and which differences are real."""
    if as_json:
        print(json.dumps(plain(found.summary())))
        return
    console = Console()
    console.print(_ranking(found))
    about = remark(next(iter(found.scores.values())).settings, always=True)
    console.print(printable(about), highlight=False, soft_wrap=True, style="dim")
    for each in found.differences:
        console.print(printable(str(each)), highlight=False, style="" if each.real else "dim")


def _ranking(found: Comparison) -> Table:
    """Every mean of every model; where there are two, the one that counts is bold."""
    caption = f"{found.counting.capitalize()}." if found.counting else None
    table = Table(title=f"{found.metric}, from the smallest on", caption=caption)
    table.add_column("model")
    places = list(found.places(found.ranking[0]))
    headings = [f"at the {place}" for place in places] if len(places) > 1 else [found.metric]
    for heading in (*headings, "queries"):
        table.add_column(heading, justify="right")
    for name in found.ranking:
        measured = found.places(name)
        means = [
            f"[bold]{mean}[/]" if len(places) > 1 and place == found.where(name) else str(mean)
            for place, mean in (
                (place, Estimate(each.mean, each.error)) for place, each in measured.items()
            )
        ]
        queries = sum(scores.queries for scores in measured.values())
        table.add_row(printable(name), *means, f"{queries:,}")
    return table
