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
    PointOptions,
    RunOptions,
    StepOptions,
    grouped,
)
from anharmonic.cli.output_files import claim, finish, keeping, partial_of
from anharmonic.cli.show import plain, printable
from anharmonic.errors import SettingsError

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
    climb: Annotated[
        list[Way] | None, typer.Option(help="Where to go; several times to compare ways.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="The most steps of a walk.")] = 25,
    ball: Annotated[str, typer.Option(help="auto steps along one coordinate; or a ball.")] = "auto",
    budget: Annotated[int | None, typer.Option(min=1, help="Queries for each climb.")] = None,
    stop: Annotated[bool, typer.Option(help="End a walk at its first flip.")] = True,
    out: Annotated[Path | None, typer.Option(help="Write the search here, as Parquet.")] = None,
    resume: Annotated[Path | None, typer.Option(help="An unfinished search to go on from.")] = None,
    as_json: Json = False,
) -> None:
    """Walk from each point until its class changes, and count.

    Example: anharmonic search model.onnx --data points.parquet --climb margin --climb random
    """
    climbs = climb or [Way.margin]
    if resume is not None and len(climbs) > 1:
        raise SettingsError("--resume goes on with one --climb: give the one it was made with")
    for way in climbs:
        claim(_target(out, way, len(climbs)))
    region, loaded = points.region(), model.load()
    reference = points.reference_table()
    searches: list[Search] = []
    for way in climbs:
        target = _target(out, way, len(climbs))
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
        title=f"flips of {printable(settings.model)} in {settings.steps} steps of radius "
        f"{settings.radius:.4g}, {len(searches[0]):,} points"
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
