"""`anharmonic gamma`, and `plan` and `collect` for models that cannot be called from here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anharmonic.cli.options import (
    Ball,
    BatchSize,
    Bounds,
    Columns,
    Data,
    Directions,
    Drop,
    Json,
    ModelOption,
    Moving,
    Out,
    OutputOption,
    Processes,
    Radius,
    Reduction,
    Reference,
    Resume,
    Rotations,
    Scale,
    Seed,
    Threads,
    Trust,
    executor,
    load,
    number,
    pair,
    points_data,
    radius_value,
    reference_data,
    scale_value,
    split,
)
from anharmonic.cli.outputs import claim, finish, keeping, partial_of
from anharmonic.cli.show import show_scores, tell
from anharmonic.errors import SettingsError
from anharmonic.meanvalue import gamma
from anharmonic.offline import collect, plan
from anharmonic.regions import points

__all__ = ["measure"]

measure = typer.Typer(
    invoke_without_command=True,
    help="How far a model is from the mean-value property at each point: 0 for a harmonic one.",
)


@measure.callback()
def run(
    context: typer.Context,
    model: ModelOption = None,
    data: Data = None,
    radius: Radius = "auto",
    ball: Ball = "auto",
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
    budget: Annotated[int | None, typer.Option(help="Queries in all.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Stop a point this narrow.")] = None,
    noise: Annotated[str, typer.Option(help="include, refuse or ignore.")] = "include",
    seed: Seed = 0,
    batch_size: BatchSize = None,
    threads: Threads = None,
    processes: Processes = None,
    trust: Trust = False,
    out: Out = None,
    resume: Resume = None,
    as_json: Json = False,
) -> None:
    """Measure a model on data."""
    if context.invoked_subcommand:
        return
    if model is None or data is None:
        raise SettingsError("give --model and --data, or see: anharmonic gamma --help")
    claim(out)
    asked = load(model, output, trust)
    table = points_data(data, columns, drop, reference)
    with keeping(out):
        scores = gamma(
            asked,
            points(table, moving=split(moving)),
            radius=radius_value(radius),
            ball=ball,
            directions=directions,
            rotations=rotations,
            reduction=number(reduction),
            scale=scale_value(scale),
            reference=reference_data(reference, columns, drop),
            bounds=pair(bounds),
            budget=budget,
            tolerance=tolerance,
            noise=noise,  # type: ignore[arg-type]
            resume=resume,
            checkpoint=partial_of(out),
            batch_size=batch_size,
            seed=seed,
            map=executor(threads, processes),
            progress=not as_json,
        )
    finish(scores, out)
    show_scores(scores, as_json)


@measure.command("plan")
def plan_command(
    data: Annotated[Path, typer.Option(help="Points: .csv, .parquet, .npy or .npz.")],
    out: Annotated[Path, typer.Option(help="The questions, as Parquet.")],
    radius: Radius = "auto",
    ball: Ball = "auto pairs",
    directions: Directions = None,
    rotations: Rotations = 4,
    scale: Scale = "auto",
    reference: Reference = None,
    bounds: Bounds = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    seed: Seed = 0,
) -> None:
    """Write every question for a model that runs elsewhere; answer them, then collect."""
    claim(out)
    plan(
        points(points_data(data, columns, drop, reference), moving=split(moving)),
        out,
        ball=ball,
        directions=directions,
        radius=radius_value(radius),
        rotations=rotations,
        scale=scale_value(scale),
        reference=reference_data(reference, columns, drop),
        bounds=pair(bounds),
        seed=seed,
    )
    tell(
        f"{out} is written. Run the model on its feature columns, keep the query column or the "
        f"order, and then: anharmonic gamma collect {out} answers.parquet"
    )


@measure.command("collect")
def collect_command(
    queries: Annotated[Path, typer.Argument(help="What plan wrote.")],
    answers: Annotated[Path, typer.Argument(help="The model's outputs: Parquet, CSV or .npy.")],
    output: OutputOption = None,
    reduction: Reduction = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Turn the answers to a plan into the scores a direct run would have given."""
    claim(out)
    scores = collect(queries, answers, output=number(output), reduction=number(reduction), say=tell)
    if out is not None:
        scores.save(out)
    show_scores(scores, as_json)
