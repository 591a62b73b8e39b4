"""`anharmonic gamma recorded`: gamma over data of answers that are there already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import anharmonic as ah
from anharmonic.cli.groups import Json, Out, Reduction, Seed, TableOptions, grouped
from anharmonic.cli.output_files import claim
from anharmonic.cli.over_data import Weights
from anharmonic.cli.parsing import chosen, given_data, names_of, number, split
from anharmonic.cli.show import show_scores, tell
from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from anharmonic._core.protocols import Array

__all__ = ["recorded_command"]


@grouped
def recorded_command(
    rows: TableOptions,
    outputs: Annotated[
        str | None,
        typer.Option(
            help="Columns with the model's answers, with commas: of --answers, or else of --data. "
            "They are never features. All of --answers if not told."
        ),
    ] = None,
    answers: Annotated[
        Path | None, typer.Option(help="The answers in a file of their own, row by row.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="Other rows to compare with, such as the training data, with answers."),
    ] = None,
    reference_answers: Annotated[
        Path | None, typer.Option(help="The answers at --reference, in a file of their own.")
    ] = None,
    moving: Annotated[
        str | None,
        typer.Option(help="Columns that rows are compared by; if not told, all but index and ids."),
    ] = None,
    weights: Weights = "auto",
    kind: Annotated[
        str | None,
        typer.Option(help="probability, onehot, value or logit; if not told, by the numbers."),
    ] = None,
    reduction: Reduction = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Gamma over data of answers that were recorded: no model is asked.

    Example: anharmonic gamma recorded --data rows.csv --outputs p0,p1 --drop label

    With --reference, other rows are those of that file, and the columns of answers are there too
    or in --reference-answers.
    """
    _check(outputs, answers, reference, reference_answers)
    claim(out)
    inputs, found = _read(Path(given_data(rows.data)), rows, outputs, answers)
    known = None if reference is None else _read(reference, rows, outputs, reference_answers)
    columns = split(moving)
    missing = [name for name in columns or [] if name not in names_of(inputs)]
    if missing:
        raise SettingsError(
            f"--moving {missing[0]} is no column to compare rows by: give some of "
            f"{', '.join(names_of(inputs))}"
        )
    scores = ah.gamma_data(
        inputs,
        found,
        weights=weights,
        reference=known,
        columns=None if columns is None else [*columns],
        kind=kind,  # type: ignore[arg-type]
        reduction=number(reduction),
        seed=seed,
        progress=not as_json,
    )
    if out is not None:
        scores.save(out)
    show_scores(scores, as_json)


def _check(
    outputs: str | None,
    answers: Path | None,
    reference: Path | None,
    reference_answers: Path | None,
) -> None:
    """Refuse answers that are nowhere, or that nothing belongs to."""
    if outputs is None and answers is None:
        raise SettingsError("where are the answers? Give --outputs COLUMNS, or --answers FILE")
    if reference_answers is not None and reference is None:
        raise SettingsError("--reference-answers are the answers at --reference: give that too")
    if reference is not None and outputs is None and reference_answers is None:
        raise SettingsError("where are the answers at --reference? Give --reference-answers FILE")


def _read(
    path: Path, rows: TableOptions, outputs: str | None, answers: Path | None
) -> tuple[Array, Array]:
    """Features and answers of one set of rows; what is an answer is no feature."""
    from anharmonic._core.files import read_data

    table = read_data(path, tell)
    found = table if answers is None else read_data(answers, tell)
    if outputs is not None:
        found = chosen(found, outputs, None, answers or path)
    names = names_of(found)
    # One of several files may lack what is left out.
    dropped = [*(split(rows.drop) or []), *names]
    drop = ",".join(dropped) if names_of(table) else rows.drop
    return chosen(table, rows.columns, drop or None, path, elsewhere=dropped), found
