"""`anharmonic search`: how many decisions a few steps change, by every way of choosing them."""

from __future__ import annotations

import json
from enum import StrEnum
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
    Place,
    PointOptions,
    RunOptions,
    SourceOptions,
    StepOptions,
    grouped,
)
from anharmonic.cli.output_files import claim, finish, keeping, partial_of
from anharmonic.cli.over_sources import finish_source, sampled, source_arguments, source_of, streams
from anharmonic.cli.parsing import local_path
from anharmonic.cli.show import plain, printable
from anharmonic.errors import SettingsError
from anharmonic.measures.search.flips import step_in_words

if TYPE_CHECKING:
    from anharmonic.measures.search.result import Search

__all__ = ["search_command"]


class Way(StrEnum):
    """Where a walk goes."""

    margin = "margin"
    output = "output"
    gamma = "gamma"
    random = "random"


@grouped
def search_command(
    model: ModelOptions,
    points: PointOptions,
    step: StepOptions,
    run: RunOptions,
    source: SourceOptions,
    climb: Annotated[
        list[Way] | None, typer.Option(help="Where to go; several times to compare ways.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="The most steps of a walk.")] = 25,
    ball: Annotated[str, typer.Option(help="auto steps along one coordinate; or a ball.")] = "auto",
    budget: Annotated[int | None, typer.Option(min=1, help="Queries for each climb.")] = None,
    stop: Annotated[bool, typer.Option(help="End a walk at its first flip.")] = True,
    count: Annotated[int, typer.Option(min=0, help="How many rows that flip to list.")] = 10,
    out: Place = None,
    resume: Annotated[Path | None, typer.Option(help="An unfinished search to go on from.")] = None,
    as_json: Json = False,
) -> None:
    """Walk from each point until its class changes: which rows flip, and how far from where.

    Example: anharmonic search model.onnx --data points.parquet --climb margin --climb random

    A step of --radius auto is a tenth of the usual distance between nearest neighbours.
    """
    climbs = climb or [Way.margin]
    if resume is not None and len(climbs) > 1:
        raise SettingsError("--resume goes on with one --climb: give the one it was made with")
    if streams(points, source):
        if len(climbs) > 1:
            raise SettingsError("data that are read in batches take one --climb at a time")
        stored = ah.adversarial_search(
            model.load_by_name(),
            source_of(points, source),
            **step.arguments(),
            **run.arguments(),
            **source_arguments(points, source, out),
            steps=steps,
            ball=ball,
            climb=climbs[0].value,
            budget=budget,
            stop=stop,
            resume=resume,
            progress=not as_json,
        )
        finish_source(stored, out, as_json)
        return
    file = local_path(out, "--out")
    for way in climbs:
        claim(_target(file, way, len(climbs)))
    region, loaded = sampled(points.region(), source, run.seed), model.load()
    reference = points.reference_table()
    searches: list[Search] = []
    for way in climbs:
        target = _target(file, way, len(climbs))
        with keeping(target):
            search = ah.adversarial_search(
                loaded,
                region,
                **step.arguments(),
                **run.arguments(),
                steps=steps,
                ball=ball,
                climb=way.value,
                budget=budget,
                stop=stop,
                reference=reference,
                resume=resume,
                checkpoint=partial_of(target),
                progress=not as_json,
            )
        finish(search, target)
        searches.append(search)
    if as_json:
        print(json.dumps(plain([search.summary() for search in searches])))
        return
    console = Console(highlight=False)
    console.print(_table(searches))
    console.print(_curves(searches))
    for search in searches:
        if count and search.flipped.any():
            console.print(_rows(search, count))
    console.print(
        printable(remark(searches[0].settings, always=True)),
        soft_wrap=True,
        style="dim",
    )


def _target(out: Path | None, climb: Way, count: int) -> Path | None:
    """One file per climb: search.parquet, or search-margin.parquet where there are several."""
    return out if out is None or count == 1 else out.with_stem(f"{out.stem}-{climb.value}")


def _table(searches: list[Search]) -> Table:
    settings = searches[0].settings
    table = Table(
        title=f"flips of {printable(settings.model)} in {settings.steps} steps of "
        f"{step_in_words(settings)}, {len(searches[0]):,} points"
    )
    table.add_column("climb")
    heads = (
        "flipped",
        "95% interval",
        "median first flip",
        "went nowhere",
        "queries",
        "queries per flip",
    )
    for name in heads:
        table.add_column(name, justify="right")
    for search in searches:
        rate, flips = search.rate, search.flips[search.flipped]
        queries = int(search.queries.sum())
        table.add_row(
            search.settings.climb + ("" if search.complete else " (unfinished)"),
            f"{len(flips):,} ({rate.value:.1%})",
            f"{rate.low:.1%} … {rate.high:.1%}",
            f"{np.median(flips):g}" if len(flips) else "–",
            f"{int(search.stuck.sum()):,}",
            f"{queries:,}",
            f"{queries / len(flips):,.0f}" if len(flips) else "–",
        )
    return table


def _curves(searches: list[Search]) -> Table:
    """The share of decisions changed within a few distances, a column for each climb."""
    curves = [search.curve for search in searches]
    table = Table(
        title="decisions changed within a distance",
        caption="At least so many: a search finds a way across a boundary, not the shortest.",
    )
    table.add_column(printable(curves[0].unit), justify="right")
    for search in searches:
        table.add_column(search.settings.climb, justify="right")
    marks = sorted({mark for curve in curves for mark, _ in curve.marks()})
    for mark in marks:
        cells = [str(curve.at(mark)) if mark <= curve.furthest else "–" for curve in curves]
        table.add_row(f"{mark:.3g}", *cells)
    return table


def _rows(search: Search, count: int) -> Table:
    """The rows that flip, the nearest first."""
    flipped = int(search.flipped.sum())
    more = f"the nearest {count} of {flipped:,}" if flipped > count else f"all {flipped:,}"
    table = Table(
        title=f"rows that flip by {search.settings.climb}, {more}",
        caption=f"Distances in {search.curve.unit}.",
    )
    table.add_column("row")
    for name in ("from", "to"):
        table.add_column(name)
    for name in ("step", "distance", "margin before"):
        table.add_column(name, justify="right")
    for listed in search.flipped_list(count):
        distance, margin = listed["distance"], listed["margin"]
        table.add_row(
            *(printable(listed[name]) for name in ("name", "from", "to", "step")),
            "–" if distance is None else f"{distance:.3g}",
            "–" if margin is None else f"{margin:.3g}",
        )
    return table
