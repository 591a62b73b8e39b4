"""What an alarm says of itself, as it is stored: in words, and what carries it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from anharmonic.monitor import Alarm

__all__ = ["details_of"]

MOST_NAMES = 20
MOST_CHARACTERS = 2_000


def details_of(alarm: Alarm, at: int, since: int) -> str | None:
    """The alarm's words, and the columns and segments that it names, as JSON.

    Parameters
    ----------
    alarm
        As the monitor raised it.
    at, since
        Its rows as the store numbers them.
    """
    details: dict[str, object] = {}
    if isinstance(alarm, Alarm):
        # The remark is stored beside them.
        words = str(replace(alarm, at=at, since=since, remark=""))
        details["words"] = words[:MOST_CHARACTERS]
    for name in ("columns", "segments"):
        carriers = getattr(alarm, name, None)
        if carriers:
            details[name] = _listed(carriers)
    return json.dumps(details) if details else None


def _listed(carriers: object) -> list[str]:
    """Names, with what is said of each where it is a mapping."""
    if isinstance(carriers, Mapping):
        words = [f"{name}: {value}" for name, value in carriers.items()]
    elif isinstance(carriers, Iterable) and not isinstance(carriers, str):
        words = [str(carrier) for carrier in carriers]
    else:
        words = [str(carriers)]
    return [word[:MOST_CHARACTERS] for word in words[:MOST_NAMES]]
