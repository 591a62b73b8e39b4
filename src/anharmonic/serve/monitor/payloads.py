"""JSON bodies of this service's own clients, and how much may come in one request."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import from_json

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.metadata import METADATA_SCHEMA, metadata_texts
from anharmonic.serve.monitor.records import Cell, Event
from anharmonic.serve.monitor.row_schema import MOST_CHARACTERS, RowSchema

__all__ = [
    *("MOST_POINTS", "MOST_TEXT", "MOST_VALUES", "Id", "Observe", "Observed"),
    *("build_events", "check_size", "describe_errors", "events_of_json"),
    "seconds_since_1970",
]

MOST_POINTS = 10_000
MOST_VALUES = 4_000_000
"""Points times columns in one request."""
MOST_TEXT = 8_000_000
"""Bytes of text in one request, once it is unpacked."""
Id = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Moment = Annotated[float, Field(ge=-1e11, le=1e11, allow_inf_nan=False)]
VALUE = {
    "anyOf": [
        *({"type": kind} for kind in ("number", "boolean", "null")),
        {"type": "string", "maxLength": MOST_CHARACTERS},
    ]
}
ROWS = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_POINTS,
    "items": {
        "anyOf": [
            {"type": "array", "items": VALUE},
            {"type": "object", "additionalProperties": VALUE},
        ]
    },
    "title": "Points",
}


class Observe(BaseModel):
    """Points that a model was asked about."""

    model_config = ConfigDict(
        # Refused below: with "forbid" each of a million names would have its own error.
        extra="allow",
        strict=True,
        json_schema_extra={
            "additionalProperties": False,
            "examples": [{"points": [[0.1, 2.5]], "ids": ["order-17"], "segments": ["north"]}],
        },
    )

    # Rows are checked by `RowSchema`, one after another up to the first bad one: a list of what
    # is wrong with each value takes a hundred times the memory of the body.
    points: Annotated[
        list[Any],
        WithJsonSchema(ROWS),
        Field(
            min_length=1,
            max_length=MOST_POINTS,
            description="Rows in the order of the reference's columns, or rows with names; a "
            "number that is missing is null, and its row is kept without a score.",
        ),
    ]
    ids: list[Id] | None = Field(
        None,
        fail_fast=True,
        description="One per point, yours: a point sent twice with its id counts once.",
    )
    segments: list[Id | None] | None = Field(None, fail_fast=True, description="One per point.")
    times: list[Moment] | None = Field(
        None, fail_fast=True, description="One per point: seconds since 1970."
    )
    metadata: Annotated[
        list[Any] | None,
        WithJsonSchema(METADATA_SCHEMA),
        Field(
            max_length=MOST_POINTS,
            description="One per point: a small object of text and numbers, which is kept and "
            "shown with the point and never reaches the model.",
        ),
    ] = None


class Observed(BaseModel):
    """What became of the points: all of it is on the disk."""

    accepted: int
    duplicates: int
    ids: list[str]
    scores: list[float | None]
    alarm: bool


def events_of_json(body: bytes, row_schema: RowSchema) -> list[Event]:
    """The events in a JSON body."""
    try:
        payload = Observe.model_validate(from_json(body, allow_inf_nan=False))
    except ValidationError as problem:
        raise BadRequest(describe_errors(problem)) from None
    except ValueError as problem:
        raise BadRequest(f"the body is not JSON: {problem}"[:300]) from None
    if payload.model_extra:
        unknown = next(iter(payload.model_extra))[:80]
        raise BadRequest(f"unknown {unknown!r}: send points, ids, …")
    rows = row_schema.rows(payload.points)
    metadata = metadata_texts(payload.metadata)
    return build_events(rows, payload.ids, payload.segments, payload.times, metadata)


def check_size(rows: int, columns: int) -> None:
    """Refuse more than may come at once, before it is unpacked."""
    if not 1 <= rows <= MOST_POINTS:
        raise BadRequest(f"{rows:,} points: send 1 to {MOST_POINTS:,} at a time", _status(rows))
    if rows * columns > MOST_VALUES:
        raise BadRequest(
            f"{rows:,} points of {columns:,} values: send {MOST_VALUES // columns:,} at a time",
            status=413,
            kind="size",
        )


def _status(rows: int) -> int:
    return 413 if rows > MOST_POINTS else 422


def build_events(
    rows: Sequence[Sequence[Cell]],
    ids: Sequence[str | None] | None,
    segments: Sequence[str | None] | None,
    times: Sequence[float | None] | None,
    metadata: Sequence[str | None] | None = None,
) -> list[Event]:
    """Events of rows, with names and times for those that have none."""
    lists = (("ids", ids), ("segments", segments), ("times", times), ("metadata", metadata))
    for name, values in lists:
        if values is not None and len(values) != len(rows):
            raise BadRequest(f"{len(values)} {name} for {len(rows)} points: give one for each")
    now = time.time()
    return [
        Event(
            (ids[index] if ids else None) or uuid.uuid4().hex,
            row,
            now if times is None or times[index] is None else float(times[index] or 0.0),
            segments[index] if segments else None,
            metadata[index] if metadata else None,
        )
        for index, row in enumerate(rows)
    ]


def seconds_since_1970(moment: datetime) -> float:
    """A moment as a number; one without a time zone is UTC, wherever the service runs."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def describe_errors(problem: ValidationError) -> str:
    """The first few things wrong with a body, and where."""
    errors = problem.errors(include_url=False, include_input=False, include_context=False)[:3]
    return "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in errors)
