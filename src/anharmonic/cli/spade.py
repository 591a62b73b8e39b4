"""`anharmonic spade`: how far a model pulls apart what is close."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic.cli.groups import Json, ModelOptions, Out, Seed, TableOptions, grouped
from anharmonic.cli.output_files import claim, claim_page
from anharmonic.cli.parsing import points_data, scale_value
from anharmonic.cli.show import command_line, plain, printable, tell
from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from anharmonic._core.protocols import Array, Model
    from anharmonic.measures.spectral import SpadeScores

__all__ = ["spade_command"]

WORST = 5


@grouped
def spade_command(
    model: ModelOptions,
    points: TableOptions,
    inputs: Annotated[Path | None, typer.Option(help="Recorded inputs, one row per point.")] = None,
    outputs: Annotated[Path | None, typer.Option(help="Their outputs, such as logits.")] = None,
    output_columns: Annotated[
        str | None, typer.Option(help="Columns of --outputs to read, with commas.")
    ] = None,
    neighbours: Annotated[int, typer.Option(min=1, help="Of every point in both graphs.")] = 10,
    rank: Annotated[int, typer.Option(min=1, help="Eigenvectors behind node scores.")] = 10,
    components: Annotated[
        str, typer.Option(help="An output graph in parts: join, largest, each or refuse.")
    ] = "join",
    search: Annotated[
        str, typer.Option(help="auto, fast, exact, tree, filtered, clusters, hnsw or torch.")
    ] = "auto",
    scale: Annotated[str, typer.Option(help='"auto" (standard deviations) or "raw".')] = "raw",
    blocks: Annotated[int, typer.Option(min=0, help="For the interval; 0: none.")] = 8,
    seed: Seed = 0,
    out: Out = None,
    html: Annotated[Path | None, typer.Option(help="Write a page here.")] = None,
    shape: Annotated[
        str | None, typer.Option(help="Of images, for the page: 28x28, 3x32x32.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How far a model pulls apart what is close: the SPADE score, and the most fragile points.

    Example: anharmonic spade --inputs x.npy --outputs logits.npy --html spade.html

    Or with a model: anharmonic spade model.onnx --data points.parquet
    """
    sizes = _sizes(shape)
    claim(out)
    claim_page(html)
    if output_columns is None and inputs is not None and inputs == outputs:
        raise SettingsError(
            "--inputs and --outputs are the same file, which would score 1 whatever it holds: "
            "choose its columns with --columns and --output-columns"
        )
    sources = _sources(model, points, inputs, outputs, output_columns)
    with _stages(quiet=as_json) as progress:
        scores = ah.spade(
            *sources,
            neighbours=neighbours,
            rank=rank,
            components=components,  # type: ignore[arg-type]
            search=search,
            scale=scale_value(scale),
            blocks=blocks,
            seed=seed,
            progress=progress,
        )
    if out is not None:
        scores.save(out)
    if html is not None:
        recorded = inputs is not None
        ah.report.write_spade(
            html,
            scores,
            points=sources[0 if recorded else 1],
            outputs=sources[1] if recorded else None,
            shape=sizes,
            command=command_line(),
        )
        tell(f"{html} is written.")
    _show(scores, as_json)


def _sizes(shape: str | None) -> tuple[int, ...] | None:
    """The numbers in 28x28."""
    if shape is None:
        return None
    sizes = shape.lower().split("x")
    if not all(size.isdigit() for size in sizes):
        raise SettingsError(f"--shape {shape}: give sizes such as 28x28 or 3x32x32")
    return tuple(int(size) for size in sizes)


def _sources(
    model: ModelOptions,
    points: TableOptions,
    inputs: Path | None,
    outputs: Path | None,
    output_columns: str | None,
) -> tuple[Array | Model, Array]:
    """Inputs and outputs, or a model and points."""
    by_model = model.name is not None or points.data is not None
    if inputs is not None and outputs is not None and not by_model:
        recorded = points_data(outputs, output_columns, None)
        return points_data(inputs, points.columns, points.drop), recorded
    if model.name is not None and points.data is not None and inputs is None and outputs is None:
        return model.load(), points.table()
    raise SettingsError("give --inputs and --outputs, or MODEL and --data")


@contextmanager
def _stages(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is being done."""
    with Console(stderr=True, quiet=quiet).status("reading") as status:
        yield status.update


def _show(scores: SpadeScores, as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain(scores.summary())))
        return
    console = Console()
    table = Table(title=f"SPADE of {printable(scores.settings.model)}", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for name, fact in scores.facts().items():
        table.add_row(name, printable(fact))
    for name, seconds in scores.settings.seconds.items():
        table.add_row(f"  {name}", f"{seconds:.2f}")
    console.print(table)
    fragile = Table(title="most fragile points")
    for name in ("row", "node score"):
        fragile.add_column(name, justify="right")
    for row in ah.spectral.guide(scores, WORST).tolist():
        fragile.add_row(str(row), f"{scores.values[row]:.4g}")
    console.print(fragile)
