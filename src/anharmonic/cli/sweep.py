"""`anharmonic sweep`: gamma against the radius, and a radius to use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic._core.columns import remark
from anharmonic.cli.groups import (
    DirectionOptions,
    FolderOptions,
    Json,
    ModelsOptions,
    PointOptions,
    Reduction,
    RunOptions,
    grouped,
)
from anharmonic.cli.output_files import folder_of
from anharmonic.cli.parsing import number, numbers
from anharmonic.cli.show import plain, printable

if TYPE_CHECKING:
    from anharmonic.measures.compare import Sweep

__all__ = ["sweep_command"]


@grouped
def sweep_command(
    models: ModelsOptions,
    points: PointOptions,
    run: RunOptions,
    folders: FolderOptions,
    ball: DirectionOptions = DirectionOptions(ball="auto pairs"),
    reduction: Reduction = None,
    radii: Annotated[str | None, typer.Option(help="In scaled units, with commas.")] = None,
    as_json: Json = False,
) -> None:
    """Measure at several radii, and recommend one.

    Example: anharmonic sweep forest=a.onnx linear=b.onnx --data points.parquet

    With --keep, what is finished is kept on the way, and --resume goes on from it.
    """
    loaded, where = models.load(), points.region()
    with folder_of(None, folders.kept, folders.resume) as folder:
        swept = ah.sweep(
            loaded,
            where,
            numbers(radii, "--radii"),
            **ball.arguments(),
            **run.arguments(),
            reduction=number(reduction),
            reference=points.reference_table(),
            checkpoint=folder.path,
            resume=folder.resume,
            progress=not as_json,
        )
        _show(swept, as_json)


def _show(swept: Sweep, as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain(swept.summary())))
        return
    radius, why = swept.recommended
    console = Console(highlight=False)
    console.print(_table(swept))
    first = next(iter(swept.comparisons[0].scores.values()))
    console.print(
        printable(remark(first.settings, always=True)),
        soft_wrap=True,
        style="dim",
    )
    console.print(f"Recommended radius: {radius:.4g}, {printable(why)}.", soft_wrap=True)
    for sentence in swept.reading:
        console.print(printable(sentence), soft_wrap=True)


def _table(swept: Sweep) -> Table:
    table = Table(title=f"gamma against the radius, {swept.queries:,} queries")
    table.add_column(f"radius, {swept.unit}", justify="right")
    for name in swept.names:
        table.add_column(printable(name), justify="right")
    for radius, means in swept.rows():
        table.add_row(radius, *(printable(mean) for mean in means))
    return table
