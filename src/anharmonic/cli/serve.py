"""`anharmonic serve` and `anharmonic export`: a monitor as a service, and what it has kept."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

import anharmonic as ah
from anharmonic._core.extras import needs
from anharmonic.cli.groups import ModelOptions, WatchOptions, grouped
from anharmonic.cli.output_files import claim
from anharmonic.cli.parsing import column_of, named_model, points_data, split
from anharmonic.cli.show import tell
from anharmonic.errors import MissingExtra

__all__ = ["export_command", "serve_command", "service_package"]

INGEST, READ, SECRET = (
    *("ANHARMONIC_INGEST_TOKEN", "ANHARMONIC_READ_TOKEN"),
    "ANHARMONIC_WEBHOOK_SECRET",
)
DAY = 86_400.0


@grouped
def serve_command(
    model: ModelOptions,
    watched: WatchOptions,
    store: Annotated[
        str, typer.Option(help="A SQLite file, or postgresql://USER@HOST/DATABASE.")
    ] = "monitor.db",
    host: Annotated[str, typer.Option(help="Elsewhere than here needs tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it listens.")] = 8000,
    name: Annotated[str | None, typer.Option(help="The model's name in metrics.")] = None,
    version: Annotated[str, typer.Option(help="The model's version; a new one starts anew.")] = "1",
    watch: Annotated[
        str,
        typer.Option(
            help="inputs, prediction, confidence, margin, gamma, flip, gamma data; commas. "
            "auto: gamma, inputs, prediction and confidence."
        ),
    ] = "auto",
    upstream: Annotated[str | None, typer.Option(help="Stand before this v2 server.")] = None,
    upstream_model: Annotated[
        str | None, typer.Option(help="The watched model's name there, if it is not --name.")
    ] = None,
    webhook: Annotated[str | None, typer.Option(help="Where alarms are posted.")] = None,
    keep_days: Annotated[float | None, typer.Option(help="Forget older events.")] = None,
    keep_megabytes: Annotated[float | None, typer.Option(help="Forget the oldest.")] = None,
    fresh: Annotated[bool, typer.Option(help="Forget this version's evidence so far.")] = False,
) -> None:
    """Watch a model as a service: points over HTTP, alarms, metrics and a live page.

    Example: anharmonic serve model.onnx --reference june.parquet --store monitor.db

    ANHARMONIC_INGEST_TOKEN and ANHARMONIC_READ_TOKEN guard it, ANHARMONIC_WEBHOOK_SECRET signs.
    """
    from anharmonic._core.columns import shown
    from anharmonic._core.files import read_data
    from anharmonic.cli.address import require_free

    service = service_package(store)
    settings = service.Settings(
        host=host,
        port=port,
        ingest_token=os.environ.get(INGEST) or None,
        read_token=os.environ.get(READ) or None,
        upstream=upstream,
        upstream_model=upstream_model or _model_there(named_model(model.name)),
        webhook=webhook,
        webhook_secret=os.environ.get(SECRET) or None,
        retention=service.Retention(keep_days and keep_days * DAY, keep_megabytes),
    )
    require_free(port, host)
    loaded = model.load()
    points = points_data(watched.reference, watched.columns, watched.dropped)
    labels = None
    if watched.labels is not None:
        labels = column_of(read_data(watched.reference), watched.labels)
    with closing(service.Store(store)) as storage:
        tell(f"measuring {len(points):,} reference points …")
        monitor = ah.Monitor(
            loaded, points, watch=_watch(watch), labels=labels, **watched.arguments()
        )
        served = service.StoredMonitor(
            monitor, points, storage, name or loaded.name, version, fresh
        )
        tell(f"{monitor.scorer.verb} {shown(monitor.settings.columns)}")
        tell(f"watching {served.name}: the page is http://{host}:{port}/ (Ctrl-C stops it)")
        tell(f"points go to POST http://{host}:{port}/v1/observe")
        service.run(service.Service(served, settings))


def _watch(text: str) -> str | list[str]:
    """What is watched: "auto", or a list."""
    names = split(text) or ["auto"]
    return "auto" if names == ["auto"] else names


def export_command(
    store: Annotated[str, typer.Argument(help="A SQLite file, or a postgresql:// URL.")],
    out: Annotated[Path, typer.Argument(help="The events, as Parquet.")],
    columns: Annotated[str | None, typer.Option(help="The features' names, with commas.")] = None,
    monitor: Annotated[
        str | None, typer.Option(help="MODEL@VERSION, where several share the store.")
    ] = None,
) -> None:
    """Write what a service has kept to a Parquet file.

    Example: anharmonic export monitor.db events.parquet
    """
    service = service_package(store)
    claim(out)
    with closing(service.Store(store)) as storage:
        count = service.export(storage, out, split(columns) or (), monitor)
    tell(f"{count:,} events are in {out}")


def _model_there(model: str) -> str | None:
    """What is watched at a v2 server's own address: NAME, or NAME/versions/V."""
    if not model.startswith(("http://", "https://")):
        return None
    from anharmonic.models.address import parse_address

    address = parse_address(model)
    _, _, version = address.shown.rpartition("/versions/")
    return f"{address.model}/versions/{version}" if "/versions/" in address.shown else address.model


def service_package(store: str = "") -> ModuleType:
    """The service, or a word on how to install it and what the store needs."""
    if store.startswith("postgresql"):
        needs("psycopg", "postgres")
    try:
        from anharmonic.serve import monitor as service
    except ImportError as problem:
        raise MissingExtra(str(problem.name), "service") from problem
    return service
