"""`anharmonic report`: one HTML file, from models or from saved scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anharmonic import report
from anharmonic.cli.options import (
    Ball,
    Bounds,
    Columns,
    Data,
    Directions,
    Drop,
    Moving,
    OutputOption,
    Place,
    Radius,
    Reduction,
    Reference,
    ResumeFolder,
    Rotations,
    Scale,
    Seed,
    Trust,
    Where,
    number,
    pair,
    points_data,
    radius_value,
    scale_value,
    split,
)
from anharmonic.cli.outputs import claim_page, folder_of
from anharmonic.cli.several import asked, explained
from anharmonic.cli.show import command_line, tell
from anharmonic.comparison import GammaArguments, compare, sweep
from anharmonic.errors import SettingsError
from anharmonic.regions import points
from anharmonic.scores import Scores

__all__ = ["report_command"]


def report_command(
    sources: Annotated[
        list[str], typer.Argument(help="NAME=MODEL each, or scores saved as [NAME=]FILE.parquet.")
    ],
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="What stands on top.")] = None,
    sweeping: Annotated[
        bool, typer.Option("--sweep", help="Measure at several radii as well.")
    ] = False,
    data: Data = None,
    region: Place = Where.auto,
    radius: Radius = "auto",
    ball: Ball = "auto pairs",
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
    seed: Seed = 0,
    trust: Trust = False,
    resume: ResumeFolder = None,
) -> None:
    """Write one HTML file that needs nothing else: headline, tables, pictures, worst points.

    What is finished is kept on the way, and --resume goes on from it.
    """
    claim_page(out)
    saved = [each.endswith(".parquet") for each in sources]
    if any(saved):
        if not all(saved) or sweeping:
            raise SettingsError("saved scores make a report by themselves: no models, no --sweep")
        where = None if data is None else points(points_data(data, columns, drop), split(moving))
        report.write(out, _saved(sources), points=where, title=title, command=command_line())
        tell(f"{out} is written.")
        return
    given = asked(
        sources,
        data,
        reference,
        output=output,
        trust=trust,
        columns=columns,
        drop=drop,
        moving=moving,
    )
    units = scale_value(scale)
    arguments: GammaArguments = {
        "directions": directions,
        "rotations": rotations,
        "reduction": number(reduction),
        "bounds": pair(bounds),
    }
    with folder_of(out, None, resume) as folder:
        inner = folder.within("sweep")
        found = compare(
            given.models,
            given.region,
            region=region.value,
            radius=radius_value(radius),
            ball=ball,
            scale=units,
            reference=given.reference,
            seed=seed,
            checkpoint=folder.path,
            resume=folder.resume,
            progress=True,
            **arguments,
        )
        swept = (
            sweep(
                given.models,
                given.region,
                ball=ball,
                scale=units,
                reference=given.reference,
                seed=seed,
                checkpoint=inner.path,
                resume=inner.resume,
                progress=True,
                **arguments,
            )
            if sweeping
            else None
        )
        report.write(
            out,
            found,
            points=given.region,
            sweep=swept,
            contributions=explained(given, found),
            title=title,
            command=command_line(),
        )
    tell(f"{out} is written, {found.queries:,} queries.")


def _saved(sources: list[str]) -> dict[str, Scores]:
    """Saved scores by name; a file without one goes by its own."""
    found: dict[str, Scores] = {}
    for text in sources:
        name, separator, path = text.partition("=")
        file = Path(path if separator else text)
        if not file.is_file():
            raise SettingsError(f"there is no file {file}: give scores saved with --out")
        key = name if separator else file.stem
        if key in found:
            raise SettingsError(f"two scores are called {key}: name them, as in a={file}")
        found[key] = Scores.load(file)
    return found
