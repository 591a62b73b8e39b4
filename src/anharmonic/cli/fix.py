"""`anharmonic fix`: what would make a model better, measured before it is proposed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from anharmonic.cli.groups import MODEL, Json, Seed
from anharmonic.cli.importing import folder_last
from anharmonic.cli.output_files import claim
from anharmonic.cli.parsing import chosen, column_of, given, names_of, split
from anharmonic.cli.show import plain, printable, tell

if TYPE_CHECKING:
    from anharmonic._core.protocols import Array
    from anharmonic.fixes import Fixes

__all__ = ["fix_command"]


def fix_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL)],
    reference: Annotated[Path, typer.Option(help="Training rows with their labels.")],
    labels: Annotated[str, typer.Option(help="The column with the labels, never a feature.")],
    pool: Annotated[
        Path | None, typer.Option(help="Rows without labels, to choose what to label from.")
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(help="Labelled rows the model has not seen; without, parts are held out."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="label, look, region, capacity or smooth; again for more, all without."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many rows to label.")] = 100,
    metric: Annotated[
        str | None, typer.Option(help="accuracy, brier, log_loss; r2 for numbers.")
    ] = None,
    error_rate: Annotated[
        float, typer.Option(help="The chance that any proposal says it helps and does not.")
    ] = 0.05,
    tolerance: Annotated[
        float, typer.Option(help="How much score may be given up for steadiness.")
    ] = 0.01,
    folds: Annotated[int, typer.Option(min=2, help="Parts that are held out in turn.")] = 8,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, with commas.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for fixes.json, label.csv and look.csv: rows, and why."),
    ] = None,
    seed: Seed = 0,
    trust: Annotated[bool, typer.Option(help="Allow files that run code when read.")] = False,
    as_json: Json = False,
) -> None:
    """What would make a model better: proposals that were measured on held-out rows first.

    Example: anharmonic fix model.skops --reference train.csv --labels income --pool new.csv

    A scikit-learn model is fitted anew to parts of the reference. Any other is only asked, and
    needs --held-out; then what takes refits is left out.
    """
    import anharmonic as ah
    from anharmonic.fixes.refitting import estimator_in

    if out is not None:
        claim(out / "fixes.json", (".json",))
    with folder_last():
        source = estimator_in(model, trust)[0]
    rows, answers = _labelled(reference, labels, drop)
    apart = None if held_out is None else _labelled(held_out, labels, drop)
    choices = None if pool is None else _features(pool, labels, drop)
    fixes = ah.fix(
        source,
        rows,
        answers,
        pool=choices,
        held_out=apart,
        count=count,
        metric=metric,
        error_rate=error_rate,
        tolerance=tolerance,
        folds=folds,
        seed=seed,
        trust=trust,
        progress=None if as_json else tell,
        **given(kinds=kind or None),
    )
    if out is not None:
        fixes.save(out, pool=choices, reference=rows)
    if as_json:
        print(json.dumps(plain(fixes.summary())))
    else:
        _print(fixes, out)


def _labelled(path: Path, labels: str, drop: str | None) -> tuple[Array, Array]:
    """The features in a file, and its labels."""
    from anharmonic._core.files import read_data

    answers = column_of(read_data(path), labels)
    return _features(path, labels, drop), answers


def _features(path: Path, labels: str, drop: str | None) -> Array:
    """What is in a file but for the labels, which a pool need not have."""
    from anharmonic._core.files import read_data

    table = read_data(path, tell)
    without = [*(split(drop) or []), labels]
    return chosen(table, None, ",".join(without), path, [labels] if names_of(table) else [])


def _print(fixes: Fixes, out: Path | None) -> None:
    console = Console()
    for head, sentence in fixes.lines():
        console.print(f"[bold]{head}:[/bold] {printable(sentence)}", highlight=False)
    about = (
        f"{len(fixes)} of {len(fixes.tried)} proposals help; the chance that any of these does "
        f"not is at most {fixes.error_rate:.0%}. {fixes.queries:,} queries, {fixes.refits:,} "
        f"refits.{'' if out is None else f' Written to {out}'}"
    )
    console.print(printable(about), highlight=False, soft_wrap=True, style="dim")
