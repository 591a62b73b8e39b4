"""`anharmonic demo`: the main job on data that need no download."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from anharmonic._core.estimate import Estimate
from anharmonic.cli.groups import Json, Seed
from anharmonic.cli.output_files import claim_page
from anharmonic.cli.serve import service_package
from anharmonic.cli.show import command_line, tell

if TYPE_CHECKING:
    from anharmonic.demos.wine import Wine

__all__ = ["demo"]


def demo(
    seed: Seed = 0,
    as_json: Json = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="A live page on a stream that drifts.")
    ] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where the page is.")] = 8000,
    out: Annotated[Path | None, typer.Option(help="Write a page to look at here.")] = None,
) -> None:
    """Train the paper's four Wine models and tell the overfit ones apart without labels.

    Example: anharmonic demo, or anharmonic demo --serve for a live page.
    """
    if serve:
        _serve(seed, port)
        return
    claim_page(out)
    from anharmonic.demos.wine import wine, wine_page

    waiting = Console(stderr=True)
    rows: list[Wine] = []
    with waiting.status("training and measuring …") as status:
        for row in wine(seed):
            rows.append(row)
            status.update(f"{row.name} is measured; training and measuring …")
    page = None if out is None else wine_page(out, rows, command_line()).resolve()
    if as_json:
        print(json.dumps([_plain(row) for row in rows]))
        return
    console = Console()
    console.print(_table(rows))
    for fit, overfit in (("GBDT-1", "GBDT-2"), ("MLP-1", "MLP-2")):
        console.print(_verdict(rows, fit, overfit))
    console.print(
        "“paper” is what the paper measured; accuracies depend on the split, and are not tuned.",
        style="dim",
    )
    if page is not None:
        console.print(f"The page is {page.as_uri()}", soft_wrap=True, highlight=False)


def _serve(seed: int, port: int) -> None:
    """Watch a wine sorter whose bottles drift after twelve seconds."""
    service = service_package()
    from anharmonic.cli.address import require_free

    require_free(port)
    from anharmonic.demos.stream import demo_service

    with tempfile.TemporaryDirectory(prefix="anharmonic-") as folder:
        settings = service.Settings(port=port)
        watched = demo_service(str(Path(folder) / "demo.db"), settings, seed)
        tell(f"Open http://127.0.0.1:{port}/ and wait for an alarm. Ctrl-C stops it.")
        service.run(watched)


def _table(rows: list[Wine]) -> Table:
    from anharmonic.demos.wine import RADIUS

    table = Table(title=f"Wine, two features, r = {RADIUS}: gamma of the class label")
    for name in ("model", "gamma", "paper", "train", "test", "queries"):
        table.add_column(name, justify="left" if name == "model" else "right")
    for row in rows:
        table.add_row(
            row.name,
            str(Estimate(row.scores.mean, row.scores.error)),
            str(row.paper),
            f"{row.train:.0%}",
            f"{row.test:.0%}",
            f"{row.scores.queries:,}",
        )
    return table


def _verdict(rows: list[Wine], fit: str, overfit: str) -> str:
    by_name = {row.name: row.scores for row in rows}
    ratio = by_name[overfit].mean / by_name[fit].mean
    return f"{overfit} has {ratio:.1f} times the gamma of {fit}: it bends more between its points."


def _plain(row: Wine) -> dict[str, object]:
    return {
        "model": row.name,
        "gamma": row.scores.mean,
        "error": row.scores.error,
        "paper": row.paper.value,
        "paper_error": row.paper.error,
        "train": row.train,
        "test": row.test,
        "queries": row.scores.queries,
    }
