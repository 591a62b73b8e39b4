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
from anharmonic._core.files import write_text_whole
from anharmonic.cli.groups import (
    Json,
    ModelOptions,
    PointOptions,
    RunOptions,
    StepOptions,
    grouped,
)
from anharmonic.cli.output_files import claim_page
from anharmonic.cli.show import printable
from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from anharmonic.measures.explain import Explanation

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
    html: Annotated[Path | None, typer.Option(help="Write a page with a picture here.")] = None,
    as_json: Json = False,
) -> None:
    """Explain the model's answer at one row; scale and radius come from all of the data.

    Example: anharmonic explain model.onnx --data points.parquet --row 17 --html why.html
    """
    claim_page(html, "plots")
    region, loaded = points.region(), model.load()
    if row >= len(region):
        raise SettingsError(f"there is no row {row}: the data have rows 0 to {len(region) - 1}")
    explained = ah.explain(
        loaded,
        region.rows(np.array([row])),
        steps=steps,
        **step.arguments(),
        **run.arguments(),
        reference=region if points.reference is None else points.reference_table(),
    )
    if html is not None:
        _write_page(explained, html)
    if as_json:
        print(explained.to_json())
        return
    console = Console(highlight=False, soft_wrap=True)
    for sentence in explained.sentences:
        console.print(printable(sentence))
    if explained.contributions is not None:
        console.print(_table(explained))
    console.print(printable(f"{explained.queries:,} queries{remark(explained.settings)}"))


def _table(explained: Explanation) -> Table:
    table = Table(title="what the deviation is made of")
    table.add_column("feature")
    for name in ("value", "share of the deviation"):
        table.add_column(name, justify="right")
    for name, value, share in explained.parts(SHOWN):
        table.add_row(printable(name), printable(value), f"{share:+.3g}")
    return table


def _write_page(explained: Explanation, path: Path) -> None:
    """The explanation's own HTML and, where there is one to draw, its picture."""
    picture = ""
    if explained.contributions is not None:
        figure = ah.plots.explanation(explained)
        picture = figure.to_html(full_html=False, include_plotlyjs=True, include_mathjax=False)
    page = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Explanation</title>"
        "</head><body style='font-family: system-ui, sans-serif; margin: 2rem'>"
        f"{picture}{explained._repr_html_()}</body></html>"
    )
    write_text_whole(path, page)
