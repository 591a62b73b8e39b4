"""New rows outside the reference: levels it never shows, new gaps, numbers beyond its ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Severity, percent
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import all_in_one, share_of
from anharmonic.auditing.wording import cell_of, column_named, count_of, named, quoted
from anharmonic.measures.over_data.encoding import Column

__all__ = ["check_range", "check_unseen"]

LEAST = 0.002
"""The share of new rows below which it does not matter."""
SEVERE = 0.03
SEVERAL = 16
"""Levels of a column beyond which their number says something beside the most frequent one."""


class Outside(NamedTuple):
    """New rows that are outside the reference in one way, and how likely chance is."""

    column: str
    what: str
    rows: NDArray[np.bool_]
    chance: float
    expected: float


def check_unseen(context: Context) -> CheckResult:
    """Whether new rows have levels or gaps that rows like the reference's would not have.

    If both sides are drawn alike, which rows fell on which side is chance: cells that the
    reference lacks, all on one side, have an exact chance (hypergeometric).
    """
    ways = partial(_unseen, random=generator(context.seed, Stream.AUDIT_LEVELS))
    return _check(context, "unseen", "Levels and gaps that the reference lacks", ways)


def check_range(context: Context) -> CheckResult:
    """Whether new rows have numbers beyond the reference's, more than chance explains."""
    return _check(context, "range", "Numbers beyond the reference's", _beyond)


def _check(
    context: Context,
    name: str,
    title: str,
    ways: Callable[[Column, Floats, Floats], Iterator[Outside]],
) -> CheckResult:
    if context.new is None:
        return CheckResult(name, title, "", skipped="there are no new rows beside the reference")
    cases = [
        case for column in context.encoded.columns for case in ways(column, *context.cells(column))
    ]
    outside = np.zeros(len(context.new), dtype=bool)
    for case in cases:
        outside |= case.rows
    summary = (
        f"A cell that the reference never shows: {count_of(int(outside.sum()), 'new row')} of "
        f"{len(outside):,} ({percent(float(outside.mean()))})."
    )
    candidates = tuple(
        _finding(name, case, len(context.reference)) for case in cases if case.rows.mean() >= LEAST
    )
    return CheckResult(name, title, summary, candidates, tests=len(cases))


def _unseen(
    column: Column, new: Floats, known: Floats, random: np.random.Generator
) -> Iterator[Outside]:
    """Levels that no reference row has, and gaps where it has none."""
    gap, gaps = np.isnan(new), np.isnan(known)
    # Without a gap on either side there is nothing to test, however rows are dealt.
    if gap.any() and not gaps.any():
        chance = all_in_one(int(gap.sum()), len(new), len(known))
        yield Outside(column.name, "are missing", gap, chance, 1 / (len(known) + 1))
    if column.levels:
        yield _levels(column, new, known, random)


def _beyond(column: Column, new: Floats, known: Floats) -> Iterator[Outside]:
    """Numbers above and below all of the reference's."""
    inside = known[np.isfinite(known)]
    if column.levels or not len(inside) or inside.min() == inside.max():
        return
    for side, end, beyond in (
        ("above", inside.max(), new > inside.max()),
        ("below", inside.min(), new < inside.min()),
    ):
        chance = all_in_one(int(beyond.sum()), len(new), len(known))
        what = f"are {side} {cell_of(column, end)}, the reference's {_end(side)}"
        yield Outside(column.name, what, beyond, chance, 1 / (len(known) + 1))


def _end(side: str) -> str:
    return "largest" if side == "above" else "smallest"


def _levels(column: Column, new: Floats, known: Floats, random: np.random.Generator) -> Outside:
    """Levels that no reference row has; the surest of them says how likely chance is.

    Of many levels, such as codes of few rows each, none may be sure and all of them be.
    """
    present = new[~np.isnan(new)].astype(np.int64)
    counts = np.bincount(present, minlength=column.levels)
    before = np.bincount(known[~np.isnan(known)].astype(np.int64), minlength=column.levels)
    only = np.flatnonzero((before == 0) & (counts > 0))
    order = only[np.argsort(-counts[only], kind="stable")]
    chance = 1.0
    if len(order):
        # The chance that any level of so many rows or more falls on one side alone.
        together = before + counts
        frequent = together[together >= counts[order[0]]]
        chance = min(1.0, sum(all_in_one(int(size), len(new), len(known)) for size in frequent))
        if (together > 0).sum() > SEVERAL:
            # Two tests: each has half of the rate.
            chance = min(1.0, 2 * min(chance, _all_together(new, known, random)))
    names = named([quoted(column.texts[level]) for level in order.tolist()]) if len(order) else ""
    rows = np.isin(new, order)
    # Good and Turing: the chance of a new level is about the share of levels seen once.
    expected = float((before == 1).sum()) / max(1, len(known))
    return Outside(
        column.name,
        f"have a level that the reference never shows ({names})",
        rows,
        chance,
        expected,
    )


def _all_together(new: Floats, known: Floats, random: np.random.Generator) -> float:
    """The chance that so many levels, a random row of each, are new rows.

    If both sides are drawn alike, these rows fall on the two sides like any others
    (hypergeometric).
    """
    levels = np.concatenate([new, known])
    order = random.permutation(len(levels))
    order = order[~np.isnan(levels[order])]
    _, first = np.unique(levels[order], return_index=True)
    side, other = (int((~np.isnan(part)).sum()) for part in (new, known))
    met = int((order[first] < len(new)).sum())
    return float(hypergeom.sf(met - 1, side + other, side, len(first)))


def _finding(check: str, case: Outside, known: int) -> Finding:
    hits, count = int(case.rows.sum()), len(case.rows)
    share = share_of(hits, count)
    severity: Severity = "high" if share.low >= SEVERE else "medium"
    where = column_named(case.column)
    return Finding(
        check=check,
        name="Unseen values" if check == "unseen" else "Numbers out of range",
        severity=severity,
        subject=where,
        what=f"In {where}, {share} of the new rows {case.what}.",
        comparison=(
            f"Rows drawn like the {known:,} of the reference would do so in about "
            f"{percent(case.expected)} of cases."
        ),
        next_step=(
            f"Fit the model to rows with such cells, or mend {where} where it is made; until then "
            "treat answers at these rows as guesses."
        ),
        measured=share,
        chance=case.chance,
        columns=(case.column,),
        rows=tuple(np.flatnonzero(case.rows)[:20].tolist()),
        side="new",
        picture=Picture(
            "dots",
            f"Share of rows outside the reference, {where}",
            unit="share",
            bars=(
                Bar("new rows", share.value, share.low, share.high, "subject"),
                Bar("by chance", case.expected),
            ),
        ),
    )
