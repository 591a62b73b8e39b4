"""`anharmonic explain`: one row, its neighbours, its features, and what would change it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic._core.columns import remark
from anharmonic.cli.groups import (
    Json,
    ModelOptions,
    PointOptions,
    RunOptions,
    StepOptions,
    grouped,
)
from anharmonic.cli.output_files import claim_page
from anharmonic.cli.show import command_line, printable
from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from anharmonic.measures.explain import Explanation
    from anharmonic.measures.over_data.supporters import Support
    from anharmonic.regions import Region

__all__ = ["explain_command"]

SHOWN = 8


@grouped
def explain_command(
    model: ModelOptions,
    points: PointOptions,
    step: StepOptions,
    run: RunOptions,
    row: Annotated[int, typer.Option(min=0, help="Which row of the data, from 0.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Steps to the nearest other class.")] = 50,
    supporters: Annotated[
        int,
        typer.Option(min=0, help="Reference rows to ask for what supports the answer, at most."),
    ] = 2000,
    html: Annotated[Path | None, typer.Option(help="Write a page with a picture here.")] = None,
    as_json: Json = False,
) -> None:
    """Explain the model's answer at one row; scale and radius come from all of the data.

    Example: anharmonic explain model.onnx --data points.parquet --row 17 --html why.html
    """
    claim_page(html)
    region, loaded = points.region(), model.load()
    if row >= len(region):
        raise SettingsError(f"there is no row {row}: the data have rows 0 to {len(region) - 1}")
    explained = ah.explain(
        loaded,
        region.rows(np.array([row])),
        steps=steps,
        supporters=supporters,
        **step.arguments(),
        **run.arguments(),
        reference=region if points.reference is None else points.reference_table(),
    )
    if html is not None:
        ah.report.write_explanation(
            html, explained, title=_title(explained, region, row), command=command_line()
        )
    if as_json:
        print(explained.to_json())
        return
    console = Console(highlight=False, soft_wrap=True)
    for sentence in explained.sentences:
        console.print(printable(sentence))
    if explained.contributions is not None:
        console.print(_table(explained))
    if explained.support is not None:
        console.print(_supporters(explained.support))
    console.print(printable(f"{explained.queries:,} queries{remark(explained.settings)}"))


def _title(explained: Explanation, region: Region, row: int) -> str:
    """What the page is about: the answer, and the row as the user calls it."""
    names = region.row_names
    called = f"row {row}" if names is None else names[row]
    return f"Why {explained.label or f'{explained.output:.4g}'} at {called}"


def _table(explained: Explanation) -> Table:
    table = Table(
        title="what the deviation is made of",
        caption=printable(explained.parts_sentence),
        show_footer=True,
    )
    table.add_column("feature", footer="together, the deviation")
    table.add_column("value", justify="right")
    total = f"{explained.deviation.value:+.3g}"
    table.add_column("share of the deviation", justify="right", footer=total)
    for name, value, share in explained.parts(SHOWN):
        table.add_row(printable(name), printable(value), f"{share:+.3g}")
    return table


def _supporters(support: Support) -> Table:
    """The rows of the reference that the answer rests on, the heaviest first."""
    table = Table(
        title="what the answer rests on, in the reference",
    )
    for heading in ("row", "weight", "answer", ""):
        table.add_column(heading, justify="right" if heading == "weight" else "left")
    for other in support.supporters[:SHOWN]:
        verdict = "agrees" if other.agrees else "contradicts"
        table.add_row(
            printable(other.name), f"{other.weight:.1%}", printable(other.answer), verdict
        )
    return table
