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

from anharmonic.report.rendering import BASE_STYLE, environment
from anharmonic.serve.monitor.snapshots import Snapshots

if TYPE_CHECKING:
    import jinja2

__all__ = ["add_dashboard"]

HERE = Path(__file__).parent
ICON = HERE / "icon.svg"
ASSETS = {
    BASE_STYLE: "text/css",
    HERE / "page.css": "text/css",
    HERE / "page.js": "text/javascript",
    HERE / "charts.js": "text/javascript",
    ICON: "image/svg+xml",
}


def add_dashboard(app: FastAPI, snapshots: Snapshots) -> None:
    """Add routes of the page and of its assets; no other file is served."""

    async def page(_: Request) -> Response:
        return HTMLResponse(_template().render(await snapshots.snapshot()))

    app.add_route("/", page, ["GET"], include_in_schema=False)
    for file, kind in ASSETS.items():
        app.add_route(f"/assets/{file.name}", _asset(file, kind), ["GET"], include_in_schema=False)
    # Browsers ask for this one unbidden when they show an answer that is no page.
    app.add_route("/favicon.ico", _asset(ICON, ASSETS[ICON]), ["GET"], include_in_schema=False)


def _asset(file: Path, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = file.read_bytes()

    async def asset(_: Request) -> Response:
        return Response(content, media_type=kind)

    return asset


@cache
def _template() -> jinja2.Template:
    templates = environment(HERE, extra="service")
    templates.filters |= {"short": short, "clock": clock}
    return templates.get_template("page.html")


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
