"""From a body to events to an answer, whatever the body is written in."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from anharmonic.service.answers import Json
from anharmonic.service.bodies import events_of_arrow, events_of_json, made
from anharmonic.service.cloudevents import events_of_cloudevents, is_cloudevent
from anharmonic.service.faults import Refused
from anharmonic.service.inference import rows_of_request
from anharmonic.service.pipeline import Pipeline
from anharmonic.service.records import Event

__all__ = ["Intake"]

ARROW = "application/vnd.apache.arrow.stream"
Headers = dict[str, str]


class Intake:
    """Reads bodies and hands their events to the pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.form = pipeline.watch.form

    async def observe(self, headers: Headers, body: bytes) -> Response:
        """`POST /v1/observe`: JSON, or Arrow."""
        kind = _kind(headers)
        if kind == "application/json":
            return await self._answer(events_of_json(body, self.form))
        if kind == ARROW:
            return await self._answer(events_of_arrow(body, self.form))
        if is_cloudevent(headers):
            return await self.cloudevent(headers, body)
        raise Refused(f"set content-type to application/json or {ARROW}", status=415, kind="type")

    async def cloudevent(self, headers: Headers, body: bytes) -> Response:
        """`POST /` and `POST /v1/events`: what KServe's logger sends."""
        if not is_cloudevent(headers):
            raise Refused("this takes CloudEvents: no ce-specversion", status=415, kind="type")
        events = events_of_cloudevents(headers, body, self.form)
        return await self._answer(events) if events else _nothing()

    async def infer(self, headers: Headers, body: bytes) -> Response:
        """`POST /v2/models/…/infer`: a copy of what the model server was asked."""
        if _kind(headers) not in ("application/json", "application/octet-stream"):
            raise Refused("send application/json", status=415, kind="type")
        return await self._answer(self.events_of_inference(headers, body, own_ids=False))

    def events_of_inference(self, headers: Headers, body: bytes, own_ids: bool) -> list[Event]:
        """The events of a v2 request, named by its id unless they are to have their own."""
        length = headers.get("inference-header-content-length")
        rows, name = rows_of_request(body, self.form, length)
        if own_ids or not name:
            return made(rows, None, None, None)
        if len(name) > 180 or not name.isprintable():
            raise Refused("a request's id has at most 180 printable characters")
        ids = [name] if len(rows) == 1 else [f"{name}.{place}" for place in range(len(rows))]
        return made(rows, ids, None, None)

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


def _nothing() -> Response:
    return Json({"accepted": 0, "duplicates": 0, "ids": [], "scores": [], "alarm": False})


def _kind(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()
