"""`anharmonic gamma`, and `plan` and `collect` for models that cannot be called from here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

import anharmonic as ah
from anharmonic.cli.groups import (
    BallOptions,
    Json,
    ModelOptions,
    Place,
    PointOptions,
    Reduction,
    RunOptions,
    Seed,
    SourceOptions,
    WorkerOptions,
    grouped,
)
from anharmonic.cli.output_files import claim, finish, keeping, partial_of
from anharmonic.cli.over_data import measures_rows
from anharmonic.cli.over_sources import (
    finish_source,
    refuse_file,
    sampled,
    source_arguments,
    source_of,
    streams,
)
from anharmonic.cli.parsing import local_path, number
from anharmonic.cli.show import show_scores, tell
from anharmonic.errors import SettingsError

__all__ = ["collect_command", "gamma_command", "plan_command"]


@grouped
def gamma_command(
    context: typer.Context,
    model: ModelOptions,
    points: PointOptions,
    ball: BallOptions,
    run: RunOptions,
    workers: WorkerOptions,
    source: SourceOptions,
    reduction: Reduction = None,
    budget: Annotated[int | None, typer.Option(help="Queries in all.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Stop a point this narrow.")] = None,
    noise: Annotated[str, typer.Option(help="include, refuse or ignore.")] = "include",
    out: Place = None,
    resume: Annotated[Path | None, typer.Option(help="Unfinished scores to go on from.")] = None,
    as_json: Json = False,
) -> None:
    """How far a model is from the mean-value property at each point: 0 for a harmonic one.

    Example: anharmonic gamma model.onnx --data points.parquet --drop label --out scores.parquet

    With --ball data other rows take the place of a sphere, so that any table will do:
    anharmonic gamma model.skops --data rows.csv --ball data --reference train.csv
    A folder, a glob or an address is read in batches, and a run that was stopped goes on:
    anharmonic gamma model.onnx --data 's3://bucket/day=*/*.parquet' --out scores --engine ray
    `gamma plan`, `gamma collect` and `gamma recorded` are for a model that cannot be called here.
    """
    over_rows = measures_rows(context, ball.ball)
    if not over_rows and streams(points, source):
        stored = ah.gamma(
            model.load_by_name(),
            source_of(points, source),
            **ball.arguments(),
            **run.arguments(),
            **source_arguments(points, source, out, workers),
            reduction=number(reduction),
            budget=budget,
            tolerance=tolerance,
            noise=cast(Any, noise),
            resume=resume,
            progress=not as_json,
        )
        finish_source(stored, out, as_json)
        return
    target = local_path(out, "--out")
    claim(target)
    if over_rows:
        rows, loaded = points.rows(), model.load()
        scores = ah.gamma(
            loaded,
            rows,
            ball=str(ball.ball),
            **run.arguments(),
            reduction=number(reduction),
            reference=points.reference_table(),
            moving=points.moves,
            progress=not as_json,
        )
        finish(scores, target)
        show_scores(scores, as_json)
        return
    region, loaded = sampled(points.region(), source, run.seed), model.load()
    with keeping(target):
        scores = ah.gamma(
            loaded,
            region,
            **ball.arguments(),
            **run.arguments(),
            reduction=number(reduction),
            reference=points.reference_table(),
            budget=budget,
            tolerance=tolerance,
            noise=cast(Any, noise),
            resume=resume,
            checkpoint=partial_of(target),
            map=workers.map(),
            progress=not as_json,
        )
    finish(scores, target)
    show_scores(scores, as_json)


@grouped
def plan_command(
    points: PointOptions,
    out: Annotated[
        str,
        typer.Option(metavar="PATH", help="The questions, as Parquet; a folder with --stream."),
    ],
    source: SourceOptions,
    ball: BallOptions = BallOptions(ball="auto pairs"),
    seed: Seed = 0,
) -> None:
    """Write every question for a model that runs elsewhere; answer them, then collect.

    Example: anharmonic gamma plan --data points.csv --out queries.parquet

    A folder, a glob or an address is planned in parts: Parquet files under queries, whose columns
    part and query the answers must keep. Started again, a plan that was stopped goes on.
    """
    if streams(points, source):
        told = source_arguments(points, source, out)
        setup = {name: told[name] for name in ("reference", "moving", "kinds", "engine", "fresh")}
        ah.plan(source_of(points, source), out, **ball.arguments(), **setup, seed=seed)
        tell(
            f"{out}/queries is written. Keep part and query beside the model's outputs, as "
            f"Parquet files, and then: anharmonic gamma collect {out} ANSWERS --out SCORES"
        )
        return
    target = local_path(out, "--out")
    assert target is not None
    claim(target)
    reference = points.reference_table()
    region = sampled(points.region(), source, seed)
    ah.plan(region, target, **ball.arguments(), reference=reference, seed=seed)
    tell(
        f"{out} is written. Run the model on its feature columns, keep the query column or the "
        f"order, and then: anharmonic gamma collect {out} answers.parquet"
    )


def collect_command(
    queries: Annotated[str, typer.Argument(help="What plan wrote.")],
    answers: Annotated[str, typer.Argument(help="The model's outputs: Parquet, CSV or .npy.")],
    output: Annotated[
        str | None, typer.Option(help="probability, logit, label, onehot, or a column's number.")
    ] = None,
    reduction: Reduction = None,
    out: Place = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over where --out holds scores already.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Turn the answers to a plan into the scores a direct run would have given.

    Example: anharmonic gamma collect queries.parquet answers.parquet --out scores.parquet
    """
    from anharmonic.sources.locations import is_folder, join_address

    reduced, asked = number(reduction), number(output)
    if is_folder(queries):
        refuse_file(out)
        stored = ah.collect(queries, answers, output=asked, reduction=reduced, out=out, fresh=fresh)
        place = out or join_address(queries, "collected")
        finish_source(cast("ah.StoredScores", stored), place, as_json)
        return
    if fresh:
        raise SettingsError("--fresh is for the folder of a plan: leave it out")
    target = local_path(out, "--out")
    claim(target)
    scores = cast(
        "ah.Scores", ah.collect(queries, answers, output=asked, reduction=reduced, say=tell)
    )
    if target is not None:
        scores.save(target)
    show_scores(scores, as_json)
