"""Bodies of `POST /v1/labels`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.payloads import MOST_POINTS
from anharmonic.serve.monitor.records import Label, LabelValue

__all__ = ["LABELS_SCHEMA", "labels_of_json"]

MOST_LABELS = MOST_POINTS
MOST_CHARACTERS = 1_000
"""In a label that is text."""
LATEST = 1e11
"""Seconds since 1970 that a time may have, before and after."""
ID = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^\x00-\x1f\x7f]+$"}
VALUE = {
    "anyOf": [
        {"type": "number"},
        {"type": "boolean"},
        {"type": "string", "maxLength": MOST_CHARACTERS, "pattern": r"^[^\x00]*$"},
    ]
}
TIME = {"anyOf": [{"type": "number", "minimum": -LATEST, "maximum": LATEST}, {"type": "null"}]}
LABELS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["labels"],
    "properties": {
        "labels": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_LABELS,
            "items": {
                "anyOf": [
                    VALUE,
                    {
                        "type": "object",
                        "required": ["id", "label"],
                        "properties": {"id": ID, "label": VALUE, "time": TIME},
                        "additionalProperties": False,
                    },
                ]
            },
        },
        "ids": {"type": ["array", "null"], "items": ID, "maxItems": MOST_LABELS},
        "times": {"type": ["array", "null"], "items": TIME, "maxItems": MOST_LABELS},
    },
    "additionalProperties": False,
    "examples": [{"labels": [{"id": "order-17", "label": 1}]}],
}


def labels_of_json(body: bytes) -> list[Label]:
    """The labels in a body: objects with id, label and perhaps time, or lists of each."""
    try:
        payload = from_json(body, allow_inf_nan=False)
    except ValueError as problem:
        raise BadRequest(f"the body is not JSON: {problem}"[:300]) from None
    if not isinstance(payload, dict) or not isinstance(payload.get("labels"), list):
        raise BadRequest('send {"labels": [{"id": "…", "label": …}, …]}')
    unknown = [name for name in payload if name not in ("labels", "ids", "times")]
    if unknown:
        raise BadRequest(f"unknown {unknown[0][:80]!r}: send labels, or ids and labels")
    count = len(payload["labels"])
    if not 1 <= count <= MOST_LABELS:
        status = 413 if count else 422
        raise BadRequest(f"{count:,} labels: send 1 to {MOST_LABELS:,} at a time", status)
    listed = payload.get("ids") is not None
    entries = _with_ids(payload) if listed else payload["labels"]
    if not listed and payload.get("times") is not None:
        raise BadRequest("times go with ids: give both, or objects with id, label and time")
    labels: list[Label] = []
    for index, entry in enumerate(entries):
        try:
            labels.append(_label(entry))
        except BadRequest as fault:
            fault.args = (f"label {index}: {fault}",)
            raise
    return labels


def _with_ids(payload: Mapping[str, Any]) -> list[dict[str, object]]:
    count = len(payload["labels"])
    for name in ("ids", "times"):
        values = payload.get(name)
        if values is not None and (not isinstance(values, list) or len(values) != count):
            raise BadRequest(f"give one of {name} for each of the {count:,} labels")
    times = payload.get("times") or [None] * count
    return [
        {"id": id, "label": label, "time": time}
        for id, label, time in zip(payload["ids"], payload["labels"], times, strict=True)
    ]


def _label(entry: object) -> Label:
    if not isinstance(entry, dict) or not {"id", "label"} <= set(entry) <= {"id", "label", "time"}:
        raise BadRequest("a label has an id, a label and perhaps a time")
    return Label(_id(entry["id"]), _value(entry["label"]), _time(entry.get("time")))


def _id(value: object) -> str:
    # As ids of events: `Id` in the module of their bodies.
    controls = isinstance(value, str) and any(c < " " or c == "\x7f" for c in value)
    if not isinstance(value, str) or not 1 <= len(value) <= 200 or controls:
        raise BadRequest("an id has 1 to 200 characters, none of them a control character")
    return _stored_text(value)


def _value(value: object) -> LabelValue:
    if isinstance(value, str):
        if len(value) > MOST_CHARACTERS or "\x00" in value:
            raise BadRequest(f"text has at most {MOST_CHARACTERS:,} characters and no NUL")
        return _stored_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return value if abs(number) < 2**53 else number
    raise BadRequest("a label is a finite number, text, true or false")


def _time(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LATEST:
        raise BadRequest("a time is seconds since 1970")
    return float(value)


def _stored_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRequest("text holds half a character: send UTF-8") from None
    return text
