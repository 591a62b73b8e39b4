"""The routes: points in, scores and alarms out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from anharmonic.serve.http.asgi import Application, BodyHandler
from anharmonic.serve.http.problems import BadRequest, ServiceError
from anharmonic.serve.http.responses import PROBLEMS, Json, problem_response
from anharmonic.serve.http.security import Guard
from anharmonic.serve.monitor.dashboard import add_dashboard
from anharmonic.serve.monitor.ingest import ARROW, Ingest
from anharmonic.serve.monitor.label_payloads import LABELS_SCHEMA
from anharmonic.serve.monitor.metrics import Metrics
from anharmonic.serve.monitor.payloads import Observe, Observed
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.proxy import Proxy
from anharmonic.serve.monitor.settings import Settings
from anharmonic.serve.monitor.snapshots import Snapshots, Status
from anharmonic.serve.monitor.stored_monitor import StoredMonitor
from anharmonic.serve.monitor.webhook import Webhook

__all__ = ["Service"]

LOG = logging.getLogger("anharmonic.serve.monitor")
MOST = 2**62
Limit = Annotated[int, Query(ge=1, le=1000, description="At most this many.")]
Number = Annotated[int, Query(ge=0, le=MOST, description="An event's number.")]
Name = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
SegmentName = Annotated[
    str | None, Query(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": Observe.model_json_schema()},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
EMPTY = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}
LABELS = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": LABELS_SCHEMA}}}
}
ANY = {"requestBody": {"required": True, "content": {"application/json": {"schema": {}}}}}


class Service:
    """A stored monitor behind HTTP. `app` is the ASGI application.

    Parameters
    ----------
    stored_monitor
        What takes the points.
    settings
        Address, tokens, limits, upstream, webhook and retention.
    """

    def __init__(self, stored_monitor: StoredMonitor, settings: Settings) -> None:
        self.stored_monitor, self.settings = stored_monitor, settings
        self.metrics = Metrics(stored_monitor)
        self.pipeline = Pipeline(stored_monitor, self.metrics, settings.limits, settings.retention)
        self.pipeline.listen(self.metrics.record_outcome)
        self.snapshots = Snapshots(self.pipeline)
        self.ingest = Ingest(self.pipeline)
        self.webhook = Webhook(stored_monitor, self.metrics, settings)
        self.pipeline.listen(self.webhook.notice)
        self.proxy = Proxy(settings, self.ingest) if settings.upstream else None
        self.beside: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """Coroutine functions that run while the service does."""
        self.app = self._application()

    def _application(self) -> Application:
        ingest, settings = self.ingest, self.settings
        # Points come in by two routes. POST to the paths in `direct` is answered by the ASGI layer
        # (`Application`), with no framework in between: at full load FastAPI's routing and
        # validation would cost more than all the rest. The FastAPI routes of /v1/observe,
        # /v1/events and /v1/labels in `_add_intake` therefore never run: they stand for the
        # OpenAPI document. Only /v2/models/…/infer, whose path has parameters, is taken in by
        # FastAPI itself.
        direct: dict[str, BodyHandler] = {
            "/v1/observe": ingest.observe,
            "/v1/events": ingest.cloudevent,
            "/v1/labels": ingest.labels,
            "/": ingest.cloudevent,
        }
        return Application(
            self._routes(),
            Guard(
                settings.host,
                settings.ingest_token,
                settings.read_token,
                forwards=settings.upstream is not None,
            ),
            settings.limits,
            direct,
            self.metrics.skip,
            self.proxy.forward if self.proxy else None,
        )

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        await self.pipeline.start()
        self.webhook.start()
        tasks = [asyncio.create_task(start()) for start in self.beside]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            self.snapshots.stopping.set()
            await self.webhook.stop()
            if self.proxy is not None:
                self.proxy.close()
            self.ingest.close()
            await self.pipeline.stop()
            self.stored_monitor.store.close()

    def _routes(self) -> FastAPI:
        app = FastAPI(
            title="anharmonic",
            description="Watches a model: gamma of its traffic, without labels, with alarms.",
            lifespan=self._lifespan,
            docs_url=None,
            redoc_url=None,
        )
        app.add_exception_handler(ServiceError, self._on_service_error)
        app.add_exception_handler(RequestValidationError, _on_invalid)
        app.add_exception_handler(HTTPException, _on_http_error)
        self._add_intake(app)
        self._add_reading(app)
        add_dashboard(app, self.snapshots)
        return app

    async def _on_service_error(self, _: Request, problem: Exception) -> Response:
        assert isinstance(problem, ServiceError)
        self.pipeline.health.record_problem(problem)
        return problem_response(problem)

    def _add_intake(self, app: FastAPI) -> None:
        # The first three stand for the OpenAPI document: see `_application`.
        documented: dict[str, Any] = {"response_model": Observed, "responses": PROBLEMS}
        post: Callable[..., Any] = app.post
        post("/v1/observe", **documented, openapi_extra=BODY, name="Observe points")(
            _from_request(self.ingest.observe)
        )
        post("/v1/events", **documented, openapi_extra=ANY, name="Take CloudEvents")(
            _from_request(self.ingest.cloudevent)
        )
        post("/v1/labels", responses=PROBLEMS, openapi_extra=LABELS, name="Take labels")(
            _from_request(self.ingest.labels)
        )

        @app.post("/v1/reset", responses=PROBLEMS, openapi_extra=EMPTY)
        async def reset(request: Request) -> dict[str, object]:
            """Clear alarms and evidence and watch on, once somebody has looked; all is kept."""
            # A form on any web page can send every type but this one without a preflight.
            if not request.headers.get("content-type", "").startswith("application/json"):
                raise BadRequest("set content-type to application/json", status=415, kind="type")
            alarm = self.stored_monitor.monitor.alarm
            was = "an alarm stood" if alarm else "no alarm stood"
            await self.pipeline.reset()
            address = request.client.host if request.client else "nowhere"
            LOG.warning("reset of %s by %s: %s", self.stored_monitor.name, address, was)
            return {"alarm": False}

        if self.proxy is not None:
            return
        for path in ("/v2/models/{model}/infer", "/v2/models/{model}/versions/{version}/infer"):
            post(path, **documented, openapi_extra=ANY, name="Take a v2 request")(
                _from_request(self.ingest.infer)
            )

    def _add_reading(self, app: FastAPI) -> None:
        snapshots, queries = self.snapshots, self.snapshots.queries

        @app.get("/v1/alarms", responses=PROBLEMS)
        def alarms(limit: Limit = 100, before: Number = MOST) -> dict[str, object]:
            """Alarms, newest first."""
            return {"alarms": queries.alarms(limit, before)}

        @app.get("/v1/scores", responses=PROBLEMS)
        def scores(
            after: Number = 0, limit: Limit = 100, segment: SegmentName = None
        ) -> dict[str, object]:
            """Scores in order; ask again after the last event's number for the next page."""
            return {"scores": queries.scores(after, limit, segment)}

        @app.get("/v1/points/{id:path}", responses={**PROBLEMS, 404: {"description": "Nobody."}})
        def point(id: Name) -> dict[str, object]:
            """One event: its point with the columns' names, its score, its label if it has come."""
            event = queries.point(id)
            if event is None:
                raise BadRequest(f"no event {id[:80]!r} is kept", status=404, kind="absent")
            point = self.stored_monitor.row_schema.named(event["point"])
            return {**event, "point": point, "label": queries.label(id)}

        @app.get("/v1/status", response_model=dict[str, object], responses=PROBLEMS)
        async def status() -> Status:
            """Where the service stands."""
            return snapshots.status()

        @app.get("/v1/stream", include_in_schema=False)
        async def stream() -> Response:
            lines = snapshots.stream()
            # The first is awaited here, so that "too many" is still an answer with a status.
            first = await anext(lines)

            async def all_lines() -> AsyncIterator[str]:
                yield first
                async for line in lines:
                    yield line

            return StreamingResponse(all_lines(), media_type="text/event-stream")

        @app.get(
            "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}
        )
        async def metrics() -> Response:
            """What Prometheus reads."""
            media_type = "text/plain; version=0.0.4; charset=utf-8"
            return Response(self.metrics.text(), media_type=media_type)

        self._add_health(app)

    def _add_health(self, app: FastAPI) -> None:
        health = self.pipeline.health
        not_now: dict[int | str, dict[str, Any]] = {503: {"description": "Not now."}}

        @app.get("/livez")
        async def alive() -> Response:
            """Whether this process answers: where it does not, restart it."""
            return Json({"alive": True})

        @app.get("/readyz", responses=not_now)
        async def ready() -> Response:
            """Whether points would be taken now, and what is in the way."""
            checks = {
                "ready": health.ready,
                "model": health.model_answers,
                "store": health.store_answers,
            }
            return Json(checks, 200 if health.ready else 503)

        @app.get("/healthz", responses=not_now)
        async def well() -> Response:
            """The same in one word."""
            return Json({"well": health.ready}, 200 if health.ready else 503)


def _from_request(handle: BodyHandler) -> Callable[[Request], Awaitable[Response]]:
    """A FastAPI handler around one that takes headers and a body."""

    async def handler(request: Request) -> Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        return await handle(headers, await request.body())

    return handler


async def _on_invalid(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    words = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in problem.errors()[:3])
    return problem_response(BadRequest(words))


async def _on_http_error(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    response = problem_response(BadRequest(problem.detail, status=problem.status_code, kind="http"))
    response.headers.update(problem.headers or {})
    return response
