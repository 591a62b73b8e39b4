"""Drift between the reference and the new rows: of every column, and of the model's answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

from anharmonic._core.protocols import Floats
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured, Severity
from anharmonic.auditing.picture import Picture, shares_of
from anharmonic.auditing.wording import (
    cell_of,
    chance_of,
    column_named,
    count_of,
    number_of,
    quoted,
)
from anharmonic.measures.over_data.encoding import Column

__all__ = ["check_drift"]

NAME, TITLE = "drift", "Drift of inputs and answers"
LEAST, SEVERE = 0.08, 0.3
"""Distances between distributions below which drift does not matter, and from which it is severe:
the largest difference of shares of rows (Kolmogorov's for numbers, total variation for levels)."""
ANSWERS = {"classes": 0.05, "numbers": 0.2}
"""The same for the mean answer: a probability, or a part of the answers' spread."""
SIDES = ("reference", "new rows")
MOST_LEVELS = 12


class Compared(NamedTuple):
    """Two sides of one column or answer: how far apart, with an interval, and chance's chance."""

    subject: str
    column: str
    measured: Measured
    chance: float
    change: str
    picture: Picture
    part: Literal["input", "answer"]
    of: str = ""


def check_drift(context: Context) -> CheckResult:
    """Two-sample tests of every column and of the answers."""
    if context.new is None:
        return CheckResult(NAME, TITLE, "", skipped="there are no new rows beside the reference")
    if len(context.new.sample) < 2:
        return CheckResult(NAME, TITLE, "", skipped="one new row shows no drift", tests=0)
    compared = [*_columns(context), *_answers(context)]
    candidates = tuple(
        _finding(case, len(context.reference), len(context.new))
        for case in compared
        if case.measured.value >= (LEAST if case.part == "input" else ANSWERS[context.task])
    )
    inputs = [case for case in compared if case.part == "input"]
    most = max(inputs or compared, key=lambda case: case.measured.value)
    summary = (
        f"Of {count_of(len(compared), 'distribution')} compared, {most.subject} differs most: by "
        f"{most.measured} of the rows."
    )
    return CheckResult(NAME, TITLE, summary, candidates, tests=len(compared))


def _columns(context: Context) -> Iterator[Compared]:
    for column in context.encoded.columns:
        new, known = context.cells(column)
        where = column_named(column.name)
        gap, gaps = np.isnan(new), np.isnan(known)
        # Gaps and levels that the reference lacks are another check's.
        if gaps.any():
            yield _shares(f"the gaps in {where}", column.name, gaps * 1.0, gap * 1.0)
        new, known = new[~gap], known[~gaps]
        if column.levels:
            new = new[np.isin(new, known)]
        if len(new) < 2 or len(known) < 2:
            continue
        if _has_levels(column, known, new):
            yield _levels(where, column, known, new)
        else:
            yield _numbers(where, column, known, new)


def _has_levels(column: Column, known: Floats, new: Floats) -> bool:
    """Categories, and numbers of two values: an order says nothing about them."""
    return bool(column.levels) or len(np.unique(np.concatenate([known, new]))) <= 2


def _answers(context: Context) -> Iterator[Compared]:
    assert context.new is not None
    known, new = context.reference.answers, context.new.answers
    if context.task == "numbers":
        spread = float(known.std()) or 1.0
        yield _means("the model's answer", known[:, 0], new[:, 0], spread)
        return
    # Of two classes one says it all.
    places = range(known.shape[1]) if known.shape[1] > 2 else (1,)
    for place in places:
        named = f"the model's {context.reading.word} of {quoted(context.classes[place])}"
        yield _means(named, known[:, place], new[:, place], 1.0)


def _means(subject: str, known: Floats, new: Floats, unit: float) -> Compared:
    """The mean answer by Welch's test or Student's, whichever is the less sure.

    Not of the whole distribution: a model is surer at rows that it was fitted to, and that is no
    drift. Welch takes each side's spread from its own rows; of a few new ones that all happen to
    get the same answer it is 0, and anything would look like drift beside it.
    """
    tests = [stats.ttest_ind(known, new, equal_var=equal) for equal in (False, True)]
    tested = max(tests, key=lambda test: float(np.nan_to_num(test.pvalue, nan=1.0)))
    before, after = float(known.mean()), float(new.mean())
    interval = tested.confidence_interval(0.95)
    apart = (before - after) / unit
    ends = (interval.low / unit, interval.high / unit)
    low, high = ends if apart >= 0 else (-ends[1], -ends[0])
    return Compared(
        subject,
        "",
        Measured(abs(apart), max(0.0, low), high, "share"),
        float(np.nan_to_num(tested.pvalue, nan=1.0)),
        f"its mean goes from {number_of(before, 3)} to {number_of(after, 3)}",
        shares_of(f"Distribution of {subject}", known, new, SIDES),
        "answer",
        "" if unit == 1 else " of its spread",
    )


def _numbers(subject: str, column: Column, known: Floats, new: Floats) -> Compared:
    """Kolmogorov and Smirnov's test; ties only make it more careful."""
    tested = stats.ks_2samp(known, new, method="auto")
    distance = float(tested.statistic)
    # Dvoretzky, Kiefer and Wolfowitz bound each side's error; of both together at 95%.
    reach = sum(float(np.sqrt(np.log(2 / 0.025) / (2 * len(side)))) for side in (known, new))
    measured = Measured(distance, max(0.0, distance - reach), min(1.0, distance + reach), "share")
    before, after = float(np.median(known)), float(np.median(new))
    change = f"its median goes from {cell_of(column, before, 3)} to {cell_of(column, after, 3)}"
    picture = shares_of(
        f"Distribution of {subject}", known, new, SIDES, words=partial(cell_of, column, digits=3)
    )
    return Compared(subject, column.name, measured, float(tested.pvalue), change, picture, "input")


def _levels(where: str, column: Column, known: Floats, new: Floats) -> Compared:
    levels = np.unique(known) if column.levels else np.unique(np.concatenate([known, new]))
    counts = np.array([[np.sum(side == level) for level in levels] for side in (known, new)])
    names = [
        column.texts[int(level)] if column.texts else number_of(level) for level in levels.tolist()
    ]
    return _counted(where, column.name, counts, names)


def _shares(subject: str, column: str, known: Floats, new: Floats) -> Compared:
    counts = np.array([[np.sum(side == 0), np.sum(side == 1)] for side in (known, new)])
    return _counted(subject, column, counts, ["present", "missing"])


def _counted(subject: str, column: str, counts: Floats, names: list[str]) -> Compared:
    """Counts of levels, (2, levels): the chance by a χ² test, exact where there are two levels."""
    sizes = counts.sum(axis=1)
    shares = counts / sizes[:, None]
    distance = float(np.abs(shares[0] - shares[1]).sum() / 2)
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    shown = order[:MOST_LEVELS]
    moved = int(np.argmax(np.abs(shares[1] - shares[0])))
    change = (
        f"the share of {quoted(names[moved])} goes from {shares[0, moved]:.0%} to "
        f"{shares[1, moved]:.0%}"
    )
    # The error of each share, at most √(1/4n): of half a sum of absolute differences no more.
    reach = 1.96 * float(np.sqrt(0.25 / sizes[0] + 0.25 / sizes[1]))
    return Compared(
        subject,
        column,
        Measured(distance, max(0.0, distance - reach), min(1.0, distance + reach), "share"),
        _chance(counts),
        change,
        Picture(
            "levels",
            f"Distribution of {subject}",
            bins=tuple(names[place] for place in shown.tolist()),
            sides=tuple(
                (name, tuple(side[shown].round(5).tolist()))
                for name, side in zip(SIDES, shares, strict=True)
            ),
        ),
        "input",
    )


def _chance(counts: Floats) -> float:
    """Fisher's exact test of two levels; of more, χ² with rare levels put together."""
    used = counts[:, counts.sum(axis=0) > 0]
    if used.shape[1] < 2:
        return 1.0
    if used.shape[1] == 2:
        return float(stats.fisher_exact(used.astype(np.int64)).pvalue)
    expected = used.sum(axis=0) * used.sum(axis=1).min() / used.sum()
    common = used[:, expected >= 5]
    rare = used[:, expected < 5].sum(axis=1, keepdims=True)
    table = np.hstack([common, rare]) if rare.sum() else common
    if table.shape[1] < 2:
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def _finding(case: Compared, known: int, new: int) -> Finding:
    severity: Severity = "high" if case.measured.low >= SEVERE else "medium"
    is_answer = case.part == "answer"
    return Finding(
        check=NAME,
        name="Drifted answers" if is_answer else "Drifted column",
        severity=severity,
        subject=case.subject,
        what=(
            f"Between the reference and the new rows, {case.subject} moves by {case.measured}"
            f"{case.of}: {case.change}."
            if is_answer
            else f"Between the reference and the new rows, {case.subject} differs for "
            f"{case.measured} of the rows: {case.change}."
        ),
        comparison=(
            f"Two random halves of the same {known + new:,} rows would differ so much with a "
            f"chance of {chance_of(case.chance)}."
        ),
        next_step=(
            "Look at the drifted columns first: the answers follow them; then label some of the "
            "new rows and score the model there."
            if is_answer
            else f"Find out what changed in {case.subject}, and label some of the new rows to see "
            "whether the model still holds."
        ),
        measured=case.measured,
        chance=case.chance,
        columns=(case.column,) if case.column else (),
        picture=case.picture,
    )
