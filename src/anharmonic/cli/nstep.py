"""`anharmonic nstep`: how long decisions last under random steps, and which last least."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from anharmonic.ascent import StepArguments
from anharmonic.baselines import fragility
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
    Out,
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
from anharmonic.cli.outputs import claim
from anharmonic.cli.show import plain, printable
from anharmonic.columns import remark
from anharmonic.moments import Estimate
from anharmonic.regions import points
from anharmonic.scores import Scores
from anharmonic.stability import Calibration, calibration, nstep_robustness, observed_flips

__all__ = ["nstep_command"]

SHOWN = 5


class How(StrEnum):
    """How the answer is come by."""

    walks = "walks"
    sway = "sway"
    drift = "drift"
    paper = "paper"


class When(StrEnum):
    """When another class counts."""

    end = "end"
    ever = "ever"


def nstep_command(
    model: OneModel,
    data: Points,
    kind: Annotated[
        How,
        typer.Option(help="walks: a chance; sway: ranks; drift: from one step; paper: theirs."),
    ] = How.walks,
    steps: Annotated[int, typer.Option(min=1, help="Random steps to survive.")] = 25,
    event: Annotated[When, typer.Option(help="Flipped at the end, or ever (drift).")] = When.end,
    radius: Radius = "auto",
    ball: Ball = "auto",
    directions: Annotated[int, typer.Option(min=1, help="Walks or neighbours a point.")] = 20,
    bounds: Bounds = None,
    grid: Grid = None,
    observe: Annotated[
        int, typer.Option(min=0, help="Also watch so many walks a point, to see if it comes true.")
    ] = 0,
    output: OutputOption = None,
    scale: Scale = "auto",
    reference: Reference = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    seed: Seed = 0,
    batch_size: BatchSize = None,
    trust: Trust = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Tell how likely each decision is to last for some random steps."""
    claim(out)
    asked = load(model, output, trust)
    region = points(points_data(data, columns, drop, reference), moving=split(moving))
    arguments: StepArguments = {
        "radius": radius_value(radius),
        "ball": ball,
        "directions": directions,
        "bounds": pair(bounds),
        "grid": grid,
        "scale": scale_value(scale),
        "reference": reference_data(reference, columns, drop),
        "seed": seed,
        "batch_size": batch_size,
    }
    scores = nstep_robustness(
        asked,
        region,
        steps=steps,
        kind=kind.value,
        event=event.value,
        progress=not as_json,
        **arguments,
    )
    if out is not None:
        scores.save(out)
    checked = None
    if observe:
        seen = observed_flips(
            asked, region, steps=steps, walks=observe, event=event.value, **arguments
        )
        checked = calibration(scores, seen)
    if as_json:
        print(json.dumps(plain(_summary(scores, checked))))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(_table(scores))
    console.print(printable(remark(scores.settings, always=True)), style="dim")
    if checked is not None:
        console.print(printable(repr(checked)))


def _least(scores: Scores) -> list[int]:
    """Rows that last least, the worst first."""
    return [int(row) for row in np.argsort(-fragility(scores), kind="stable")[:SHOWN]]


def _summary(scores: Scores, checked: Calibration | None) -> dict[str, Any]:
    told = scores.summary() | {"least_stable_rows": _least(scores)}
    if checked is not None:
        told["brier"] = {
            "value": checked.brier.value,
            "error": checked.brier.error,
            "average_rate": checked.constant,
        }
    return told


def _table(scores: Scores) -> Table:
    known = scores.settings
    table = Table(
        title=f"{scores.metric} of {printable(str(known['model']))} over {known['steps']} steps of "
        f"radius {known['radius']:.4g}, {len(scores):,} points, {scores.queries:,} queries; "
        f"mean {Estimate(scores.mean, scores.error)}"
    )
    for name in (
        "least stable rows",
        scores.metric,
        "P" if known["nstep"] == How.paper else "margin",
    ):
        table.add_column(name, justify="right")
    for row in _least(scores):
        value = str(Estimate(float(scores.values[row]), float(scores.errors[row])))
        table.add_row(str(row), value, f"{scores.outputs[row]:.4g}")
    return table
