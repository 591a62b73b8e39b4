"""What an alarm says of itself, as it is stored: in words, and what carries it."""

from __future__ import annotations

import json
from dataclasses import replace

from anharmonic.monitor import Alarm

__all__ = ["details_of"]

MOST_CARRIERS = 20
MOST_CHARACTERS = 2_000


def details_of(alarm: Alarm, at: int, since: int) -> str:
    """The alarm's words, and what carries it one by one, as JSON.

    Parameters
    ----------
    alarm
        As the monitor raised it.
    at, since
        Its rows as the store numbers them.
    """
    # The remark is stored beside them.
    words = str(replace(alarm, at=at, since=since, remark=""))
    carriers = [carrier[:MOST_CHARACTERS] for carrier in alarm.carriers[:MOST_CARRIERS]]
    return json.dumps({"words": words[:MOST_CHARACTERS], "carriers": carriers})
