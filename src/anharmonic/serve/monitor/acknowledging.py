"""Somebody has looked at an alarm, and says so."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json
from sqlalchemy import update

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.schema import alarms
from anharmonic.serve.monitor.store import Store

__all__ = ["ACKNOWLEDGEMENT_SCHEMA", "parse_acknowledgement", "write_acknowledgement"]

MOST = {"by": 100, "note": 2_000}
"""Characters of who it was, and of what they say."""
ACKNOWLEDGEMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["by"],
    "properties": {
        "by": {"type": "string", "minLength": 1, "maxLength": MOST["by"]},
        "note": {"type": "string", "maxLength": MOST["note"]},
    },
    "additionalProperties": False,
}


def parse_acknowledgement(body: bytes) -> tuple[str, str]:
    """Who acknowledges, and their note."""
    try:
        payload = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise BadRequest("the body is not JSON") from None
    if not isinstance(payload, dict) or not {"by"} <= set(payload) <= set(MOST):
        raise BadRequest('send {"by": "…", "note": "…"}')
    by, note = (_text(payload.get(name, ""), name) for name in ("by", "note"))
    if not by:
        raise BadRequest("by is empty: say who has looked")
    if not by.isprintable():
        raise BadRequest("by is one line of printable characters")
    return by, note


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{name} is text")
    text = value.replace("\r\n", "\n").strip()
    if len(text) > MOST[name]:
        raise BadRequest(f"{name} has at most {MOST[name]:,} characters", status=413, kind="size")
    if not all(character.isprintable() or character in "\n\t" for character in text):
        raise BadRequest(f"{name} holds characters that cannot be shown")
    return text


def write_acknowledgement(
    store: Store, monitor: str, id: str, moment: float, by: str, note: str
) -> bool:
    """Write it to the alarm, in an earlier one's place; whether there is such an alarm."""
    own = (alarms.c.monitor == monitor, alarms.c.id == id)
    values = {"acknowledged": moment, "acknowledged_by": by, "note": note}
    with store.writing() as connection:
        return connection.execute(update(alarms).where(*own).values(values)).rowcount == 1
