"""From a body to events to an answer, whatever the body is written in."""

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
from anharmonic.serve.monitor.payloads import events_of_json, made
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.row_schema import RowSchema
from anharmonic.serve.monitor.threads import Worker

__all__ = ["Ingest"]

LOG = logging.getLogger("anharmonic.serve.monitor")
ARROW = "application/vnd.apache.arrow.stream"
Headers = dict[str, str]


SMALL = 32_768
"""Bytes that are read at once; longer bodies are, one after another, in a thread."""


class Ingest:
    """Reads bodies and hands their events to the pipeline; what cannot be read is counted."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.row_schema = pipeline.watch.row_schema
        self._reader = Worker("reader")

    async def observe(self, headers: Headers, body: bytes) -> Response:
        """`POST /v1/observe`: JSON, or Arrow."""
        kind = _kind(headers)
        if kind == "application/json":
            return await self._answer(await self._read(body, partial(events_of_json, body)))
        if kind == ARROW:
            # Few bytes can stand for many values.
            return await self._answer(await self._read(body, partial(events_of_arrow, body), 0))
        if is_cloudevent(headers):
            return await self.cloudevent(headers, body)
        raise self._refused(
            BadRequest(f"set content-type to application/json or {ARROW}", status=415, kind="type")
        )

    async def cloudevent(self, headers: Headers, body: bytes) -> Response:
        """`POST /` and `POST /v1/events`: what KServe's logger sends."""
        if not is_cloudevent(headers):
            raise self._refused(
                BadRequest("this takes CloudEvents: no ce-specversion", status=415, kind="type")
            )
        events = await self._read(body, partial(events_of_cloudevents, headers, body))
        return await self._answer(events) if events else _nothing()

    async def infer(self, headers: Headers, body: bytes) -> Response:
        """`POST /v2/models/…/infer`: a copy of what the model server was asked."""
        if _kind(headers) not in ("application/json", "application/octet-stream"):
            raise self._refused(BadRequest("send application/json", status=415, kind="type"))
        return await self._answer(await self.inferred(headers, body, own_ids=False))

    async def inferred(self, headers: Headers, body: bytes, own_ids: bool) -> list[Event]:
        """The events of a v2 request, named by its id unless they are to have their own."""
        return await self._read(body, partial(_events_of_inference, headers, body, own_ids))

    async def _read(
        self, body: bytes, read: Callable[[RowSchema], list[Event]], small: int = SMALL
    ) -> list[Event]:
        """Events of a body, off the event loop unless it is small."""
        try:
            if len(body) <= small:
                return read(self.row_schema)
            events: list[Event] = await self._reader.do(lambda: read(self.row_schema))
            return events
        except BadRequest as fault:
            raise self._refused(fault) from None
        except Exception:
            LOG.exception("a body of %d bytes could not be read", len(body))
            raise self._refused(BadRequest("the body cannot be read")) from None

    def _refused(self, fault: BadRequest) -> BadRequest:
        # How many points there would have been is not known: a request counts as one.
        self.pipeline.metrics.skip(fault.kind, 1)
        return fault

    def close(self) -> None:
        self._reader.stop(0.0)

    async def _answer(self, events: Sequence[Event]) -> Response:
        answer = await self.pipeline.submit(events)
        new = len({each.id for each in answer.told if not each.duplicate})
        return Json(
            {
                "accepted": new,
                "duplicates": len(events) - new,
                "ids": [each.id for each in answer.told],
                "scores": [each.score for each in answer.told],
                "alarm": answer.alarm,
            }
        )


def _events_of_inference(
    headers: Headers, body: bytes, own_ids: bool, row_schema: RowSchema
) -> list[Event]:
    rows, name = rows_of_request(body, row_schema, headers.get("inference-header-content-length"))
    if own_ids or not name:
        return made(rows, None, None, None)
    if len(name) > 180 or not name.isprintable():
        raise BadRequest("a request's id has at most 180 printable characters")
    ids = [name] if len(rows) == 1 else [f"{name}.{place}" for place in range(len(rows))]
    return made(rows, ids, None, None)


def _nothing() -> Response:
    return Json({"accepted": 0, "duplicates": 0, "ids": [], "scores": [], "alarm": False})


def _kind(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()
