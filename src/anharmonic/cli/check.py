"""`anharmonic check`: a gate for releases, with an exit code that CI understands."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any, cast

import narwhals.stable.v1 as nw
import typer
from rich.console import Console

from anharmonic.cli.junit import write_error, write_verdicts
from anharmonic.cli.options import (
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
    Reduction,
    Reference,
    Resume,
    Threads,
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
from anharmonic.cli.show import plain, printable
from anharmonic.columns import remark
from anharmonic.errors import SettingsError
from anharmonic.gate import Verdict, below, no_worse
from anharmonic.meanvalue import gamma
from anharmonic.regions import points
from anharmonic.repetition import MeasureArguments, measured_like
from anharmonic.scores import Scores

__all__ = ["check_command"]

FAILED = 100
"""The exit code of a criterion that was not met; 1 is kept for errors of the check itself."""


def check_command(
    source: Annotated[str | None, typer.Argument(metavar="MODEL", help="As --model.")] = None,
    model: ModelOption = None,
    data: Data = None,
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
    radius: Annotated[str | None, typer.Option(help='In scaled units, or "auto".')] = None,
    ball: Annotated[str | None, typer.Option(help="As for anharmonic gamma.")] = None,
    directions: Directions = None,
    rotations: Annotated[int | None, typer.Option(min=2, help="Independent copies.")] = None,
    output: OutputOption = None,
    reduction: Reduction = None,
    scale: Annotated[str | None, typer.Option(help='"auto" or "raw".')] = None,
    reference: Reference = None,
    bounds: Bounds = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    budget: Annotated[int | None, typer.Option(help="Queries in all.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of all that is random.")] = None,
    batch_size: BatchSize = None,
    threads: Threads = None,
    processes: Processes = None,
    trust: Annotated[bool, typer.Option(help="Allow files that run code when read.")] = False,
    out: Out = None,
    resume: Resume = None,
    as_json: Json = False,
) -> None:
    """Pass or fail a model by its mean gamma: exit code 0 or 100.

    With --baseline, its radius, scale, ball, seed, columns and output are used unless given.
    """
    started = time.perf_counter()
    claim(junit, ())
    try:
        if max_gamma is None and baseline is None:
            raise SettingsError("give --max-gamma, --baseline or both: what should be checked?")
        claim(out)
        before = None if baseline is None else Scores.load(baseline)
        if scores is None:
            given = {
                "radius": None if radius is None else radius_value(radius),
                "ball": ball,
                "directions": directions,
                "rotations": rotations,
                "reduction": number(reduction),
                "reference": reference_data(reference, columns, drop),
                "bounds": pair(bounds),
                "budget": budget,
                "seed": seed,
                "batch_size": batch_size,
                "resume": resume,
            }
            arguments = {name: value for name, value in given.items() if value is not None}
            if scale is not None:
                arguments["scale"] = scale_value(scale)
            found = _measured(
                _asked(source, model, output, trust, before),
                _region(data, columns, drop, moving, reference, before),
                before,
                cast(MeasureArguments, arguments | {"map": executor(threads, processes)}),
                out,
                as_json,
            )
        elif source or model or data:
            raise SettingsError("give --scores, or a model with --data, not both")
        else:
            found = Scores.load(scores)
        verdicts = _judged(found, max_gamma, before, level, margin)
    except Exception as problem:
        if junit is not None:
            write_error(junit, problem, time.perf_counter() - started)
        raise
    if junit is not None:
        write_verdicts(junit, verdicts, time.perf_counter() - started)
    _show(found, verdicts, as_json)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(FAILED)


def _judged(
    found: Scores, limit: float | None, before: Scores | None, level: float, margin: float
) -> list[Verdict]:
    verdicts = [] if limit is None else [below(found, limit, level)]
    return verdicts if before is None else [*verdicts, no_worse(found, before, level, margin)]


def _asked(
    source: str | None, model: str | None, output: str | None, trust: bool, before: Scores | None
) -> Any:
    """The model, answering what the baseline's did unless told otherwise."""
    if bool(source) == bool(model):
        raise SettingsError("give one model (MODEL or --model) with --data, or --scores")
    if output is None and before is not None and before.settings.get("output") is not None:
        output = str(before.settings["output"])
    return load(source or model or "", output, trust)


def _region(
    data: Path | None,
    columns: str | None,
    drop: str | None,
    moving: str | None,
    reference: Path | None,
    before: Any,
) -> Any:
    """The points, in the baseline's columns unless told otherwise."""
    if data is None:
        raise SettingsError("give --data with the model, or --scores")
    table = points_data(data, columns, drop, reference)
    if before is None:
        return points(table, moving=split(moving))
    known = before.settings.get("columns", []), before.settings.get("still", [])
    native = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame) and not (columns or drop):
        table = native.select([name for name in native.columns if name in {*known[0], *known[1]}])
    return points(nw.to_native(table, pass_through=True), moving=split(moving) or known[0])


def _measured(
    model: Any,
    region: Any,
    before: Scores | None,
    arguments: MeasureArguments,
    out: Path | None,
    quiet: bool,
) -> Scores:
    arguments |= {"progress": not quiet, "checkpoint": partial_of(out)}
    with keeping(out):
        if before is None:
            found = gamma(model, region, **arguments)
        else:
            # The model answers the baseline's output already.
            arguments["output"] = None
            found = measured_like(before, model, region, **arguments)
    finish(found, out)
    return found


def _show(found: Scores, verdicts: list[Verdict], as_json: bool) -> None:
    passed = all(verdict.passed for verdict in verdicts)
    if as_json:
        summaries = [verdict.summary() for verdict in verdicts]
        about = {"passed": passed, "verdicts": summaries, "scores": found.summary()}
        print(json.dumps(plain(about)))
        return
    console = Console(highlight=False, soft_wrap=True)
    for verdict in verdicts:
        mark = "[green]passed[/]" if verdict.passed else "[bold red]failed[/]"
        console.print(f"{mark} {printable(verdict.criterion)}: {printable(verdict.sentence)}")
    line = f"{len(found):,} points, {found.queries:,} queries{remark(found.settings)}"
    console.print(printable(line), style="dim")
