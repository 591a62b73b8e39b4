"""Rate limit for log lines that clients can cause: one per interval, with a count."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["LogThrottle"]

MOST_NAMES = 1_000


class LogThrottle:
    """Lets one line per interval through for each name, and counts those in between.

    Parameters
    ----------
    seconds
        The interval.
    clock
        Gives the time in seconds; it must not go back.

    >>> clock = iter([0.0, 1.0, 2.0, 11.0])
    >>> log_throttle = LogThrottle(10.0, clock=lambda: next(clock))
    >>> [log_throttle.due("a") for _ in range(4)]
    [1, 0, 0, 3]
    """

    def __init__(self, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        self._names: dict[str, tuple[float, int]] = {}

    def due(self, name: str = "") -> int:
        """How many lines of a name this one stands for, itself included; 0: do not write it."""
        now = self._clock()
        last, missed = self._names.get(name, (float("-inf"), 0))
        if now - last < self.seconds:
            self._names[name] = (last, missed + 1)
            return 0
        if len(self._names) >= MOST_NAMES:
            # Names hold clients' addresses: without an end to them memory would grow.
            self._names.clear()
        self._names[name] = (now, 0)
        return missed + 1
