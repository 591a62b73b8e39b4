"""From a request's body, in any of the formats, to events to a response."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from starlette.responses import Response

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.http.responses import Json
from anharmonic.serve.monitor.arrow import events_of_arrow
from anharmonic.serve.monitor.cloudevents import events_of_cloudevents, is_cloudevent
from anharmonic.serve.monitor.inference import rows_of_request
from anharmonic.serve.monitor.label_payloads import labels_of_json
from anharmonic.serve.monitor.payloads import build_events, events_of_json
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.row_schema import RowSchema
from anharmonic.serve.monitor.threads import Worker

__all__ = ["Ingest"]

LOG = logging.getLogger("anharmonic.serve.monitor")
ARROW = "application/vnd.apache.arrow.stream"
Headers = dict[str, str]
SMALL = 32_768
"""Bytes that are parsed on the event loop; longer bodies are, one after another, in a thread."""
MOST_IN_ID = 180
"""Characters in a request's id: those of its events may be longer by their number."""


class Ingest:
    """Parses bodies and submits their events to the pipeline; what cannot be parsed is counted."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.row_schema = pipeline.stored_monitor.row_schema
        self._parser_thread = Worker("reader")

    async def observe(self, headers: Headers, body: bytes) -> Response:
        """`POST /v1/observe`: JSON, or Arrow."""
        media_type = _media_type(headers)
        if media_type == "application/json":
            return await self._respond(await self._parse(body, partial(events_of_json, body)))
        if media_type == ARROW:
            # Few bytes can stand for many values: always in the thread.
            return await self._respond(await self._parse(body, partial(events_of_arrow, body), 0))
        if is_cloudevent(headers):
            return await self.cloudevent(headers, body)
        raise self._count_refused(
            BadRequest(f"set content-type to application/json or {ARROW}", status=415, kind="type")
        )

    async def cloudevent(self, headers: Headers, body: bytes) -> Response:
        """`POST /` and `POST /v1/events`: what KServe's logger sends."""
        if not is_cloudevent(headers):
            raise self._count_refused(
                BadRequest("this takes CloudEvents: no ce-specversion", status=415, kind="type")
            )
        events = await self._parse(body, partial(events_of_cloudevents, headers, body))
        return await self._respond(events) if events else _empty_response()

    async def infer(self, headers: Headers, body: bytes) -> Response:
        """`POST /v2/models/…/infer`: a copy of what the model server was asked."""
        if _media_type(headers) not in ("application/json", "application/octet-stream"):
            raise self._count_refused(BadRequest("send application/json", status=415, kind="type"))
        return await self._respond(await self.parse_inference(headers, body, own_ids=False))

    async def labels(self, headers: Headers, body: bytes) -> Response:
        """`POST /v1/labels`: what turned out to be true of events, as JSON."""
        if _media_type(headers) != "application/json":
            raise BadRequest("set content-type to application/json", status=415, kind="type")
        if len(body) <= SMALL:
            labels = labels_of_json(body)
        else:
            labels = await self._parser_thread.submit(lambda: labels_of_json(body))
        results = await self.pipeline.submit_labels(labels)
        return Json(
            {
                "accepted": sum(not result.duplicate for result in results),
                "replaced": sum(result.replaced for result in results),
                "duplicates": sum(result.duplicate for result in results),
                "unknown": sum(result.unknown for result in results),
                "unused": sum(result.unused for result in results),
            }
        )

    async def parse_inference(self, headers: Headers, body: bytes, own_ids: bool) -> list[Event]:
        """The events of a v2 request, named by its id unless they are to have their own."""
        return await self._parse(body, partial(_events_of_inference, headers, body, own_ids))

    async def _parse(
        self, body: bytes, parse: Callable[[RowSchema], list[Event]], small: int = SMALL
    ) -> list[Event]:
        """Events of a body, off the event loop unless it is small."""
        try:
            if len(body) <= small:
                return parse(self.row_schema)
            return await self._parser_thread.submit(lambda: parse(self.row_schema))
        except BadRequest as fault:
            raise self._count_refused(fault) from None
        except Exception:
            LOG.exception("a body of %d bytes could not be read", len(body))
            raise self._count_refused(BadRequest("the body cannot be read")) from None

    def _count_refused(self, fault: BadRequest) -> BadRequest:
        # How many points there would have been is not known: a request counts as one.
        self.pipeline.metrics.skip(fault.kind, 1)
        return fault

    def close(self) -> None:
        self._parser_thread.stop(0.0)

    async def _respond(self, events: Sequence[Event]) -> Response:
        answer = await self.pipeline.submit(events)
        results = answer.results
        new = len({result.id for result in results if not result.duplicate})
        return Json(
            {
                "accepted": new,
                "duplicates": len(events) - new,
                "ids": [result.id for result in results],
                "scores": [result.score for result in results],
                "alarm": answer.alarm,
            }
        )


def _events_of_inference(
    headers: Headers, body: bytes, own_ids: bool, row_schema: RowSchema
) -> list[Event]:
    request = rows_of_request(body, row_schema, headers.get("inference-header-content-length"))
    rows, name = request.rows, request.id
    if own_ids or not name:
        return build_events(rows, None, request.segments, None, request.metadata)
    if len(name) > MOST_IN_ID or not name.isprintable():
        raise BadRequest(f"a request's id has at most {MOST_IN_ID} printable characters")
    ids = [name] if len(rows) == 1 else [f"{name}.{index}" for index in range(len(rows))]
    return build_events(rows, ids, request.segments, None, request.metadata)


def _empty_response() -> Response:
    return Json({"accepted": 0, "duplicates": 0, "ids": [], "scores": [], "alarm": False})


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()
