"""CloudEvents, as KServe's inference logger sends them: binary, structured or a batch.

KServe posts every request and every response with the same id and different types. Requests
hold points; responses are acknowledged and not used.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import datetime

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.inference import check_segment, rows_of_request
from anharmonic.serve.monitor.payloads import build_events, seconds_since_1970
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.row_schema import RowSchema

__all__ = ["events_of_cloudevents", "is_cloudevent"]

MOST_EVENTS = 1_000


def is_cloudevent(headers: Mapping[str, str]) -> bool:
    """Whether a request is a CloudEvent by its headers, in binary or in structured mode."""
    return "ce-specversion" in headers or headers.get("content-type", "").startswith(
        "application/cloudevents"
    )


def events_of_cloudevents(
    headers: Mapping[str, str], body: bytes, row_schema: RowSchema
) -> list[Event]:
    """The events in a request; none where it holds responses only."""
    media_type = headers.get("content-type", "")
    if not media_type.startswith("application/cloudevents"):
        # Binary mode: attributes are headers, the body is the data.
        attributes = {name[3:]: value for name, value in headers.items() if name.startswith("ce-")}
        return _events(attributes, body, row_schema, headers.get("inference-header-content-length"))
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    cloudevents = parsed if "batch" in media_type else [parsed]
    if not isinstance(cloudevents, list) or not all(isinstance(e, dict) for e in cloudevents):
        raise BadRequest("a CloudEvent is an object, a batch is a list of them")
    if len(cloudevents) > MOST_EVENTS:
        raise BadRequest(f"{len(cloudevents):,} events: send at most {MOST_EVENTS:,}", status=413)
    return [
        event
        for cloudevent in cloudevents
        for event in _events(cloudevent, _data(cloudevent), row_schema, None)
    ]


def _events(
    attributes: Mapping[str, object], body: bytes, row_schema: RowSchema, header_length: str | None
) -> list[Event]:
    missing = [name for name in ("id", "source", "type", "specversion") if not attributes.get(name)]
    if missing:
        raise BadRequest(f"a CloudEvent needs {', '.join(missing)}", status=400)
    name = str(attributes["id"])
    if len(name) > 180 or not name.isprintable():
        raise BadRequest("a CloudEvent's id has at most 180 printable characters", status=400)
    if str(attributes["type"]).endswith(".response"):
        return []
    request = rows_of_request(body, row_schema, header_length)
    rows, segments = request.rows, request.segments
    if segments is None and attributes.get("segment"):
        # An extension attribute, for clients that can only set headers.
        segments = [check_segment(attributes["segment"])] * len(rows)
    ids = [name] if len(rows) == 1 else [f"{name}.{index}" for index in range(len(rows))]
    moment = _moment(attributes.get("time"))
    times = None if moment is None else [moment] * len(rows)
    return build_events(rows, ids, segments, times, request.metadata)


def _data(event: Mapping[str, object]) -> bytes:
    if "data_base64" in event:
        try:
            return base64.b64decode(str(event["data_base64"]), validate=True)
        except (binascii.Error, ValueError):
            raise BadRequest("data_base64 is not base64") from None
    data = event.get("data")
    try:
        return data.encode() if isinstance(data, str) else json.dumps(data).encode()
    except UnicodeEncodeError:
        raise BadRequest("data holds half a character: send UTF-8") from None


def _moment(text: object) -> float | None:
    try:
        return seconds_since_1970(datetime.fromisoformat(str(text))) if text else None
    except (ValueError, OverflowError, OSError):
        raise BadRequest("a CloudEvent's time is written as RFC 3339", status=400) from None
