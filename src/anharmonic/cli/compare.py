"""`anharmonic compare`: which of several models is more harmonic, and how sure that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic._core.columns import remark
from anharmonic._core.estimate import Estimate
from anharmonic.cli.groups import (
    BallOptions,
    FolderOptions,
    Json,
    ModelsOptions,
    PointOptions,
    Reduction,
    RunOptions,
    SourceOptions,
    Where,
    grouped,
)
from anharmonic.cli.labels import Labels, labels_of, without_labels
from anharmonic.cli.output_files import claim_page, folder_of
from anharmonic.cli.over_data import measures_rows
from anharmonic.cli.over_sources import (
    finish_comparison,
    refuse_labels,
    refuse_page,
    sampled,
    source_arguments,
    source_of,
    streams,
)
from anharmonic.cli.parsing import number
from anharmonic.cli.several import explain_worst
from anharmonic.cli.show import command_line, plain, printable
from anharmonic.errors import SettingsError
from anharmonic.regions import Region

if TYPE_CHECKING:
    from anharmonic.measures.compare import Comparison

__all__ = ["compare_command", "show_comparison"]


@grouped
def compare_command(
    context: typer.Context,
    models: ModelsOptions,
    points: PointOptions,
    run: RunOptions,
    folders: FolderOptions,
    source: SourceOptions,
    ball: BallOptions = BallOptions(ball="auto pairs"),
    labels: Labels = None,
    reduction: Reduction = None,
    region: Annotated[
        Where,
        typer.Option(help="auto: at the reference points too, the larger counts. Or: points."),
    ] = Where.auto,
    equivalence: Annotated[
        float, typer.Option(help="Models this share apart at most are called the same.")
    ] = 0.10,
    page: Annotated[Path | None, typer.Option("--report", help="Write an HTML report.")] = None,
    as_json: Json = False,
) -> None:
    """Rank models by gamma on the same points, and say which differences are real.

    Example: anharmonic compare forest=a.onnx linear=b.onnx --data new.parquet --reference train.csv

    With --labels, a column of the data, accuracy (R² of numbers) stands beside gamma, and who is on
    the frontier of both.
    With --report or --keep, what is finished is kept on the way, and --resume goes on from it.
    Data that are read in batches go on by the same command; --keep names the folder of all scores.
    With --ball data other rows take the place of a sphere, and of models that were trained on the
    reference the least overfit comes first.
    """
    over_rows = measures_rows(context, ball.ball)
    if not over_rows and streams(points, source):
        refuse_page(page)
        refuse_labels(labels)
        if folders.resume is not None:
            raise SettingsError(
                "--resume is for points in memory: data that are read in batches go on by the same "
                "command with the same --keep"
            )
        compared = ah.compare(
            models.load_by_name(),
            source_of(points, source),
            region=region.value,
            **ball.arguments(),
            **run.arguments(),
            **source_arguments(points, source, folders.keep),
            reduction=number(reduction),
            equivalence=equivalence,
            progress=not as_json,
        )
        show_comparison(compared, as_json)
        finish_comparison(compared)
        return
    claim_page(page)
    given, points = labels_of(points, labels), without_labels(points, labels)
    loaded, where = (
        models.load(),
        (points.rows() if over_rows else sampled(points.region(), source, run.seed)),
    )
    if given is not None and isinstance(where, Region) and len(where) < len(given):
        given = given[where.addresses]
    # One query per row is no run to keep on the way.
    kept = (None, None, None) if over_rows else (page, folders.kept, folders.resume)
    with folder_of(*kept) as folder:
        compared = ah.compare(
            loaded,
            where,
            region=region.value,
            **({"ball": ball.ball, "moving": points.moves} if over_rows else ball.arguments()),
            **run.arguments(),
            reduction=number(reduction),
            reference=points.reference_table(),
            labels=given,
            equivalence=equivalence,
            checkpoint=folder.path,
            resume=folder.resume,
            progress=not as_json,
        )
        if page is not None:
            ah.report.write(
                page,
                compared,
                points=where,
                contributions=explain_worst(loaded, where, compared, points.reference_table()),
                command=command_line(),
            )
        show_comparison(compared, as_json)


def show_comparison(compared: Comparison, as_json: bool) -> None:
    """The ranking on standard output, and which differences are real."""
    if as_json:
        print(json.dumps(plain(compared.summary())))
        return
    console = Console()
    console.print(_ranking(compared))
    if compared.labelled:
        console.print(_choice(compared))
    console.print(printable(compared.reading), highlight=False, soft_wrap=True)
    about = remark(compared.settings, always=True)
    console.print(printable(about), highlight=False, soft_wrap=True, style="dim")
    for pair in compared.differences:
        line = printable(str(pair))
        console.print(line, highlight=False, soft_wrap=True, style="" if pair.real else "dim")
    for pair in compared.label_differences:
        line = printable(f"{compared.label_metric}: {pair}")
        console.print(line, highlight=False, soft_wrap=True, style="" if pair.real else "dim")


def _ranking(compared: Comparison) -> Table:
    """Every mean of every model; where there are two, the one that counts is bold."""
    table = Table(title=f"{compared.metric}, from the smallest on")
    table.add_column("model")
    places = list(compared.places(compared.ranking[0]))
    headings = [f"at the {place}" for place in places] if len(places) > 1 else [compared.metric]
    relative = any(scores.share_of_spread for scores in compared.scores.values())
    for heading in (*headings, *(["of the spread"] if relative else []), "queries"):
        table.add_column(heading, justify="right")
    for name in compared.ranking:
        measured = compared.places(name)
        means = [
            f"[bold]{mean}[/]" if len(places) > 1 and place == compared.where(name) else str(mean)
            for place, mean in (
                (place, Estimate(there.mean, there.error)) for place, there in measured.items()
            )
        ]
        queries = sum(scores.queries for scores in measured.values())
        share = [compared.counted(name).relative.percent] if relative else []
        table.add_row(printable(name), *means, *share, f"{queries:,}")
    return table


def _choice(compared: Comparison) -> Table:
    """How right every model is beside its gamma, the most right first."""
    table = Table(title=f"{compared.label_metric} and {compared.metric}, to choose by")
    table.add_column("model")
    for heading in (compared.label_metric, compared.metric):
        table.add_column(heading, justify="right")
    table.add_column("frontier")
    most_right = sorted(compared.ranking, key=lambda name: -compared.labelled[name].estimate.value)
    for name in most_right:
        standing = compared.standings[name]
        words = printable(str(standing))
        table.add_row(
            printable(name),
            printable(compared.labelled[name].text(compared.level)),
            str(compared.overall(name)),
            f"[bold]{words}[/]" if standing.on_frontier else words,
        )
    return table
