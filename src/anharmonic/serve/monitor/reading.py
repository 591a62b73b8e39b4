"""The routes that read: scores, points, alarms, columns, performance and models, as JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from starlette.responses import Response, StreamingResponse

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.http.responses import PROBLEMS, Json
from anharmonic.serve.monitor.diagnostics import Diagnostics
from anharmonic.serve.monitor.handing_on import AlarmPage, read_alarm
from anharmonic.serve.monitor.history import Axis
from anharmonic.serve.monitor.models import list_models
from anharmonic.serve.monitor.past import shown_alarm
from anharmonic.serve.monitor.snapshots import Snapshots
from anharmonic.serve.monitor.views import Status, named_point

__all__ = ["AlarmId", "Along", "ModelName", "Name", "add_reading", "found_alarm"]

MOST = 2**62
PRINTABLE = r"^[^\x00-\x1f\x7f]+$"
Limit = Annotated[int, Query(ge=1, le=1000, description="At most this many.")]
Number = Annotated[int, Query(ge=0, le=MOST, description="An event's number.")]
Name = Annotated[str, Path(min_length=1, max_length=200, pattern=PRINTABLE)]
AlarmId = Annotated[str, Path(min_length=1, max_length=64, pattern="^[0-9A-Za-z-]+$")]
SegmentName = Annotated[str | None, Query(min_length=1, max_length=200, pattern=PRINTABLE)]
ModelName = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=300,
        pattern=PRINTABLE,
        description="MODEL@VERSION of another in the same store.",
    ),
]
Along = Annotated[Axis, Query(description="Events' numbers, their own times, or arrival.")]
ABSENT: dict[int | str, dict[str, Any]] = {**PROBLEMS, 404: {"description": "Nobody."}}


def found_alarm(page: AlarmPage | None, id: str) -> AlarmPage:
    """An alarm's page, or a problem where there is no such alarm."""
    if page is None:
        raise BadRequest(f"no alarm {id} of this model", status=404, kind="absent")
    return page


def add_reading(app: FastAPI, snapshots: Snapshots, diagnostics: Diagnostics) -> None:
    """Add the routes that answer from the store and from memory."""
    _add_rows(app, snapshots)
    _add_standing(app, snapshots, diagnostics)


def _add_rows(app: FastAPI, snapshots: Snapshots) -> None:
    queries = snapshots.queries

    @app.get("/v1/alarms", responses=PROBLEMS)
    def alarms(limit: Limit = 100, before: Number = MOST) -> dict[str, object]:
        """Alarms, newest first."""
        return {"alarms": [shown_alarm(row) for row in queries.alarms(limit, before)]}

    @app.get("/v1/alarms/{id}", responses=ABSENT, response_model=dict[str, object])
    def alarm(id: AlarmId, model: ModelName = None) -> Response:
        """One alarm: in words, the rows and segments that carry it, and the curves around it."""
        return Json(found_alarm(read_alarm(snapshots.view(model), id), id))

    @app.get("/v1/scores", responses=PROBLEMS)
    def scores(
        after: Number = 0, limit: Limit = 100, segment: SegmentName = None
    ) -> dict[str, object]:
        """Scores in order; ask again after the last event's number for the next page."""
        return {"scores": queries.scores(after, limit, segment)}

    @app.get("/v1/points/{id:path}", responses=ABSENT)
    def point(id: Name, model: ModelName = None) -> dict[str, object]:
        """One event: its point with the columns' names, its score, its label if it has come."""
        view = snapshots.view(model)
        event = view.queries.point(id)
        if event is None:
            raise BadRequest(f"no event {id[:80]!r} is kept", status=404, kind="absent")
        point = named_point(view.columns, event["point"])
        return {**event, "point": point, "label": view.queries.label(id)}

    @app.get("/v1/models", responses=PROBLEMS)
    def models() -> dict[str, object]:
        """Every model in the store, those with alarms first."""
        return {"models": list_models(snapshots.store, snapshots.live.name)}


def _add_standing(app: FastAPI, snapshots: Snapshots, diagnostics: Diagnostics) -> None:
    @app.get("/v1/status", response_model=dict[str, object], responses=PROBLEMS)
    async def status() -> Status:
        """Where the service stands."""
        return snapshots.status()

    @app.get("/v1/columns", responses=PROBLEMS, response_model=dict[str, object])
    async def columns() -> Response:
        """Columns by how much they have drifted, with shares per bin then and now."""
        drifts = await diagnostics.columns()
        return Json({"available": diagnostics.has_columns, "columns": drifts})

    @app.get("/v1/performance", responses=PROBLEMS, response_model=dict[str, object])
    async def performance() -> Response:
        """How well the model does: estimates with their bands, now and window by window."""
        now, curve = await diagnostics.performance()
        available = diagnostics.has_performance
        return Json({"available": available, "performance": now, "curve": curve})

    @app.get("/v1/stream", include_in_schema=False)
    async def stream(axis: Along = "number", model: ModelName = None) -> Response:
        lines = snapshots.stream(axis, model)
        # The first is awaited here, so that "too many" is still an answer with a status.
        first = await anext(lines)

        async def all_lines() -> AsyncIterator[str]:
            yield first
            async for line in lines:
                yield line

        return StreamingResponse(all_lines(), media_type="text/event-stream")
