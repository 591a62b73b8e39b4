"""`anharmonic check`: a gate for releases, with an exit code that CI understands."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import anharmonic as ah
from anharmonic._core.columns import remark
from anharmonic.cli.groups import (
    BallOptions,
    Json,
    ModelOptions,
    Out,
    PointOptions,
    Reduction,
    RunOptions,
    WorkerOptions,
    grouped,
)
from anharmonic.cli.output_files import claim, finish, keeping, partial_of
from anharmonic.cli.over_data import measures_rows
from anharmonic.cli.parsing import Arguments, given, number
from anharmonic.cli.show import plain, printable
from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from anharmonic.gate import Verdict
    from anharmonic.regions import Region
    from anharmonic.scores import Scores

__all__ = ["FAILED", "check_command"]

FAILED = 100
"""The exit code of a criterion that was not met; 1 is kept for errors of the check itself."""
AS_BASELINE = BallOptions(radius=None, ball=None, rotations=None, scale=None)


@grouped
def check_command(
    context: typer.Context,
    model: ModelOptions,
    points: PointOptions,
    workers: WorkerOptions,
    ball: BallOptions = AS_BASELINE,
    run: RunOptions = RunOptions(seed=None),
    scores: Annotated[
        Path | None, typer.Option(help="Judge these saved scores; no model is asked.")
    ] = None,
    max_gamma: Annotated[
        float | None, typer.Option(help="Fail when the mean is really above it.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Saved scores: fail when the mean is really above theirs.")
    ] = None,
    margin: Annotated[float, typer.Option(help="How much above the baseline is forgiven.")] = 0.0,
    level: Annotated[float, typer.Option(help="Confidence that a failure is real.")] = 0.95,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    reduction: Reduction = None,
    budget: Annotated[int | None, typer.Option(help="Queries in all.")] = None,
    out: Out = None,
    resume: Annotated[Path | None, typer.Option(help="Unfinished scores to go on from.")] = None,
    as_json: Json = False,
) -> None:
    """Pass or fail a model by its mean gamma: exit code 0 or 100.

    Example: anharmonic check model.onnx --data points.parquet --max-gamma 0.03 --junit gamma.xml

    With --baseline, its radius, scale, ball, seed, columns and output are used unless given.
    With --ball data, or such a baseline, rows are compared as they are: any table will do.
    """
    from anharmonic.cli.junit import write_error, write_verdicts

    started = time.perf_counter()
    claim(junit, ())
    try:
        if max_gamma is None and baseline is None:
            raise SettingsError("give --max-gamma, --baseline or both: what should be checked?")
        before = None if baseline is None else ah.Scores.load(baseline)
        named = ball.ball
        if named is None and before is not None and not before.settings.moves:
            named = "data"
        over_rows = measures_rows(context, named)
        if before is not None:
            from anharmonic.measures.remeasure import require_same_measure

            require_same_measure(before, ball.ball)
        claim(out)
        if scores is None:
            arguments = {
                **({"ball": ball.ball} if over_rows else ball.arguments()),
                **run.arguments(),
                **given(
                    reduction=number(reduction),
                    reference=points.reference_table(),
                    budget=budget,
                    resume=resume,
                ),
                "map": workers.map(),
                "progress": not as_json,
            }
            measured = _measure(model, points, before, arguments, out, over_rows)
        elif model.name is not None or points.data is not None:
            raise SettingsError("give --scores, or a model with --data, not both")
        else:
            measured = ah.Scores.load(scores)
        verdicts = _judged(measured, max_gamma, before, level, margin)
    except Exception as problem:
        if junit is not None:
            write_error(junit, problem, time.perf_counter() - started)
        raise
    if junit is not None:
        write_verdicts(junit, verdicts, time.perf_counter() - started)
    _show(measured, verdicts, as_json)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(FAILED)


def _judged(
    scores: Scores, limit: float | None, before: Scores | None, level: float, margin: float
) -> list[Verdict]:
    verdicts = [] if limit is None else [ah.gate.below(scores, limit, level)]
    if before is not None:
        verdicts.append(ah.gate.no_worse(scores, before, level, margin))
    return verdicts


def _region(points: PointOptions, before: Scores | None, over_rows: bool) -> Region:
    """The points, in the baseline's columns unless told otherwise."""
    if before is None:
        return points.rows() if over_rows else points.region()
    import narwhals.stable.v1 as nw

    table = points.table(points.reference)
    moved, held = before.settings.columns, before.settings.still
    native = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame) and not (points.columns or points.drop):
        table = native.select([name for name in native.columns if name in {*moved, *held}])
    native_table = nw.to_native(table, pass_through=True)
    if over_rows:
        return ah.regions.unmoved(native_table)
    return ah.regions.points(native_table, moving=points.moves or moved)


def _measure(
    model: ModelOptions,
    points: PointOptions,
    before: Scores | None,
    arguments: Arguments,
    out: Path | None,
    over_rows: bool,
) -> Scores:
    """The model's scores, measured as the baseline's were unless told otherwise."""
    if model.name is None or points.data is None:
        raise SettingsError("give one model with --data, or --scores")
    output = None if before is None else before.settings.output
    loaded = model.load(None if output is None else str(output))
    region = _region(points, before, over_rows)
    if not over_rows:
        arguments["checkpoint"] = partial_of(out)
    elif points.moves is not None:
        arguments["moving"] = points.moves
    with keeping(out):
        if before is None:
            scores = ah.gamma(loaded, region, **arguments)
        else:
            # The model answers the baseline's output already.
            scores = ah.measured_like(before, loaded, region, **arguments | {"output": None})
    finish(scores, out)
    return scores


def _show(scores: Scores, verdicts: list[Verdict], as_json: bool) -> None:
    passed = all(verdict.passed for verdict in verdicts)
    if as_json:
        summaries = [verdict.summary() for verdict in verdicts]
        about = {"passed": passed, "verdicts": summaries, "scores": scores.summary()}
        print(json.dumps(plain(about)))
        return
    console = Console(highlight=False, soft_wrap=True)
    for verdict in verdicts:
        mark = "[green]passed[/]" if verdict.passed else "[bold red]failed[/]"
        console.print(f"{mark} {printable(verdict.criterion)}: {printable(verdict.sentence)}")
    console.print(printable(scores.reading), style="dim")
    line = f"{len(scores):,} points, {scores.queries:,} queries{remark(scores.settings)}"
    console.print(printable(line), style="dim")
