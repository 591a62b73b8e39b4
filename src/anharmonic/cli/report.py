"""`anharmonic report`: one HTML file to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import anharmonic as ah
from anharmonic.cli.groups import (
    BallOptions,
    ModelsOptions,
    PointOptions,
    Reduction,
    RunOptions,
    Where,
    grouped,
)
from anharmonic.cli.labels import Labels, labels_of, without_labels
from anharmonic.cli.output_files import claim_page, folder_of
from anharmonic.cli.over_data import measures_rows
from anharmonic.cli.parsing import number, sphere_arguments
from anharmonic.cli.several import explain_worst
from anharmonic.cli.show import command_line, tell
from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from anharmonic._core.protocols import Model
    from anharmonic.measures.search.result import Search
    from anharmonic.regions import Region
    from anharmonic.scores import Scores

__all__ = ["report_command"]


@grouped
def report_command(
    context: typer.Context,
    models: ModelsOptions,
    points: PointOptions,
    run: RunOptions,
    ball: BallOptions = BallOptions(ball="auto pairs"),
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="What stands on top.")] = None,
    sweeping: Annotated[
        bool, typer.Option("--sweep", help="Measure at several radii as well.")
    ] = False,
    searching: Annotated[
        bool,
        typer.Option("--search", help="Search for flips as well: 500 queries per row at most."),
    ] = False,
    labels: Labels = None,
    reduction: Reduction = None,
    region: Annotated[
        Where,
        typer.Option(help="auto: at the reference points too, the larger counts. Or: points."),
    ] = Where.auto,
    resume: Annotated[
        Path | None, typer.Option(help="The folder of an unfinished run to go on from.")
    ] = None,
) -> None:
    """Write one HTML file that needs nothing else: headline, tables, pictures, worst points.

    Example: anharmonic report forest=a.onnx linear=b.onnx --data points.parquet --out report.html

    Scores that were saved make a report without models: anharmonic report a.parquet b.parquet.
    With --labels, a column of the data, the page has accuracy against gamma and the frontier.
    What is finished is kept on the way, and --resume goes on from it.
    With --ball data other rows take the place of a sphere; see anharmonic compare.
    """
    over_rows = measures_rows(context, ball.ball)
    claim_page(out)
    saved = [source.endswith(".parquet") for source in models.models]
    if any(saved):
        if not all(saved) or sweeping or searching or labels is not None:
            raise SettingsError(
                "saved scores make a report by themselves: no models, no --sweep, no --search and "
                "no --labels"
            )
        scores = _saved(models.models)
        moved = all(its.settings.moves for its in scores.values())
        where = None if points.data is None else points.region() if moved else points.rows()
        ah.report.write(out, scores, points=where, title=title, command=command_line())
        tell(f"{out} is written.")
        return
    # Data that were not named are missed before a model is loaded.
    given, points = labels_of(points, labels), without_labels(points, labels)
    where = points.rows() if over_rows else points.region()
    loaded = models.load()
    shared = {
        **({"ball": ball.ball, "moving": points.moves} if over_rows else ball.arguments()),
        **run.arguments(),
        "reduction": number(reduction),
        "reference": points.reference_table(),
        "progress": True,
    }
    # First, as models of numbers have no decisions to flip, and say so at once.
    searches = _search_all(loaded, where, points, ball, run) if searching else None
    # One query per row is no run to keep on the way.
    with folder_of(None if over_rows else out, None, resume) as folder:
        inner = folder.within("sweep")
        compared = ah.compare(
            loaded,
            where,
            labels=given,
            region=region.value,
            checkpoint=folder.path,
            resume=folder.resume,
            **shared,
        )
        radius_free = {name: value for name, value in shared.items() if name != "radius"}
        swept = (
            ah.sweep(loaded, where, checkpoint=inner.path, resume=inner.resume, **radius_free)
            if sweeping
            else None
        )
        ah.report.write(
            out,
            compared,
            points=where,
            sweep=swept,
            search=searches,
            contributions=explain_worst(loaded, where, compared, shared["reference"]),
            title=title,
            command=command_line(),
        )
    searched = sum(int(search.queries.sum()) for search in (searches or {}).values())
    tell(f"{out} is written, {compared.queries + searched:,} queries.")


def _search_all(
    models: dict[str, Model],
    where: Region,
    points: PointOptions,
    ball: BallOptions,
    run: RunOptions,
) -> dict[str, Search]:
    """A search for flips of every model, with steps of the usual length."""
    return {
        name: ah.adversarial_search(
            model,
            where,
            **sphere_arguments(scale=ball.scale, bounds=ball.bounds),
            **run.arguments(),
            reference=points.reference_table(),
            progress=True,
        )
        for name, model in models.items()
    }


def _saved(sources: list[str]) -> dict[str, Scores]:
    """Saved scores by name; a file without one goes by its own."""
    by_name: dict[str, Scores] = {}
    for text in sources:
        name, separator, path = text.partition("=")
        file = Path(path if separator else text)
        if not file.is_file():
            raise SettingsError(f"there is no file {file}: give scores saved with --out")
        key = name if separator else file.stem
        if key in by_name:
            raise SettingsError(f"two scores are called {key}: name them, as in a={file}")
        by_name[key] = ah.Scores.load(file)
    return by_name
