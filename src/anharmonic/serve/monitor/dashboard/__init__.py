"""The page at `/`: rendered here, updated by server-sent events, without external resources."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from anharmonic.errors import MissingExtra
from anharmonic.serve.monitor.snapshots import Snapshots

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["add_dashboard"]

HERE = Path(__file__).parent
ASSETS = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "charts.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def add_dashboard(app: FastAPI, snapshots: Snapshots) -> None:
    """Add routes of the page and of its assets; no other file is served."""

    async def page(_: Request) -> Response:
        return HTMLResponse(_template().render(await snapshots.snapshot()))

    app.add_route("/", page, ["GET"], include_in_schema=False)
    for name, media_type in ASSETS.items():
        app.add_route(f"/assets/{name}", _asset(name, media_type), ["GET"], include_in_schema=False)
    # Browsers request this one by themselves when they show a response that is no page.
    icon = _asset("icon.svg", ASSETS["icon.svg"])
    app.add_route("/favicon.ico", icon, ["GET"], include_in_schema=False)


def _asset(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    content = (HERE / name).read_bytes()

    async def asset(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return asset


@cache
def _template() -> Template:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtra("jinja2", "service") from error
    loader = FileSystemLoader(HERE)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"short": short, "clock": clock}
    return environment.get_template("page.html")


def short(value: float | str | bool | None) -> str:
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
