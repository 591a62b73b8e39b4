"""`anharmonic explain`: one row, its neighbours, its features, and what would change it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from anharmonic import plots
from anharmonic.cli.options import (
    Bounds,
    Columns,
    Drop,
    Grid,
    Json,
    Moving,
    OneModel,
    OutputOption,
    Points,
    Radius,
    Reference,
    Scale,
    Seed,
    Trust,
    load,
    pair,
    points_data,
    radius_value,
    reference_data,
    scale_value,
    split,
)
from anharmonic.cli.outputs import claim_page
from anharmonic.cli.show import printable
from anharmonic.columns import remark
from anharmonic.errors import SettingsError
from anharmonic.explanation import Explanation, explain
from anharmonic.files import whole_file
from anharmonic.regions import points

__all__ = ["explain_command"]

SHOWN = 8


def explain_command(
    model: OneModel,
    data: Points,
    row: Annotated[int, typer.Option(min=0, help="Which row of the data, from 0.")] = 0,
    radius: Radius = "auto",
    steps: Annotated[int, typer.Option(min=1, help="Steps to the nearest other class.")] = 50,
    directions: Annotated[int, typer.Option(min=1, help="Neighbours asked for at a step.")] = 20,
    bounds: Bounds = None,
    grid: Grid = None,
    output: OutputOption = None,
    scale: Scale = "auto",
    reference: Reference = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    seed: Seed = 0,
    trust: Trust = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with a picture here.")] = None,
    as_json: Json = False,
) -> None:
    """Explain the model's answer at one row; scale and radius come from all of the data."""
    claim_page(html, "plots")
    asked = load(model, output, trust)
    region = points(points_data(data, columns, drop, reference), moving=split(moving))
    if row >= len(region):
        raise SettingsError(f"there is no row {row}: the data have rows 0 to {len(region) - 1}")
    found = explain(
        asked,
        region.rows(np.array([row])),
        steps=steps,
        radius=radius_value(radius),
        directions=directions,
        bounds=pair(bounds),
        grid=grid,
        scale=scale_value(scale),
        reference=region if reference is None else reference_data(reference, columns, drop),
        seed=seed,
    )
    if html is not None:
        _write_page(found, html)
    if as_json:
        print(found.to_json())
        return
    console = Console(highlight=False, soft_wrap=True)
    for sentence in found.sentences:
        console.print(printable(sentence))
    if found.contributions is not None:
        console.print(_table(found))
    console.print(printable(f"{found.queries:,} queries{remark(found.settings)}"))


def _table(found: Explanation) -> Table:
    table = Table(title="what the deviation is made of")
    table.add_column("feature")
    for name in ("value", "share of the deviation"):
        table.add_column(name, justify="right")
    for name, value, share in found.parts(SHOWN):
        table.add_row(printable(name), printable(value), f"{share:+.3g}")
    return table


def _write_page(found: Explanation, path: Path) -> None:
    """The explanation's own HTML and, where there is one to draw, its picture."""
    picture = ""
    if found.contributions is not None:
        figure = plots.explanation(found)
        picture = figure.to_html(full_html=False, include_plotlyjs=True, include_mathjax=False)
    page = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Explanation</title>"
        "</head><body style='font-family: system-ui, sans-serif; margin: 2rem'>"
        f"{picture}{found._repr_html_()}</body></html>"
    )
    with whole_file(path) as temporary:
        Path(temporary).write_text(page, encoding="utf-8")
