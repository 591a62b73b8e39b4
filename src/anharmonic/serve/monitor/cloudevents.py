"""CloudEvents, as KServe's inference logger sends them: binary, structured or a batch.

KServe posts every request and every response with the same id and different types. Requests
are points; responses are acknowledged and left.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.inference import rows_of_request
from anharmonic.serve.monitor.payloads import made
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.row_schema import RowSchema

__all__ = ["events_of_cloudevents", "is_cloudevent"]

MOST_EVENTS = 1_000


def is_cloudevent(headers: Mapping[str, str]) -> bool:
    """Whether a request says it is one, by its headers or its content type."""
    return "ce-specversion" in headers or headers.get("content-type", "").startswith(
        "application/cloudevents"
    )


def events_of_cloudevents(
    headers: Mapping[str, str], body: bytes, row_schema: RowSchema
) -> list[Event]:
    """The events in a request; none where it holds responses only."""
    kind = headers.get("content-type", "")
    if not kind.startswith("application/cloudevents"):
        about = {name[3:]: value for name, value in headers.items() if name.startswith("ce-")}
        return _events(about, body, row_schema, headers.get("inference-header-content-length"))
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    several = told if "batch" in kind else [told]
    if not isinstance(several, list) or not all(isinstance(each, dict) for each in several):
        raise BadRequest("a CloudEvent is an object, a batch is a list of them")
    if len(several) > MOST_EVENTS:
        raise BadRequest(f"{len(several):,} events: send at most {MOST_EVENTS:,}", status=413)
    return [event for each in several for event in _events(each, _data(each), row_schema, None)]


def _events(
    about: Mapping[str, Any], body: bytes, row_schema: RowSchema, header_length: str | None
) -> list[Event]:
    missing = [name for name in ("id", "source", "type", "specversion") if not about.get(name)]
    if missing:
        raise BadRequest(f"a CloudEvent needs {', '.join(missing)}", status=400)
    name = str(about["id"])
    if len(name) > 180 or not name.isprintable():
        raise BadRequest("a CloudEvent's id has at most 180 printable characters", status=400)
    if str(about["type"]).endswith(".response"):
        return []
    rows, _ = rows_of_request(body, row_schema, header_length)
    ids = [name] if len(rows) == 1 else [f"{name}.{place}" for place in range(len(rows))]
    moment = _moment(about.get("time"))
    return made(rows, ids, None, None if moment is None else [moment] * len(rows))


def _data(event: Mapping[str, Any]) -> bytes:
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


def _moment(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp() if text else None
    except (ValueError, OverflowError, OSError):
        raise BadRequest("a CloudEvent's time is written as RFC 3339", status=400) from None
