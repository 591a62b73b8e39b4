"""How many calls scoring may make, of its own and because clients ask for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from anharmonic.errors import SettingsError

__all__ = ["Allowance"]


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass
class Allowance:
    """The most calls that scoring may make, and what share of them clients may ask for.

    All of it happens in one event loop, so nothing needs a lock.

    Parameters
    ----------
    calls
        The most calls; None is no limit.
    daily
        Whether that is per day (UTC), or in all.
    asked
        The share that clients may spend by asking for a score.
    today
        What gives the day.
    spent, spent_asked
        Calls so far, and those of them that clients asked for.

    Examples
    --------
    >>> allowance = Allowance.read("100 per day", asked=0.5)
    >>> [allowance.take(40, asked=True) for _ in range(2)], allowance.take(40, asked=False)
    ([True, False], True)
    """

    calls: int | None = None
    daily: bool = True
    asked: float = 1.0
    today: Callable[[], date] = field(default=_today, repr=False)
    spent: int = 0
    spent_asked: int = 0
    _day: date | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.asked <= 1 or (self.calls is not None and self.calls < 0):
            raise SettingsError("a budget is from 0 calls on, and clients' share from 0 to 1")

    @classmethod
    def read(cls, text: str, asked: float = 1.0) -> Allowance:
        """From words: "10000 per day", "10000" in all, or "none" for no limit."""
        if text.strip() == "none":
            return cls(asked=asked)
        match = re.fullmatch(r"\s*([\d,_]+)(\s+per\s+day)?\s*", text)
        number = re.sub(r"[,_]", "", match[1]) if match else ""
        if match is None or not number:
            raise SettingsError(f'a budget of {text!r}: write "10000 per day", "10000" or "none"')
        return cls(int(number), match[2] is not None, asked)

    def take(self, calls: int, asked: bool) -> bool:
        """Set calls aside; False where they are not covered."""
        if self.daily and self._day != (day := self.today()):
            self._day, self.spent, self.spent_asked = day, 0, 0
        if asked and not self.asked:
            return False
        if self.calls is not None:
            if self.spent + calls > self.calls:
                return False
            if asked and self.spent_asked + calls > self.asked * self.calls:
                return False
        self.settle(calls, asked)
        return True

    def settle(self, further: int, asked: bool) -> None:
        """Count calls beyond those set aside (retries), or fewer where `further` is negative."""
        self.spent = max(0, self.spent + further)
        self.spent_asked = max(0, self.spent_asked + further * asked)

    def plain(self) -> dict[str, object]:
        """As plain values."""
        return {"calls": self.calls, "daily": self.daily, "spent": self.spent, "asked": self.asked}
