"""`anharmonic search`: how many decisions a few steps change, by every way of climbing."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from anharmonic.ascent import adversarial_search
from anharmonic.cli.options import (
    Ball,
    BatchSize,
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
from anharmonic.cli.outputs import claim, finish, keeping, partial_of
from anharmonic.cli.show import plain, printable
from anharmonic.columns import remark
from anharmonic.errors import SettingsError
from anharmonic.regions import points
from anharmonic.walks import Search

__all__ = ["search_command"]


class Way(StrEnum):
    """Where a walk goes."""

    margin = "margin"
    output = "output"
    gamma = "gamma"
    random = "random"


def search_command(
    model: OneModel,
    data: Points,
    climb: Annotated[
        list[Way] | None, typer.Option(help="Where to go; several times to compare ways.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="The most steps of a walk.")] = 25,
    radius: Radius = "auto",
    ball: Ball = "auto",
    directions: Annotated[int, typer.Option(min=1, help="Neighbours asked for at a step.")] = 20,
    bounds: Bounds = None,
    grid: Grid = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Queries for each climb.")] = None,
    stop: Annotated[bool, typer.Option(help="End a walk at its first flip.")] = True,
    output: OutputOption = None,
    scale: Scale = "auto",
    reference: Reference = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    seed: Seed = 0,
    batch_size: BatchSize = None,
    trust: Trust = False,
    out: Annotated[Path | None, typer.Option(help="Write the search here, as Parquet.")] = None,
    resume: Annotated[Path | None, typer.Option(help="An unfinished search to go on from.")] = None,
    as_json: Json = False,
) -> None:
    """Walk from each point until its class changes, and count."""
    climbs = climb or [Way.margin]
    if resume is not None and len(climbs) > 1:
        raise SettingsError("--resume goes on with one --climb: give the one it was made with")
    for each in climbs:
        claim(_target(out, each, len(climbs)))
    asked = load(model, output, trust)
    region = points(points_data(data, columns, drop, reference), moving=split(moving))
    found: list[Search] = []
    for each in climbs:
        target = _target(out, each, len(climbs))
        with keeping(target):
            search = adversarial_search(
                asked,
                region,
                radius=radius_value(radius),
                steps=steps,
                ball=ball,
                directions=directions,
                climb=each.value,
                bounds=pair(bounds),
                grid=grid,
                budget=budget,
                stop=stop,
                scale=scale_value(scale),
                reference=reference_data(reference, columns, drop),
                resume=resume,
                checkpoint=partial_of(target),
                seed=seed,
                progress=not as_json,
                batch_size=batch_size,
            )
        finish(search, target)
        found.append(search)
    if as_json:
        print(json.dumps(plain([each.summary() for each in found])))
        return
    console = Console(highlight=False)
    console.print(_table(found))
    console.print(printable(remark(found[0].settings, always=True)), soft_wrap=True, style="dim")


def _target(out: Path | None, climb: Way, many: int) -> Path | None:
    """One file a climb: search.parquet, or search-margin.parquet where there are several."""
    return out if out is None or many == 1 else out.with_stem(f"{out.stem}-{climb.value}")


def _table(found: list[Search]) -> Table:
    settings = found[0].settings
    table = Table(
        title=f"flips of {printable(settings['model'])} in {settings['steps']} steps of radius "
        f"{settings['radius']:.4g}, {len(found[0]):,} points"
    )
    table.add_column("climb")
    heads = (
        "flipped",
        "95% interval",
        "median first flip",
        "went nowhere",
        "queries",
        "queries a flip",
    )
    for name in heads:
        table.add_column(name, justify="right")
    for each in found:
        rate, flips = each.rate, each.flips[each.flipped]
        queries = int(each.queries.sum())
        table.add_row(
            each.settings["climb"] + ("" if each.complete else " (unfinished)"),
            f"{len(flips):,} ({rate.value:.1%})",
            f"{rate.low:.1%} … {rate.high:.1%}",
            f"{np.median(flips):g}" if len(flips) else "–",
            f"{int(each.stuck.sum()):,}",
            f"{queries:,}",
            f"{queries / len(flips):,.0f}" if len(flips) else "–",
        )
    return table
