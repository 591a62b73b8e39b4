"""`anharmonic gamma`, and `plan` and `collect` for models that cannot be called from here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import anharmonic as ah
from anharmonic.cli.groups import (
    BallOptions,
    Json,
    ModelOptions,
    Out,
    PointOptions,
    Reduction,
    RunOptions,
    Seed,
    WorkerOptions,
    grouped,
)
from anharmonic.cli.output_files import claim, finish, keeping, partial_of
from anharmonic.cli.over_data import measures_rows
from anharmonic.cli.parsing import number
from anharmonic.cli.show import show_scores, tell

__all__ = ["collect_command", "gamma_command", "plan_command"]


@grouped
def gamma_command(
    context: typer.Context,
    model: ModelOptions,
    points: PointOptions,
    ball: BallOptions,
    run: RunOptions,
    workers: WorkerOptions,
    reduction: Reduction = None,
    budget: Annotated[int | None, typer.Option(help="Queries in all.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Stop a point this narrow.")] = None,
    noise: Annotated[str, typer.Option(help="include, refuse or ignore.")] = "include",
    out: Out = None,
    resume: Annotated[Path | None, typer.Option(help="Unfinished scores to go on from.")] = None,
    as_json: Json = False,
) -> None:
    """How far a model is from the mean-value property at each point: 0 for a harmonic one.

    Example: anharmonic gamma model.onnx --data points.parquet --drop label --out scores.parquet

    With --ball data other rows take the place of a sphere, so that any table will do:
    anharmonic gamma model.skops --data rows.csv --ball data --reference train.csv
    `gamma plan`, `gamma collect` and `gamma recorded` are for a model that cannot be called here.
    """
    over_rows = measures_rows(context, ball.ball)
    claim(out)
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
        finish(scores, out)
        show_scores(scores, as_json)
        return
    region, loaded = points.region(), model.load()
    with keeping(out):
        scores = ah.gamma(
            loaded,
            region,
            **ball.arguments(),
            **run.arguments(),
            reduction=number(reduction),
            reference=points.reference_table(),
            budget=budget,
            tolerance=tolerance,
            noise=noise,  # type: ignore[arg-type]
            resume=resume,
            checkpoint=partial_of(out),
            map=workers.map(),
            progress=not as_json,
        )
    finish(scores, out)
    show_scores(scores, as_json)


@grouped
def plan_command(
    points: PointOptions,
    out: Annotated[Path, typer.Option(help="The questions, as Parquet.")],
    ball: BallOptions = BallOptions(ball="auto pairs"),
    seed: Seed = 0,
) -> None:
    """Write every question for a model that runs elsewhere; answer them, then collect.

    Example: anharmonic gamma plan --data points.csv --out queries.parquet
    """
    claim(out)
    reference = points.reference_table()
    ah.plan(points.region(), out, **ball.arguments(), reference=reference, seed=seed)
    tell(
        f"{out} is written. Run the model on its feature columns, keep the query column or the "
        f"order, and then: anharmonic gamma collect {out} answers.parquet"
    )


def collect_command(
    queries: Annotated[Path, typer.Argument(help="What plan wrote.")],
    answers: Annotated[Path, typer.Argument(help="The model's outputs: Parquet, CSV or .npy.")],
    output: Annotated[
        str | None, typer.Option(help="probability, logit, label, onehot, or a column's number.")
    ] = None,
    reduction: Reduction = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Turn the answers to a plan into the scores a direct run would have given.

    Example: anharmonic gamma collect queries.parquet answers.parquet --out scores.parquet
    """
    claim(out)
    reduced = number(reduction)
    scores = ah.collect(queries, answers, output=number(output), reduction=reduced, say=tell)
    if out is not None:
        scores.save(out)
    show_scores(scores, as_json)
