"""How many rows and neighbours an audit asks for, what that costs, and how long it will take."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from anharmonic.auditing.asking import Meter, ask_patiently
from anharmonic.auditing.given import Given
from anharmonic.errors import SettingsError
from anharmonic.measures.over_data.asking import compared_columns

__all__ = ["BUDGET", "LEAST", "Plan", "make_plan"]

BUDGET = 30_000
"""Queries in all, if nothing else is said."""
LEAST = 400
"""The fewest with which an audit begins."""
TIMED = 64
"""Rows that are asked to see how fast the model is."""


@dataclass(frozen=True)
class Plan:
    """What an audit asks for.

    Parameters
    ----------
    reference_rows, new_rows
        The most rows of each side that the model is asked at.
    fragile_rows, directions
        Decisions that are tried at neighbours, and how many neighbours each.
    leaning_rows
        Rows at which each column is exchanged in turn.
    repeated_rows
        Rows that are asked again.
    columns
        How many columns there are.
    yardsticks
        Whether labels are there to fit quick models to.
    seconds_per_query
        What a query took in a first call.
    """

    reference_rows: int = 3_000
    new_rows: int = 1_500
    fragile_rows: int = 200
    directions: int = 16
    leaning_rows: int = 150
    repeated_rows: int = 128
    columns: int = 0
    yardsticks: bool = True
    seconds_per_query: float = 0.0

    @property
    def queries(self) -> int:
        """At most, everything included."""
        return (
            self.reference_rows
            + self.new_rows
            + self.fragile_rows * (1 + self.directions)
            + self.leaning_rows * (1 + self.columns)
            + 4 * self.repeated_rows
        )

    @property
    def seconds(self) -> float:
        """A guess: the model's own time, and what fits and comparisons take beside it."""
        thousands = (self.reference_rows + self.new_rows) / 1000
        own = 1.5 + thousands * (0.35 + 0.01 * self.columns)
        if self.yardsticks:
            own += thousands * (3.0 + 0.12 * self.columns)
        return own + self.queries * self.seconds_per_query

    def __str__(self) -> str:
        times = f"{1000 * self.seconds_per_query:.2g} ms per row"
        beside = "with" if self.yardsticks else "without labels and so without"
        return (
            f"An audit of {self.reference_rows:,} reference rows and {self.new_rows:,} new ones: "
            f"at most {self.queries:,} queries at {times}, {beside} yardstick models, "
            f"about {_duration(self.seconds)}."
        )


def _duration(seconds: float) -> str:
    """A time as people say it.

    >>> _duration(4.2), _duration(75), _duration(4000)
    ('5 s', '1 min 15 s', '1 h 7 min')
    """
    whole = int(np.ceil(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {round(whole % 3600 / 60)} min"


def make_plan(given: Given, budget: int | None, meter: Meter) -> Plan:
    """What fits the rows, the columns and the budget; a few rows are asked to time the model."""
    if budget is not None and budget < LEAST:
        raise SettingsError(f"budget={budget}: an audit needs {LEAST} queries at least")
    first = given.reference if given.new is None else given.new
    names = compared_columns(given.model, first, None) or list(first.names)
    full = Plan(
        reference_rows=min(Plan.reference_rows, len(given.reference)),
        new_rows=0 if given.new is None else min(Plan.new_rows, len(given.new)),
        fragile_rows=min(Plan.fragile_rows, len(first)),
        leaning_rows=min(Plan.leaning_rows, len(first)),
        repeated_rows=min(Plan.repeated_rows, len(given.reference)),
        columns=len(names),
        yardsticks=given.reference_labels is not None,
    )
    rows = np.linspace(0, len(given.reference) - 1, min(TIMED, len(given.reference))).astype(int)
    ask_patiently(given.model, given.reference, rows[:1], meter)
    begun = time.perf_counter()
    ask_patiently(given.model, given.reference, rows, meter)
    spent = (time.perf_counter() - begun) / len(rows)
    return replace(_within(full, budget or BUDGET), seconds_per_query=spent)


def _within(plan: Plan, budget: int) -> Plan:
    """The plan with as few rows as the budget takes: neighbours go first, then the samples."""
    for share in (1.0, 0.5, 0.25, 0.1):
        smaller = replace(
            plan,
            fragile_rows=int(share * plan.fragile_rows),
            leaning_rows=int(share * plan.leaning_rows),
        )
        if smaller.queries <= budget:
            return smaller
    spare = replace(plan, fragile_rows=0, leaning_rows=0)
    if spare.queries <= budget:
        return spare
    asked = max(1, spare.reference_rows + spare.new_rows)
    share = (budget - 2 * TIMED) / (asked + 4 * spare.repeated_rows)
    return replace(
        spare,
        reference_rows=max(1, int(share * spare.reference_rows)),
        new_rows=int(share * spare.new_rows),
        repeated_rows=max(1, int(share * spare.repeated_rows)),
    )
