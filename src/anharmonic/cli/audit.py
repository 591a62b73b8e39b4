"""`anharmonic audit`: what is wrong with a model and its data, in one page."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import anharmonic as ah
from anharmonic.cli.check import FAILED
from anharmonic.cli.groups import Json, ModelOptions, Seed, TableOptions, grouped
from anharmonic.cli.output_files import claim, claim_page
from anharmonic.cli.over_sources import is_several
from anharmonic.cli.parsing import chosen, column_of, given_data, names_of, split
from anharmonic.cli.show import command_line, printable, tell
from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from anharmonic.auditing.finding import Severity
    from anharmonic.auditing.result import Audit

__all__ = ["audit_command"]

COLOURS = {"high": "bold red", "medium": "yellow", "low": "cyan"}


class FailOn(StrEnum):
    """From which severity on the command fails."""

    high = "high"
    medium = "medium"
    low = "low"
    never = "never"


@grouped
def audit_command(
    model: ModelOptions,
    points: TableOptions,
    reference: Annotated[
        str | None,
        typer.Option(help="The rows that the model was fitted to, with the same columns."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="The column with the labels, in the reference, the data or both; no feature."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The page, .html; as .json all of it for machines.")
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option(help="End with code 100 at findings of this severity or worse.")
    ] = FailOn.high,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0 here.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    budget: Annotated[int | None, typer.Option(help="Queries in all; 30,000 if not told.")] = None,
    rate: Annotated[
        float, typer.Option(help="The chance of any false finding on a clean model's page.")
    ] = 0.05,
    title: Annotated[str | None, typer.Option(help="What stands on top of the page.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Say what is wrong with a model and its data, how bad it is, and what to do.

    Example: anharmonic audit model.skops --data new.csv --reference train.csv --labels income

    An estimate of time and queries comes first. Of a folder, a pattern or an address 20,000 rows
    are drawn. Exit codes: 0 when nothing of --fail-on or worse
    was found, 100 when something was, 1 when the audit could not be done.
    """
    from anharmonic.cli.junit import write_audit, write_error

    begun = time.perf_counter()
    for path in (sarif, junit):
        claim(path, ())
    _claim_out(out)
    limit: Severity | None = None if fail_on is FailOn.never else fail_on.value  # type: ignore[assignment]
    try:
        rows, new_labels = _read(given_data(points.data), points, labels, reference is None)
        known, known_labels = (None, None)
        if reference is not None:
            known, known_labels = _read(reference, points, labels, False)
            if labels is not None and new_labels is None and known_labels is None:
                raise SettingsError(f"neither file has a column {labels}: mend --labels")
        result = ah.audit(
            model.load(),
            rows,
            reference=known,
            labels=new_labels,
            reference_labels=known_labels,
            budget=budget,
            rate=rate,
            seed=seed,
            progress=not as_json,
        )
    except Exception as problem:
        if junit is not None:
            write_error(junit, problem, time.perf_counter() - begun)
        raise
    if junit is not None:
        write_audit(junit, result, limit)
    if sarif is not None:
        ah.report.write_sarif(sarif, result, data=points.data, reference=reference)
    _write(out, result, title)
    _show(result, as_json)
    if out is not None and not as_json:
        tell(f"{out} is written.")
    if limit is not None and result.at_least(limit):
        raise typer.Exit(FAILED)


def _claim_out(out: Path | None) -> None:
    if out is not None and out.suffix == ".json":
        claim(out, (".json",))
    else:
        claim_page(out)


def _write(out: Path | None, result: Audit, title: str | None) -> None:
    if out is None:
        return
    if out.suffix == ".json":
        result.save(out)
    else:
        ah.report.write_audit(out, result, title=title, command=command_line())


def _read(name: str, points: TableOptions, labels: str | None, must: bool) -> tuple[Any, Any]:
    """A file's rows without their labels, and the labels where it has them; or a source's."""
    from anharmonic._core.files import read_data

    if is_several(name):
        return _source(name, points, labels, must)
    path = Path(name)
    table = read_data(path, tell)
    dropped = split(points.drop) or []
    names = names_of(table)
    given = None
    if labels is not None:
        if labels in names:
            given = column_of(table, labels)
        elif must:
            raise SettingsError(f"{path} has no column {labels}: mend --labels")
    left = ",".join([*dropped, *([labels] if labels else [])])
    elsewhere = [*dropped, *([labels] if labels else [])]
    return chosen(table, points.columns, left or None, path, elsewhere), given


def _source(name: str, points: TableOptions, labels: str | None, must: bool) -> tuple[Any, Any]:
    """Files that rows are drawn from, and the name of their labels where they have them."""
    from anharmonic.sources import files

    rows = files(name, columns=split(points.columns), drop=split(points.drop) or ())
    if labels is None or labels in files(name).open().columns:
        return rows, labels
    if must:
        raise SettingsError(f"{name} has no column {labels}: mend --labels")
    return rows, None


def _show(result: Audit, as_json: bool) -> None:
    if as_json:
        print(result.to_json())
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]{printable(result.headline)}[/]")
    for finding in result.findings:
        colour = COLOURS[finding.severity]
        console.print(f"\n[{colour}]{finding.severity}[/] [bold]{printable(finding.name)}[/]")
        console.print(printable(finding.what))
        console.print(printable(finding.comparison))
        console.print(f"[dim]next:[/] {printable(finding.next_step)}")
        if finding.rows:
            console.print(printable(finding.listed))
    console.print()
    if result.clean:
        for check in result.checks:
            said = check.summary or f"not done: {check.skipped}"
            console.print(f"[dim]{printable(check.title)}:[/] {printable(said)}")
    console.print(printable(result.promise), style="dim")
    console.print(f"{result.queries:,} queries, {result.seconds:.0f} s", style="dim")
