"""The routes: points in, scores and alarms out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from anharmonic.serve.http.asgi import App, Application
from anharmonic.serve.http.problems import BadRequest, ServiceError
from anharmonic.serve.http.responses import PROBLEMS, Json, problem_response
from anharmonic.serve.http.security import Guard
from anharmonic.serve.monitor.dashboard import add_dashboard
from anharmonic.serve.monitor.ingest import ARROW, Ingest
from anharmonic.serve.monitor.metrics import Metrics
from anharmonic.serve.monitor.payloads import Observe, Observed
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.proxy import Proxy
from anharmonic.serve.monitor.settings import Settings
from anharmonic.serve.monitor.snapshots import Snapshots
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
ANY = {"requestBody": {"required": True, "content": {"application/json": {"schema": {}}}}}


class Service:
    """A watch, behind HTTP. `app` is the ASGI application."""

    def __init__(self, watch: StoredMonitor, settings: Settings) -> None:
        self.watch, self.settings = watch, settings
        self.metrics = Metrics(watch)
        self.pipeline = Pipeline(watch, self.metrics, settings.limits, settings.retention)
        self.pipeline.listen(self.metrics.take)
        self.live = Snapshots(self.pipeline)
        self.ingest = Ingest(self.pipeline)
        self.webhook = Webhook(watch, self.metrics, settings)
        self.pipeline.listen(self.webhook.heard)
        self.proxy = Proxy(settings, self.ingest) if settings.upstream else None
        self.beside: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """What else runs while the service does."""
        self.app = self._application()

    def _application(self) -> App:
        ingest, settings = self.ingest, self.settings
        short = {
            "/v1/observe": ingest.observe,
            "/v1/events": ingest.cloudevent,
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
            short,
            self.metrics.skip,
            self.proxy.forward if self.proxy else None,
        )

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        await self.pipeline.start()
        self.webhook.start()
        tasks = [asyncio.create_task(each()) for each in self.beside]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            self.live.stopping.set()
            await self.webhook.stop()
            if self.proxy is not None:
                self.proxy.close()
            self.ingest.close()
            await self.pipeline.stop()
            self.watch.store.close()

    def _routes(self) -> FastAPI:
        app = FastAPI(
            title="anharmonic",
            description="Watches a model: gamma of its traffic, without labels, with alarms.",
            lifespan=self._lifespan,
            docs_url=None,
            redoc_url=None,
        )
        app.add_exception_handler(ServiceError, self._fault)
        app.add_exception_handler(RequestValidationError, _invalid)
        app.add_exception_handler(HTTPException, _other)
        self._add_intake(app)
        self._add_reading(app)
        add_dashboard(app, self.live)
        return app

    async def _fault(self, _: Request, problem: Exception) -> Response:
        assert isinstance(problem, ServiceError)
        self.pipeline.health.heard(problem)
        return problem_response(problem)

    def _add_intake(self, app: FastAPI) -> None:
        # The door answers these; they stand here for the OpenAPI document.
        documented: dict[str, Any] = {"response_model": Observed, "responses": PROBLEMS}
        post: Callable[..., Any] = app.post
        post("/v1/observe", **documented, openapi_extra=BODY, name="Observe points")(
            _handing(self.ingest.observe)
        )
        post("/v1/events", **documented, openapi_extra=ANY, name="Take CloudEvents")(
            _handing(self.ingest.cloudevent)
        )

        @app.post("/v1/reset", responses=PROBLEMS, openapi_extra=EMPTY)
        async def reset(request: Request) -> dict[str, Any]:
            """Clear alarms and evidence and watch on, once somebody has looked; all is kept."""
            # A form of any web page can send everything but this type.
            if not request.headers.get("content-type", "").startswith("application/json"):
                raise BadRequest("set content-type to application/json", status=415, kind="type")
            was = "an alarm stood" if self.watch.monitor.alarm else "no alarm stood"
            await self.pipeline.reset()
            address = request.client.host if request.client else "nowhere"
            LOG.warning("reset of %s by %s: %s", self.watch.name, address, was)
            return {"alarm": False}

        if self.proxy is not None:
            return
        for path in ("/v2/models/{model}/infer", "/v2/models/{model}/versions/{version}/infer"):
            post(path, **documented, openapi_extra=ANY, name="Take a v2 request")(
                _handing(self.ingest.infer)
            )

    def _add_reading(self, app: FastAPI) -> None:
        reading, live = self.live.reading, self.live

        @app.get("/v1/alarms", responses=PROBLEMS)
        def alarms(limit: Limit = 100, before: Number = MOST) -> dict[str, Any]:
            """Alarms, newest first."""
            return {"alarms": reading.alarms(limit, before)}

        @app.get("/v1/scores", responses=PROBLEMS)
        def scores(
            after: Number = 0, limit: Limit = 100, segment: SegmentName = None
        ) -> dict[str, Any]:
            """Scores in order; ask again after the last event's number for the next page."""
            return {"scores": reading.scores(after, limit, segment)}

        @app.get("/v1/points/{id:path}", responses={**PROBLEMS, 404: {"description": "Nobody."}})
        def point(id: Name) -> dict[str, Any]:
            """One event: its point with the columns' names, its score, when it came."""
            found = reading.point(id)
            if found is None:
                raise BadRequest(f"no event {id[:80]!r} is kept", status=404, kind="absent")
            return {**found, "point": self.watch.row_schema.named(found["point"])}

        @app.get("/v1/status", responses=PROBLEMS)
        async def status() -> dict[str, Any]:
            """Where the service stands."""
            return live.status()

        @app.get("/v1/stream", include_in_schema=False)
        async def stream() -> Response:
            events = live.stream()
            first = await anext(events)

            async def all_events() -> AsyncIterator[str]:
                yield first
                async for each in events:
                    yield each

            return StreamingResponse(all_events(), media_type="text/event-stream")

        @app.get(
            "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}
        )
        async def metrics() -> Response:
            """What Prometheus reads."""
            kind = "text/plain; version=0.0.4; charset=utf-8"
            return Response(self.metrics.text(), media_type=kind)

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
            told = {
                "ready": health.ready,
                "model": health.model_answers,
                "store": health.store_answers,
            }
            return Json(told, 200 if health.ready else 503)

        @app.get("/healthz", responses=not_now)
        async def well() -> Response:
            """The same in one word."""
            return Json({"well": health.ready}, 200 if health.ready else 503)


def _handing(take: Any) -> Any:
    async def handler(request: Request) -> Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        answer: Response = await take(headers, await request.body())
        return answer

    return handler


async def _invalid(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    words = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in problem.errors()[:3])
    return problem_response(BadRequest(words))


async def _other(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    answer = problem_response(BadRequest(problem.detail, status=problem.status_code, kind="http"))
    answer.headers.update(problem.headers or {})
    return answer
