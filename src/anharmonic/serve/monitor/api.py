"""The routes: points in, scores and alarms out."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from anharmonic.serve.http.asgi import Application, BodyHandler
from anharmonic.serve.http.problems import BadRequest, ServiceError
from anharmonic.serve.http.responses import PROBLEMS, Json, problem_response
from anharmonic.serve.http.security import Guard
from anharmonic.serve.monitor.acknowledging import (
    ACKNOWLEDGEMENT_SCHEMA,
    parse_acknowledgement,
    write_acknowledgement,
)
from anharmonic.serve.monitor.dashboard import Pages, add_dashboard
from anharmonic.serve.monitor.diagnostics import Diagnostics
from anharmonic.serve.monitor.ingest import ARROW, Ingest
from anharmonic.serve.monitor.label_payloads import LABELS_SCHEMA
from anharmonic.serve.monitor.metrics import Metrics
from anharmonic.serve.monitor.payloads import Observe, Observed
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.proxy import Proxy
from anharmonic.serve.monitor.reading import AlarmId, add_reading
from anharmonic.serve.monitor.settings import Settings
from anharmonic.serve.monitor.snapshots import Snapshots
from anharmonic.serve.monitor.stored_monitor import StoredMonitor
from anharmonic.serve.monitor.webhook import Webhook

__all__ = ["Service"]

LOG = logging.getLogger("anharmonic.serve.monitor")
ACKNOWLEDGEMENT = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": ACKNOWLEDGEMENT_SCHEMA}},
    }
}
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
        self.diagnostics = Diagnostics(self.pipeline)
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
        add_reading(app, self.snapshots, self.diagnostics)
        self._add_metrics(app)
        self._add_health(app)
        guarded = self.settings.ingest_token is not None
        add_dashboard(app, Pages(self.snapshots, self.diagnostics, guarded))
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
            _check_json(request)
            alarm = self.stored_monitor.monitor.alarm
            was = "an alarm stood" if alarm else "no alarm stood"
            await self.pipeline.reset()
            LOG.warning("reset of %s by %s: %s", self.stored_monitor.name, _sender(request), was)
            return {"alarm": False}

        self._add_acknowledging(app)
        if self.proxy is not None:
            return
        for path in ("/v2/models/{model}/infer", "/v2/models/{model}/versions/{version}/infer"):
            post(path, **documented, openapi_extra=ANY, name="Take a v2 request")(
                _from_request(self.ingest.infer)
            )

    def _add_acknowledging(self, app: FastAPI) -> None:
        responses: dict[int | str, dict[str, Any]] = {**PROBLEMS, 404: {"description": "None."}}

        @app.post("/v1/alarms/{id}/acknowledge", responses=responses, openapi_extra=ACKNOWLEDGEMENT)
        async def acknowledge(id: AlarmId, request: Request) -> dict[str, object]:
            """Say that somebody has looked at an alarm, and what they found; it still stands."""
            _check_json(request)
            by, note = parse_acknowledgement(await request.body())
            stored, now = self.stored_monitor, time.time()
            there = await self.pipeline.call_monitor(
                lambda: write_acknowledgement(stored.store, stored.name, id, now, by, note)
            )
            if not there:
                raise BadRequest(f"no alarm {id} of this model", status=404, kind="absent")
            LOG.info("alarm %s acknowledged by %r from %s", id, by, _sender(request))
            self.snapshots.live.acknowledged += 1
            self.metrics.record_acknowledgement()
            return {"id": id, "acknowledged": now, "acknowledged_by": by, "note": note}

    def _add_metrics(self, app: FastAPI) -> None:
        @app.get(
            "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}
        )
        async def metrics() -> Response:
            """What Prometheus reads."""
            if self.diagnostics.has_performance:
                self.metrics.record_performance((await self.diagnostics.performance())[0])
            media_type = "text/plain; version=0.0.4; charset=utf-8"
            return Response(self.metrics.text(), media_type=media_type)

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


def _check_json(request: Request) -> None:
    # A form on any web page can send every type but this one without a preflight.
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise BadRequest("set content-type to application/json", status=415, kind="type")


def _sender(request: Request) -> str:
    return request.client.host if request.client else "nowhere"


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
