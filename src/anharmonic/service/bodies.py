"""Points as this service's own clients send them: JSON, or an Arrow stream."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints, ValidationError

from anharmonic.service.faults import Refused
from anharmonic.service.form import Form
from anharmonic.service.records import Cell, Event

__all__ = ["Id", "Observe", "Observed", "events_of_arrow", "events_of_json", "made", "problems"]

MOST_POINTS = 10_000
Id = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Value = FiniteFloat | bool | Annotated[str, StringConstraints(max_length=10_000)] | None
Moment = Annotated[float, Field(ge=-1e11, le=1e11, allow_inf_nan=False)]


class Observe(BaseModel):
    """Points that a model was asked about."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [{"points": [[0.1, 2.5]], "ids": ["order-17"], "segments": ["north"]}]
        },
    )

    points: Annotated[
        list[list[Value]] | list[dict[str, Value]],
        Field(
            min_length=1,
            max_length=MOST_POINTS,
            description="Rows in the order of the reference's columns, or rows with names.",
        ),
    ]
    ids: list[Id] | None = Field(
        None, description="One a point, yours: a point sent twice with its id counts once."
    )
    segments: list[Id | None] | None = Field(None, description="One a point.")
    times: list[Moment] | None = Field(None, description="One a point: seconds since 1970.")


class Observed(BaseModel):
    """What became of the points: all of it is on the disk."""

    accepted: int
    duplicates: int
    ids: list[str]
    scores: list[float | None]
    alarm: bool


def events_of_json(body: bytes, form: Form) -> list[Event]:
    """The events in a JSON body."""
    try:
        told = Observe.model_validate_json(body)
    except ValidationError as problem:
        raise Refused(problems(problem)) from None
    rows = [form.row(values) for values in told.points]
    return made(rows, told.ids, told.segments, told.times)


def made(
    rows: Sequence[Sequence[Cell]],
    ids: Sequence[str | None] | None,
    segments: Sequence[str | None] | None,
    times: Sequence[float | None] | None,
) -> list[Event]:
    """Events of rows, with names and times for those that have none."""
    for name, each in (("ids", ids), ("segments", segments), ("times", times)):
        if each is not None and len(each) != len(rows):
            raise Refused(f"{len(each)} {name} for {len(rows)} points: give one for each")
    now = time.time()
    return [
        Event(
            (ids[place] if ids else None) or uuid.uuid4().hex,
            values,
            now if times is None or times[place] is None else float(times[place] or 0.0),
            segments[place] if segments else None,
        )
        for place, values in enumerate(rows)
    ]


def problems(problem: ValidationError) -> str:
    """The first few things wrong with a body, and where."""
    found = problem.errors(include_url=False, include_input=False, include_context=False)[:3]
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)


def events_of_arrow(body: bytes, form: Form) -> list[Event]:
    """The events in an Arrow stream: a column a feature, and `_id`, `_segment`, `_time` if any."""
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(body) as reader:
            table = reader.read_all()
        table.validate(full=True)
        columns = {name: table[name].to_pylist() for name in table.column_names}
    except (pa.ArrowException, ValueError, OSError, NotImplementedError, KeyError) as problem:
        raise Refused(f"the body is no Arrow stream of a table ({problem})"[:300]) from None
    many = table.num_rows
    if not 1 <= many <= MOST_POINTS:
        raise Refused(f"{many} rows: send 1 to {MOST_POINTS:,}")
    ids, segments = (_texts(columns.pop(name, None), name) for name in ("_id", "_segment"))
    times = _moments(columns.pop("_time", None))
    if set(columns) == set(form.columns):
        ordered = [columns[name] for name in form.columns]
    elif form.table is None and len(columns) == len(form.columns):
        ordered = list(columns.values())
    else:
        raise Refused(f"the columns are {', '.join(form.columns[:50])}")
    return made([form.row(row) for row in zip(*ordered, strict=True)], ids, segments, times)


def _texts(values: list[Any] | None, name: str) -> list[str | None] | None:
    if values is None:
        return None
    for value in values:
        text = isinstance(value, str) and 1 <= len(value) <= 200 and value.isprintable()
        if value is not None and not text:
            raise Refused(f"{name} holds text of 1 to 200 printable characters")
    return values


def _moments(values: list[Any] | None) -> list[float | None] | None:
    if values is None:
        return None
    seconds = [value.timestamp() if hasattr(value, "timestamp") else value for value in values]
    for value in seconds:
        if value is not None and not (isinstance(value, int | float) and abs(value) <= 1e11):
            raise Refused("_time holds timestamps, or seconds since 1970")
    return seconds
