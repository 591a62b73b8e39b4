"""`anharmonic monitor replay`: a model watched over a recorded stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import anharmonic as ah
from anharmonic.cli.groups import Json, ModelOptions, WatchOptions, grouped
from anharmonic.cli.output_files import claim_page
from anharmonic.cli.parsing import chosen, column_of, given_data, names_of, split
from anharmonic.cli.show import command_line, plain, printable, tell

if TYPE_CHECKING:
    from anharmonic.monitor import Replay
    from anharmonic.performance import Curve

__all__ = ["monitor", "replay_command"]

ALARMED = 100
"""The exit code of a replay with alarms, where asked for."""

monitor = typer.Typer(
    no_args_is_help=True, help="Watch a model's scores for drift, without labels."
)


@monitor.callback()
def watching() -> None:
    """Watch a model's scores for drift, without labels."""


@monitor.command("replay")
@grouped
def replay_command(
    model: ModelOptions,
    watched: WatchOptions,
    data: Annotated[
        Path | None, typer.Option(help="The recorded stream: .csv, .parquet or .npy.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the report here, as HTML.")] = None,
    watch: Annotated[
        list[str],
        typer.Option(
            help="inputs, prediction, confidence, margin, gamma, flip or 'gamma data'; as often "
            "as wanted, or with commas. auto: gamma, inputs, prediction and confidence."
        ),
    ] = ["auto"],  # noqa: B006 (typer copies it)
    time: Annotated[str | None, typer.Option(help="A column that says when.")] = None,
    block: Annotated[str, typer.Option(help='Scores to average before a bet, or "auto".')] = "auto",
    restart: Annotated[bool, typer.Option(help="Start anew after each alarm.")] = True,
    label_delay: Annotated[
        int | None,
        typer.Option(min=0, help="Give the stream's own labels so many rows late; else never."),
    ] = None,
    fail_on_alarm: Annotated[
        bool, typer.Option("--fail-on-alarm", help="End with code 100 where there are alarms.")
    ] = False,
    as_json: Json = False,
) -> None:
    """What a monitor would have raised on a recorded stream, when, and because of which points.

    Example: anharmonic monitor replay model.onnx --data traffic.parquet --reference june.parquet

    As 0.1.0 spelt it: anharmonic monitor replay traffic.parquet --model model.onnx …
    """
    from anharmonic._core import columns as named
    from anharmonic._core.files import read_data
    from anharmonic._core.progress import shown

    claim_page(out)
    if model.model is not None and model.source is not None and data is None:
        # The old spelling: the stream is the argument, the model an option.
        data, model = (
            Path(model.source),
            ModelOptions(source=model.model, output=model.output, trust=model.trust),
        )
    stream_file, quiet_file = (
        Path(given_data(None if data is None else str(data))),
        watched.reference,
    )
    dropped = ",".join([*(split(watched.dropped) or []), *([time] if time else [])]) or None
    stream, quiet = read_data(stream_file, tell), read_data(quiet_file, tell)
    # Either may lack the label, and the reference the time.
    either = [name for name in names_of(quiet) if name != time]
    monitor = ah.Monitor(
        model.load(),
        chosen(quiet, watched.columns, dropped, quiet_file, split(dropped) or []),
        watch=_watch(watch),
        block="auto" if block == "auto" else int(block),
        labels=None if watched.labels is None else column_of(quiet, watched.labels),
        **watched.arguments(),
    )
    tell(f"{monitor.scorer.verb} {named.shown(monitor.settings.columns)}")
    with shown(not as_json) as progress:
        replay = ah.monitor.replay(
            monitor,
            chosen(stream, watched.columns, dropped, stream_file, either),
            times=None if time is None else column_of(stream, time),
            labels=None
            if label_delay is None or watched.labels is None
            else column_of(stream, watched.labels),
            delay=label_delay or 0,
            restart=restart,
            progress=progress,
        )
    if out is not None:
        ah.report.write_replay(out, replay, command=command_line())
        tell(f"{out} is written.")
    if as_json:
        print(json.dumps(plain(replay.summary())))
    else:
        _show(replay)
    if fail_on_alarm and replay.alarms:
        raise typer.Exit(ALARMED)


def _watch(texts: list[str]) -> str | list[str]:
    """What is watched: "auto", or a list; given one by one or with commas, as `serve` takes it."""
    names = [name for text in texts for name in split(text) or []]
    return "auto" if names == ["auto"] else names


def _show_performance(console: Console, curve: Curve) -> None:
    """Each window's metrics, at most ten windows."""
    metrics = list(curve[0].metrics)
    table = Table(title=f"performance, window by window ({curve[0].level:.0%} intervals)")
    for name in ("rows", "labelled", *metrics, "known"):
        table.add_column(name, justify="right" if name in ("rows", "labelled") else "left")
    step = max(1, len(curve) // 10)
    for window in list(curve)[::step]:
        table.add_row(
            f"{window.first:,}–{window.last:,}",
            f"{window.labelled:,}",
            *(str(window[name]) for name in metrics),
            "yes" if window.known else printable(window.reason),
        )
    console.print(table)


def _show(replay: Replay) -> None:
    console = Console(highlight=False)
    blocks = ", ".join(f"{name} {block:,}" for name, block in replay.blocks.items())
    console.print(
        f"{replay.scored:,} of {len(replay):,} points scored, {replay.queries:,} queries; "
        f"scores averaged: {printable(blocks)}"
    )
    console.print(f"Promised: {replay.promise}." if replay.promised else f"Mind: {replay.promise}.")
    if replay.performance:
        _show_performance(console, replay.performance)
    if replay.labels_unused:
        count = replay.labels_used + replay.labels_unused
        console.print(
            f"{replay.labels_unused:,} of {count:,} labels were not used: their rows have no "
            "score, or went by more than --memory rows before."
        )
    if not replay.alarms:
        console.print("Nothing to raise.")
        return
    table = Table(title=f"{len(replay.alarms)} alarms")
    for name in ("alarm", "segment", "at row", "since about", "log evidence"):
        table.add_column(name, justify="left" if name in ("alarm", "segment") else "right")
    for alarm in replay.alarms[:20]:
        words = "; ".join((f"{alarm.watched} {alarm.change}", *alarm.carriers))
        table.add_row(
            printable(words),
            printable(alarm.segment or "all"),
            f"{alarm.at:,}",
            f"{alarm.since:,}",
            f"{alarm.log_evidence:.1f} ≥ {alarm.threshold:.1f}",
        )
    console.print(table)
    if replay.culprits:
        rows = ", ".join(str(row) for row in replay.culprits[0].rows.tolist())
        console.print(f"the first alarm's worst rows: {rows}")
        features = [share.name for share in replay.culprits[0].features[:3] if share.growth > 0]
        if features:
            console.print(printable(f"features that bend more: {', '.join(features)}"))
