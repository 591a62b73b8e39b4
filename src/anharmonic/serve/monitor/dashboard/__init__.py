"""The pages: rendered here, updated by server-sent events, without external resources."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import FastAPI, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from anharmonic.report.rendering import BASE_STYLE, environment
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.diagnostics import Diagnostics
from anharmonic.serve.monitor.handing_on import read_alarm, read_point
from anharmonic.serve.monitor.history import AXES
from anharmonic.serve.monitor.models import list_models
from anharmonic.serve.monitor.performance import performance_words
from anharmonic.serve.monitor.reading import AlarmId, ModelName, Name, found_alarm
from anharmonic.serve.monitor.short import short
from anharmonic.serve.monitor.snapshots import Snapshots

if TYPE_CHECKING:
    import jinja2

__all__ = ["Pages", "add_dashboard"]

HERE = Path(__file__).parent
ICON = HERE / "icon.svg"
SCRIPTS = ("page", "charts", "elements", "channels", "columns", "performance", "actions", "alarm")
ASSETS = {
    BASE_STYLE: "text/css",
    HERE / "page.css": "text/css",
    **{HERE / f"{name}.js": "text/javascript" for name in SCRIPTS},
    ICON: "image/svg+xml",
}
AXIS_WORDS = {"number": "number", "time": "event time", "received": "arrival"}


class Pages:
    """Pages as HTML: the dashboard, an alarm's, a point's, and the list of models.

    Parameters
    ----------
    snapshots
        What they show.
    diagnostics
        Columns and performance, where the monitor has them.
    guarded
        Whether there are tokens: then a reader must give the other one to change anything.
    """

    def __init__(self, snapshots: Snapshots, diagnostics: Diagnostics, guarded: bool) -> None:
        self.snapshots, self.diagnostics, self.guarded = snapshots, diagnostics, guarded

    async def dashboard(self, axis: str, model: str | None) -> str:
        """The page of one model along one axis; an axis that there is none of is the first."""
        chosen = next((known for known in AXES if known == axis), AXES[0])
        snapshot = await self.snapshots.snapshot(chosen, model)
        live = snapshot["status"]["live"]
        has_columns = live and self.diagnostics.has_columns
        has_performance = live and self.diagnostics.has_performance
        now, _ = await self.diagnostics.performance() if has_performance else (None, [])
        return _render(
            "page.html",
            **snapshot,
            guarded=self.guarded,
            axes=AXIS_WORDS,
            columns=await self.diagnostics.columns() if has_columns else None,
            has_performance=has_performance,
            performance=now,
            performance_words=performance_words(now) if now else [],
        )

    async def alarm(self, id: str, model: str | None) -> str:
        """One alarm's page."""
        view = await asyncio.to_thread(self.snapshots.view, model)
        page = found_alarm(await asyncio.to_thread(read_alarm, view, id), id)
        linked = None if view.live else view.name
        return _render("alarm.html", **page, linked=linked, guarded=self.guarded)

    async def point(self, id: str, model: str | None) -> str:
        """One point's page."""
        view = await asyncio.to_thread(self.snapshots.view, model)
        page = await asyncio.to_thread(read_point, view, id)
        if page is None:
            raise BadRequest(f"no event {id[:80]!r} is kept", status=404, kind="absent")
        return _render("point.html", **page, linked=None if view.live else view.name)

    async def models(self) -> str:
        """The list of models in the store."""
        live = self.snapshots.live
        rows = await asyncio.to_thread(list_models, self.snapshots.store, live.name)
        return _render("models.html", models=rows, now=time.time())


def add_dashboard(app: FastAPI, pages: Pages) -> None:
    """Add routes of the pages and of their assets; no other file is served."""

    @app.get("/", include_in_schema=False)
    async def dashboard(
        axis: Annotated[str, Query(max_length=20)] = "number", model: ModelName = None
    ) -> Response:
        return HTMLResponse(await pages.dashboard(axis, model))

    @app.get("/alarms/{id}", include_in_schema=False)
    async def alarm(id: AlarmId, model: ModelName = None) -> Response:
        return HTMLResponse(await pages.alarm(id, model))

    @app.get("/points/{id:path}", include_in_schema=False)
    async def point(id: Name, model: ModelName = None) -> Response:
        return HTMLResponse(await pages.point(id, model))

    @app.get("/models", include_in_schema=False)
    async def models() -> Response:
        return HTMLResponse(await pages.models())

    for file, kind in ASSETS.items():
        app.add_route(f"/assets/{file.name}", _asset(file, kind), ["GET"], include_in_schema=False)
    # Browsers ask for this one unbidden when they show an answer that is no page.
    app.add_route("/favicon.ico", _asset(ICON, ASSETS[ICON]), ["GET"], include_in_schema=False)


def _asset(file: Path, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = file.read_bytes()

    async def asset(_: Request) -> Response:
        return Response(content, media_type=kind)

    return asset


def _render(template: str, **values: object) -> str:
    return _templates().get_template(template).render(values)


@cache
def _templates() -> jinja2.Environment:
    templates = environment(HERE, extra="service")
    templates.filters |= {"short": short, "clock": clock, "ago": ago}
    templates.globals["to"] = to
    return templates


def to(path: str, model: str | None) -> str:
    """A link to a page, with the name of a model that another process feeds.

    >>> to("/", None), to("/", "fraud@2")
    ('/', '/?model=fraud%402')
    """
    return path if model is None else f"{path}?model={quote(model, safe='')}"


def clock(seconds: float | None) -> str:
    """A moment in UTC, to the second; – for none, or one that no calendar has.

    >>> clock(0.0), clock(None)
    ('1970-01-01 00:00:00 UTC', '–')
    """
    if seconds is None:
        return "–"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) + " UTC"
    except (ValueError, OverflowError, OSError):
        return "–"


def ago(seconds: float) -> str:
    """How long ago, roughly.

    >>> ago(5.0), ago(200.0), ago(90_000.0)
    ('5 s ago', '3 min ago', '25 h ago')
    """
    for size, unit in ((172_800.0, "days"), (7_200.0, "h"), (120.0, "min")):
        if seconds >= size:
            return f"{seconds / {'days': 86_400.0, 'h': 3_600.0, 'min': 60.0}[unit]:.0f} {unit} ago"
    return f"{max(0.0, seconds):.0f} s ago"
