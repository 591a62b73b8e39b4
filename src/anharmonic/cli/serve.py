"""`anharmonic serve` and `anharmonic export`: a monitor as a service, and what it has kept."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from anharmonic.cli.address import require_free
from anharmonic.cli.monitor import Promise, Reference
from anharmonic.cli.options import (
    Columns,
    Drop,
    Moving,
    OutputOption,
    Radius,
    Seed,
    Trust,
    load,
    points_data,
    radius_value,
    split,
)
from anharmonic.cli.outputs import claim
from anharmonic.cli.show import tell
from anharmonic.columns import shown
from anharmonic.errors import MissingExtra
from anharmonic.models.address import parse_address
from anharmonic.monitor import Monitor

__all__ = ["export_command", "serve_command", "service_room"]

INGEST, READ, SECRET = (
    *("ANHARMONIC_INGEST_TOKEN", "ANHARMONIC_READ_TOKEN"),
    "ANHARMONIC_WEBHOOK_SECRET",
)
DAY = 86_400.0
StoreOption = Annotated[
    str, typer.Option(help="A SQLite file, or postgresql://USER@HOST/DATABASE.")
]


def serve_command(
    model: Annotated[str, typer.Option(help="As for gamma: a file, module:function, a URL …")],
    reference: Reference,
    store: StoreOption = "monitor.db",
    host: Annotated[str, typer.Option(help="Elsewhere than here needs tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    name: Annotated[str | None, typer.Option(help="The model's name in metrics.")] = None,
    version: Annotated[str, typer.Option(help="The model's version; a new one starts anew.")] = "1",
    watch: Annotated[str, typer.Option(help="gamma, flip, confidence, margin; commas.")] = "gamma",
    false_alarms: Annotated[str, typer.Option(help="How many are allowed.")] = "1 per 100000",
    segment: Annotated[str | None, typer.Option(help="A column whose values are watched.")] = None,
    score: Annotated[str, typer.Option(help='A share, or "5000 queries per second".')] = "1.0",
    promise: Promise = True,
    radius: Radius = "auto",
    directions: Annotated[int, typer.Option(min=2, help="Neighbours a point, at most.")] = 16,
    output: OutputOption = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    upstream: Annotated[str | None, typer.Option(help="Stand before this v2 server.")] = None,
    upstream_model: Annotated[
        str | None, typer.Option(help="The watched model's name there, if it is not --name.")
    ] = None,
    webhook: Annotated[str | None, typer.Option(help="Where alarms are posted.")] = None,
    keep_days: Annotated[float | None, typer.Option(help="Forget older events.")] = None,
    keep_megabytes: Annotated[float | None, typer.Option(help="Forget the oldest.")] = None,
    fresh: Annotated[bool, typer.Option(help="Forget this version's evidence so far.")] = False,
    seed: Seed = 0,
    trust: Trust = False,
) -> None:
    """Watch a model as a service: points over HTTP, alarms, metrics and a live page.

    ANHARMONIC_INGEST_TOKEN and ANHARMONIC_READ_TOKEN guard it, ANHARMONIC_WEBHOOK_SECRET signs.
    """
    service = service_room()
    settings = service.Settings(
        host=host,
        port=port,
        ingest_token=os.environ.get(INGEST) or None,
        read_token=os.environ.get(READ) or None,
        upstream=upstream,
        upstream_model=upstream_model or _model_there(model),
        webhook=webhook,
        webhook_secret=os.environ.get(SECRET) or None,
        retention=service.Retention(keep_days and keep_days * DAY, keep_megabytes),
    )
    require_free(port, host)
    asked = load(model, output, trust)
    points = points_data(reference, columns, drop)
    with closing(service.Store(store)) as kept:
        tell(f"measuring {len(points):,} reference points …")
        monitor = Monitor(
            asked,
            points,
            moving=split(moving),
            radius=radius_value(radius),
            false_alarms=false_alarms,
            segment=segment,
            watch=split(watch) or "gamma",
            score=_number_or_text(score),
            directions=directions,
            promise=promise,
            seed=seed,
        )
        watched = service.Watch(monitor, points, kept, name or asked.name, version, fresh)
        tell(f"moving {shown(monitor.sight.columns)}")
        tell(f"watching {watched.name}: the page is http://{host}:{port}/ (Ctrl-C stops it)")
        tell(f"points go to POST http://{host}:{port}/v1/observe")
        service.run(service.Service(watched, settings))


def export_command(
    store: Annotated[str, typer.Argument(help="A SQLite file, or a postgresql:// URL.")],
    out: Annotated[Path, typer.Argument(help="The events, as Parquet.")],
    columns: Annotated[str | None, typer.Option(help="The features' names, with commas.")] = None,
    monitor: Annotated[
        str | None, typer.Option(help="MODEL@VERSION, where several share the store.")
    ] = None,
) -> None:
    """Write what a service has kept to a Parquet file."""
    service = service_room()
    claim(out)
    with closing(service.Store(store)) as kept:
        many = service.export(kept, out, split(columns) or (), monitor)
    tell(f"{many:,} events are in {out}")


def _model_there(model: str) -> str | None:
    """What is watched at a v2 server's own address: NAME, or NAME/versions/V."""
    if not model.startswith(("http://", "https://")):
        return None
    address = parse_address(model)
    _, _, version = address.shown.rpartition("/versions/")
    return f"{address.model}/versions/{version}" if "/versions/" in address.shown else address.model


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def service_room() -> Any:
    """The service, or a word on how to install it."""
    try:
        from anharmonic import service
    except ImportError as problem:
        raise MissingExtra(str(problem.name), "service") from problem
    return service
