"""A finding: what is wrong, how sure that is, compared with what, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from anharmonic.auditing.picture import Picture

__all__ = ["SEVERITIES", "CheckResult", "Finding", "Measured", "Severity", "at_least", "times"]

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")
"""The worst first."""
LISTED = 12
"""Rows that are named with a finding."""


def at_least(severity: Severity, limit: Severity) -> bool:
    """Whether one severity is as bad as a limit, or worse.

    >>> at_least("high", "medium"), at_least("low", "medium")
    (True, False)
    """
    return SEVERITIES.index(severity) <= SEVERITIES.index(limit)


class Measured(NamedTuple):
    """A number, the interval it is in at 95%, and how it is written: "share", "times", "number".

    >>> print(Measured(0.1234, 0.1, 0.15, "share"))
    12% (10% to 15%)
    >>> print(Measured(3.04, 2.51, 3.66, "times"))
    3.0 times (2.5 to 3.7)
    >>> print(Measured(0.0512, 0.04, 0.061))
    0.051 (0.04 to 0.061)
    >>> print(Measured(3812.0, 2200.0, 6591.0))
    3,800 (2,200 to 6,600)
    """

    value: float
    low: float
    high: float
    unit: Literal["share", "times", "number"] = "number"

    def __str__(self) -> str:
        if self.unit == "share":
            value, low, high = (percent(part) for part in self[:3])
            return f"{value} ({low} to {high})"
        if self.unit == "times":
            return f"{times(self.value)} times ({times(self.low)} to {times(self.high)})"
        value, low, high = (_two_digits(part) for part in self[:3])
        return f"{value} ({low} to {high})"


def percent(share: float) -> str:
    """A share as people write it: a digit more where it is near 0 or 1.

    >>> percent(0.123), percent(0.0123), percent(0.0), percent(0.998), percent(1.0)
    ('12%', '1.2%', '0%', '99.8%', '100%')
    >>> percent(0.0001), percent(0.99999)
    ('under 0.1%', 'over 99.9%')
    """
    if 0 < share < 0.0005:
        return "under 0.1%"
    if 0.9995 <= share < 1:
        return "over 99.9%"
    near_an_end = 0 < share < 0.095 or 0.95 < share < 1
    return f"{share:.1%}" if near_an_end else f"{share:.0%}"


def _two_digits(value: float) -> str:
    text = f"{value:.2g}"
    return f"{float(text):,.0f}" if 100 <= abs(value) < 1e15 else text


def times(ratio: float) -> str:
    """Two digits are enough of a ratio: its interval is far wider than the third.

    >>> times(3.04), times(53.02), times(1234.5)
    ('3.0', '53', '1,234')
    """
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Parameters
    ----------
    check
        The name of the check that found it, such as "leak".
    name
        The fault, such as "Leaked label".
    severity : "high", "medium" or "low"
        How much it matters.
    subject
        What it is about: a column, a region, rows, or the model.
    what
        A sentence that names the subject, with the number and its interval.
    comparison
        What that number is held against.
    next_step
        What to do about it.
    measured
        The number and its 95% interval.
    chance
        The chance of evidence as strong as this from a clean model and clean data, at most.
    queries
        What the check cost, in rows that the model was asked for.
    columns, rows
        The columns it is about, and rows to look at first, counted from 0; `side` says of which
        data they are.
    row_names
        What these rows are called, where the user's rows have names.
    drawn
        Whether rows are counted among those that were drawn of a source.
    picture
        Where one says something.
    facts
        Further numbers, by name.
    """

    check: str
    name: str
    severity: Severity
    subject: str
    what: str
    comparison: str
    next_step: str
    measured: Measured
    chance: float
    queries: int = 0
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    side: Literal["reference", "new", ""] = ""
    row_names: tuple[str, ...] = ()
    drawn: bool = False
    picture: Picture | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        said = f"{self.name} ({self.severity}): {self.what} {self.comparison} {self.next_step}"
        return f"{said} {self.listed}" if self.rows else said

    @property
    def listed(self) -> str:
        """The rows to look at first, in a sentence; empty where there are none.

        >>> seen = Measured(0.5, 0.4, 0.6), 0.0
        >>> Finding("c", "n", "low", "s", "w", "c", "x", *seen, rows=(3, 1200), side="new").listed
        'Rows to look at first among the new ones, counted from 0: 3, 1,200.'
        """
        if not self.rows:
            return ""
        where = "in the reference" if self.side == "reference" else "among the new ones"
        if self.row_names:
            return f"Rows to look at first {where}: {', '.join(self.row_names[:LISTED])}."
        among = " in the sample that was drawn" if self.drawn else ""
        rows = ", ".join(f"{row:,}" for row in self.rows[:LISTED])
        return f"Rows to look at first {where}, counted from 0{among}: {rows}."

    def plain(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        kept = asdict(self) | {"measured": self.measured._asdict(), "facts": dict(self.facts)}
        kept["picture"] = None if self.picture is None else self.picture.plain()
        return kept


@dataclass(frozen=True)
class CheckResult:
    """What one check did: findings that it proposes, how many tests it made, what it cost.

    Parameters
    ----------
    check, title
        Its name, and what it is called for people.
    summary
        What it saw, in a sentence, whether or not anything is wrong.
    candidates
        Proposed findings, each with its `chance`; which of them hold is up to the page's rate.
    tests
        How many tests were made, those without a candidate among them.
    queries
        Rows that the model was asked for.
    skipped
        Why it was not done, where it was not.
    picture
        What it saw, where a picture says it and no finding does.
    factual
        Whether its findings are facts about the rows that were asked, with no chance in them: such
        a check takes no part of the page's rate.
    """

    check: str
    title: str
    summary: str
    candidates: tuple[Finding, ...] = ()
    tests: int = 1
    queries: int = 0
    skipped: str = ""
    picture: Picture | None = None
    seconds: float = 0.0
    factual: bool = False
