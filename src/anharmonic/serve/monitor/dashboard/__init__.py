"""The page at `/`: rendered here, kept up to date by server-sent events, nothing from elsewhere."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from anharmonic.errors import MissingExtra
from anharmonic.serve.monitor.snapshots import Snapshots

__all__ = ["add_dashboard"]

HERE = Path(__file__).parent
ASSETS = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "charts.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def add_dashboard(app: FastAPI, live: Snapshots) -> None:
    """Add the page and the files it names; no other file can be asked for."""

    async def page(_: Request) -> Response:
        return HTMLResponse(_template().render(await live.snapshot()))

    app.add_route("/", page, ["GET"], include_in_schema=False)
    for name, kind in ASSETS.items():
        app.add_route(f"/assets/{name}", _asset(name, kind), ["GET"], include_in_schema=False)
    # Browsers ask for this one unbidden when they show an answer that is no page.
    icon = _asset("icon.svg", ASSETS["icon.svg"])
    app.add_route("/favicon.ico", icon, ["GET"], include_in_schema=False)


def _asset(name: str, kind: str) -> Any:
    content = (HERE / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtra("jinja2", "service") from error
    loader = FileSystemLoader(HERE)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"short": short, "clock": clock}
    return environment.get_template("page.html")


def short(value: Any) -> str:
    """A number in four digits, as the script writes it; – for none.

    >>> short(0.012345), short(12345678.0), short(None), short("red")
    ('0.01235', '12,345,678', '–', 'red')
    """
    if value is None:
        return "–"
    if isinstance(value, str | bool):
        return str(value)
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def clock(seconds: float) -> str:
    """A moment in UTC, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) + " UTC"
