"""`anharmonic sweep`: gamma against the radius."""

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
    Directions,
    Drop,
    Json,
    Keep,
    Moving,
    NamedModels,
    OutputOption,
    Points,
    Reduction,
    Reference,
    ResumeFolder,
    Rotations,
    Scale,
    Seed,
    Trust,
    number,
    numbers,
    pair,
    scale_value,
)
from anharmonic.cli.outputs import folder_of
from anharmonic.cli.several import asked
from anharmonic.cli.show import plain, printable
from anharmonic.columns import remark
from anharmonic.comparison import Sweep, sweep
from anharmonic.moments import Estimate

__all__ = ["sweep_command"]


def sweep_command(
    models: NamedModels,
    data: Points,
    radii: Annotated[str | None, typer.Option(help="In scaled units, with commas.")] = None,
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
    seed: Seed = 0,
    trust: Trust = False,
    keep: Keep = None,
    resume: ResumeFolder = None,
    as_json: Json = False,
) -> None:
    """Measure at several radii, and recommend one.

    With --keep, what is finished is kept on the way, and --resume goes on from it.
    """
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
    with folder_of(None, keep, resume) as folder:
        found = sweep(
            given.models,
            given.region,
            numbers(radii, "--radii"),
            ball=ball,
            scale=scale_value(scale),
            reference=given.reference,
            seed=seed,
            directions=directions,
            rotations=rotations,
            reduction=number(reduction),
            bounds=pair(bounds),
            checkpoint=folder.path,
            resume=folder.resume,
            progress=not as_json,
        )
        _show(found, as_json)


def _show(found: Sweep, as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain(_summary(found))))
        return
    radius, why = found.recommended
    console = Console(highlight=False)
    console.print(_table(found))
    first = next(iter(found.comparisons[0].scores.values()))
    console.print(printable(remark(first.settings, always=True)), soft_wrap=True, style="dim")
    console.print(f"Recommended radius: {radius:.4g}, {printable(why)}.")
    if len(found.names) > 1 and not found.steady:
        console.print("Models really change places between radii: say which radius you ranked at.")


def _table(found: Sweep) -> Table:
    table = Table(title=f"gamma against the radius, {found.queries:,} queries")
    table.add_column(f"radius, {found.unit}", justify="right")
    for name in found.names:
        table.add_column(printable(name), justify="right")
    for radius, each in zip(found.radii, found.comparisons, strict=True):
        cells = [
            str(Estimate(each.scores[name].mean, each.scores[name].error)) for name in found.names
        ]
        table.add_row(f"{radius:.4g}", *cells)
    return table


def _summary(found: Sweep) -> dict[str, object]:
    means = {name: found.means(name) for name in found.names}
    radius, why = found.recommended
    settings = next(iter(found.comparisons[0].scores.values())).settings
    return {
        "columns": settings["columns"],
        "still": settings["still"],
        "radii": list(found.radii),
        "models": {
            name: {"mean": values.tolist(), "error": errors.tolist()}
            for name, (values, errors) in means.items()
        },
        "recommended": {"radius": radius, "why": why},
        "unit": found.unit,
        "steady": found.steady,
        "queries": found.queries,
    }
