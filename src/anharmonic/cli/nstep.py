"""`anharmonic nstep`: how likely each decision is to last for some random steps."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic._core.columns import remark
from anharmonic._core.estimate import Estimate
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
from anharmonic.cli.output_files import claim
from anharmonic.cli.over_sources import finish_source, sampled, source_arguments, source_of, streams
from anharmonic.cli.parsing import Arguments, local_path
from anharmonic.cli.show import plain, printable
from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from anharmonic.measures.stability import Calibration
    from anharmonic.scores import Scores

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


@grouped
def nstep_command(
    model: ModelOptions,
    points: PointOptions,
    step: StepOptions,
    run: RunOptions,
    source: SourceOptions,
    kind: Annotated[
        How,
        typer.Option(help="walks: a chance; sway: ranks; drift: from one step; paper: theirs."),
    ] = How.walks,
    steps: Annotated[int, typer.Option(min=1, help="Random steps to survive.")] = 25,
    event: Annotated[When, typer.Option(help="Flipped at the end, or ever (drift).")] = When.end,
    ball: Annotated[str, typer.Option(help="auto steps along one coordinate; or a ball.")] = "auto",
    observe: Annotated[
        int,
        typer.Option(min=0, help="Also watch so many walks per point, to see if it comes true."),
    ] = 0,
    out: Place = None,
    as_json: Json = False,
) -> None:
    """Tell how likely each decision is to last for some random steps.

    Example: anharmonic nstep model.onnx --data points.parquet --kind sway --out sway.parquet
    """
    arguments = {**step.arguments(), **run.arguments(), "ball": ball}
    own: Arguments = {"steps": steps, "kind": kind.value, "event": event.value}
    shown = not as_json
    if streams(points, source):
        if observe:
            raise SettingsError("--observe is for points in memory: try it on a file of fewer rows")
        where = source_of(points, source)
        own |= source_arguments(points, source, out)
        stored = ah.nstep_robustness(
            model.load_by_name(), where, progress=shown, **own, **arguments
        )
        finish_source(stored, out, as_json)
        return
    target = local_path(out, "--out")
    claim(target)
    region, loaded = sampled(points.region(), source, run.seed), model.load()
    arguments["reference"] = points.reference_table()
    scores = ah.nstep_robustness(loaded, region, progress=shown, **own, **arguments)
    if target is not None:
        scores.save(target)
    calibration = None
    if observe:
        flips = ah.stability.observed_flips(
            loaded, region, steps=steps, walks=observe, event=event.value, **arguments
        )
        calibration = ah.stability.calibration(scores, flips)
    if as_json:
        print(json.dumps(plain(_summary(scores, calibration))))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(_table(scores))
    console.print(printable(remark(scores.settings, always=True)), style="dim")
    if calibration is not None:
        console.print(printable(repr(calibration)))


def _least(scores: Scores) -> list[int]:
    """Rows that last least, the worst first."""
    return [int(row) for row in np.argsort(-ah.baselines.fragility(scores), kind="stable")[:SHOWN]]


def _summary(scores: Scores, calibration: Calibration | None) -> dict[str, object]:
    facts = scores.summary() | {"least_stable_rows": _least(scores)}
    if calibration is not None:
        facts["brier"] = {
            "value": calibration.brier.value,
            "error": calibration.brier.error,
            "average_rate": calibration.constant,
        }
    return facts


def _table(scores: Scores) -> Table:
    from anharmonic.measures.search.step_rule import StepSettings

    settings = scores.settings.as_kind(StepSettings)
    table = Table(
        title=f"{scores.metric} of {printable(str(settings.model))} over {settings.steps} steps of "
        f"radius {settings.radius:.4g}, {len(scores):,} points, {scores.queries:,} queries; "
        f"mean {Estimate(scores.mean, scores.error)}"
    )
    for name in (
        "least stable rows",
        scores.metric,
        "P" if settings.nstep == How.paper else "margin",
    ):
        table.add_column(name, justify="right")
    for row in _least(scores):
        value = str(Estimate(float(scores.values[row]), float(scores.errors[row])))
        table.add_row(str(row), value, f"{scores.outputs[row]:.4g}")
    return table
