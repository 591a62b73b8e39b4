"""`anharmonic clever`: how far an attack must go at least."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic._core.columns import told
from anharmonic._core.estimate import Estimate
from anharmonic.cli.groups import (
    Json,
    ModelOptions,
    Place,
    PointOptions,
    RunOptions,
    SourceOptions,
    grouped,
)
from anharmonic.cli.output_files import claim
from anharmonic.cli.over_sources import finish_source, sampled, source_arguments, source_of, streams
from anharmonic.cli.parsing import local_path, numbers, sphere_arguments
from anharmonic.cli.show import plain, printable, tell

if TYPE_CHECKING:
    from anharmonic._core.protocols import Floats, Model
    from anharmonic.scores import Scores

__all__ = ["clever_command"]

WORST = 5


@grouped
def clever_command(
    model: ModelOptions,
    points: PointOptions,
    run: RunOptions,
    source: SourceOptions,
    norm: Annotated[str, typer.Option(help="Of the attack: 1, 2 or inf.")] = "2",
    radius: Annotated[str, typer.Option(help='In scaled units, or "auto".')] = "auto",
    scale: Annotated[str, typer.Option(help='"auto" (standard deviations) or "raw".')] = "auto",
    bounds: Annotated[str | None, typer.Option(help="Keep samples within LOW,HIGH.")] = None,
    targets: Annotated[str, typer.Option(help="all, top2, or class numbers with commas.")] = "all",
    blocks: Annotated[int, typer.Option(min=10, help="Maxima to fit the law to.")] = 64,
    block_size: Annotated[int, typer.Option(min=1, help="Samples in each.")] = 32,
    gradients: Annotated[str, typer.Option(help="auto, torch or differences.")] = "auto",
    guide: Annotated[
        Path | None,
        typer.Option(
            help="Scores (of spade --out or gamma --out): the largest are measured first."
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="How many points; all if not told.")
    ] = None,
    out: Place = None,
    as_json: Json = False,
) -> None:
    """A lower bound on how far an attack must go (CLEVER), and the points nearest to one.

    Example: anharmonic clever networks:net --data images.npy --norm inf --radius 0.3
    """
    arguments = {
        **sphere_arguments(radius=radius, scale=scale, bounds=bounds),
        **run.arguments(),
        "norm": norm,
        "targets": _targets(targets),
        "blocks": blocks,
        "block_size": block_size,
        "gradients": gradients,
        "guide": None if guide is None else _guide(guide),
        "count": count,
        "progress": not as_json,
    }
    if streams(points, source):
        there = source_arguments(points, source, out)
        stored = ah.clever(model.load_by_name(), source_of(points, source), **arguments, **there)
        finish_source(stored, out, as_json)
        return
    target = local_path(out, "--out")
    claim(target)
    loaded = model.load()
    rows = sampled(points.whole_region(), source, run.seed)
    if not as_json:
        tell(_estimate(loaded, rows, points.moves, count, blocks * block_size, gradients))
    reference = points.reference_table()
    scores = ah.clever(loaded, rows, moving=points.moves, reference=reference, **arguments)
    if target is not None:
        scores.save(target)
    if as_json:
        print(json.dumps(plain(scores.summary())))
    else:
        _show(scores)


def _estimate(
    model: Model,
    data: object,
    moving: list[str] | None,
    count: int | None,
    samples: int,
    gradients: str,
) -> str:
    """What it will cost at least, in words, before the first query."""
    from anharmonic.models.gradients import pullback_of
    from anharmonic.regions import as_region

    region = as_region(data, moving)
    measured = min(len(region), count or len(region))
    cost = f"{measured:,} points, {samples:,} samples each"
    by_torch = gradients != "differences" and not region.is_table and pullback_of(model) is not None
    if by_torch:
        queries = measured * (1 + samples)
        return f"{cost}: {queries:,} queries with gradients, and some to climb from them"
    # Central differences: two queries per feature and sample.
    queries = measured * (1 + samples * 2 * region.dimension)
    return (
        f"{cost}, without gradients twice per feature: {queries:,} queries, and some to climb; "
        "--count and --guide measure fewer points, --blocks and --block-size take fewer samples"
    )


def _targets(text: str) -> Literal["all", "top2"] | list[int]:
    if text in ("all", "top2"):
        return cast(Literal["all", "top2"], text)
    return [int(label) for label in numbers(text, "--targets") or []]


def _guide(file: Path) -> Floats:
    """The values that a file of scores holds."""
    from anharmonic._core import tables

    what = "SPADE scores" if tables.held_by(file) == "SPADE scores" else "scores"
    table, _ = tables.load(file, what, "spade --out or gamma --out")
    values: Floats = tables.column(table, "value")
    return values


def _masked(scores: Scores) -> str:
    """How many points have no bound, and why."""
    from anharmonic.measures.clever import result

    jumping = int(result.jumping(scores).sum())
    flat = int(result.masked(scores).sum()) - jumping
    text = f"{flat:,} without gradient"
    return f"{text}, {jumping:,} where outputs jump and have no slope" if jumping else text


def _show(scores: Scores) -> None:
    from anharmonic.measures.clever import result

    settings, console = scores.settings.as_kind(result.CleverSettings), Console()
    table = Table(title=f"CLEVER of {printable(settings.model)}", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    measured, capped = int((scores.turns > 0).sum()), int(result.capped(scores).sum())
    cells = {
        "mean bound": str(Estimate(scores.mean, scores.error)),
        "norm": str(settings.norm),
        "radius": f"{settings.radius:.4g}, no bound is larger ({capped:,} are it)",
        **told(settings),
        "points": f"{measured:,} of {len(scores):,}",
        "masked": _masked(scores),
        "samples per point": f"{settings.blocks} blocks of {settings.block_size}",
        "fits": ", ".join(
            f"{count:,} {fit}" for fit, count in result.fits(scores).items() if count
        ),
        "queries": f"{scores.queries:,}, {settings.gradients:,} gradients ({settings.slopes})",
    }
    for name, cell in cells.items():
        table.add_row(name, printable(cell))
    console.print(table)
    low, high = scores.intervals()
    worst = Table(title="nearest to an attack")
    for name in ("row", "bound", "95% interval", "target"):
        worst.add_column(name, justify="right")
    for row in scores.worst(WORST).tolist():
        # The bound is the smallest over the targets: which of them it was.
        at = int(abs(scores.signed[row] - scores.values[row]).argmin())
        worst.add_row(
            str(row),
            str(Estimate(scores.values[row], scores.errors[row])),
            f"{low[row]:.4g} … {high[row]:.4g}",
            str(scores.columns["target"][row, at]),
        )
    console.print(worst)
