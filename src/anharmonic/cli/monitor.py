"""`anharmonic monitor`: a model watched over a recorded stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import narwhals.stable.v1 as nw
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from anharmonic import columns as named
from anharmonic.cli.options import (
    Columns,
    Drop,
    Json,
    Moving,
    OutputOption,
    Radius,
    Seed,
    Trust,
    chosen,
    load,
    names_of,
    number,
    radius_value,
    split,
)
from anharmonic.cli.outputs import claim_page
from anharmonic.cli.show import command_line, plain, printable, tell
from anharmonic.files import read_data
from anharmonic.monitor import Monitor, Replay, replay
from anharmonic.progress import shown
from anharmonic.report import write_replay

__all__ = ["Promise", "Reference", "monitor"]

Reference = Annotated[
    Path, typer.Option(help="Held-out rows from a quiet time, in order: not the training rows.")
]
Promise = Annotated[
    bool, typer.Option(help="Refuse a reference that can promise no rate of false alarms.")
]

monitor = typer.Typer(
    no_args_is_help=True, help="Watch a model's scores for drift, without labels."
)


@monitor.callback()
def watching() -> None:
    """Watch a model's scores for drift, without labels."""


@monitor.command("replay")
def replay_command(
    file: Annotated[Path, typer.Argument(help="The recorded stream: .csv, .parquet or .npy.")],
    model: Annotated[str, typer.Option(help="A file, module:function, models:/… or a URL.")],
    reference: Reference,
    out: Annotated[Path | None, typer.Option(help="Write the report here, as HTML.")] = None,
    watch: Annotated[
        list[str], typer.Option(help="gamma, flip, confidence or margin; as often as wanted.")
    ] = ["gamma"],  # noqa: B006 (typer copies it)
    false_alarms: Annotated[str, typer.Option(help="Allowed, such as '1 per 100000'.")] = (
        "1 per 100000"
    ),
    segment: Annotated[str | None, typer.Option(help="A column to watch apart by.")] = None,
    time: Annotated[str | None, typer.Option(help="A column that says when.")] = None,
    score: Annotated[str, typer.Option(help="A fraction, or '5000 queries per second'.")] = "1",
    block: Annotated[str, typer.Option(help='Scores to average before a bet, or "auto".')] = "auto",
    promise: Promise = True,
    restart: Annotated[bool, typer.Option(help="Start anew after each alarm.")] = True,
    radius: Radius = "auto",
    directions: Annotated[int, typer.Option(min=2, help="Neighbours asked for, at most.")] = 16,
    output: OutputOption = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    seed: Seed = 0,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """What a monitor would have raised on a recorded stream, when, and because of which points."""
    claim_page(out)
    dropped = ",".join([*(split(drop) or []), *([time] if time else [])]) or None
    stream, known = read_data(file, tell), read_data(reference, tell)
    # Either may lack the label, and the reference the time.
    either = [name for name in names_of(known) if name != time]
    watching = Monitor(
        load(model, output, trust),
        chosen(known, columns, dropped, reference, split(dropped) or []),
        moving=split(moving),
        watch=watch,
        radius=radius_value(radius),
        false_alarms=false_alarms,
        segment=number(segment),
        score=_score(score),
        block="auto" if block == "auto" else int(block),
        promise=promise,
        directions=directions,
        seed=seed,
    )
    tell(f"moving {named.shown(watching.sight.columns)}")
    with shown(not as_json) as progress:
        found = replay(
            watching,
            chosen(stream, columns, dropped, file, either),
            times=None if time is None else _column(stream, time),
            restart=restart,
            progress=progress,
        )
    if out is not None:
        write_replay(out, found, command=command_line())
        tell(f"{out} is written.")
    if as_json:
        print(json.dumps(plain(found.summary())))
    else:
        _show(found)


def _column(table: Any, name: str) -> Any:
    # That it is there was checked when it was dropped.
    return np.asarray(nw.from_native(table, eager_only=True)[name].to_numpy())


def _score(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _show(found: Replay) -> None:
    console = Console(highlight=False)
    blocks = ", ".join(f"{name} {block:,}" for name, block in found.blocks.items())
    console.print(
        f"{found.scored:,} of {len(found):,} points scored, {found.queries:,} queries; "
        f"scores averaged: {printable(blocks)}"
    )
    console.print(f"Promised: {found.promise}." if found.promised else f"Mind: {found.promise}.")
    if not found.alarms:
        console.print("Nothing to raise.")
        return
    table = Table(title=f"{len(found.alarms)} alarms")
    for name in ("alarm", "segment", "at row", "since about", "log evidence"):
        table.add_column(name, justify="left" if name in ("alarm", "segment") else "right")
    for alarm in found.alarms[:20]:
        table.add_row(
            printable(f"{alarm.watched} {alarm.direction}"),
            printable(alarm.segment or "all"),
            f"{alarm.at:,}",
            f"{alarm.since:,}",
            f"{alarm.log_evidence:.1f} ≥ {alarm.threshold:.1f}",
        )
    console.print(table)
    if found.culprits:
        rows = ", ".join(str(row) for row in found.culprits[0].rows.tolist())
        console.print(f"the first alarm's worst rows: {rows}")
        named = [share.name for share in found.culprits[0].features[:3] if share.growth > 0]
        if named:
            console.print(printable(f"features that bend more: {', '.join(named)}"))
