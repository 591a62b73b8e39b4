"""Dead regions: the model gives one and the same answer where labels and other models vary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.auditing.checks.describing import Place, describe_rows
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured, Severity, percent
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import above, share_of
from anharmonic.measures.over_data.encoding import Encoded

__all__ = ["check_dead"]

NAME, TITLE = "dead region", "Dead regions"
LEAST, SEVERE = 0.03, 0.15
"""The share of different rows with one answer from which it matters."""
ALONE = 10
"""So many times as frequent as any other answer, a repeated one is no accident of leaves."""
VARIES = 0.5
"""A judge varies there at least so much as elsewhere, where the model should have varied."""


class Repeated(NamedTuple):
    """Different rows, which of them have the most frequent answer, and the next one's share.

    `is_end` says whether that answer is an end of what can be answered: a class that is sure, or
    the smallest or largest number. Votes, leaves and clipped numbers pile up there by nature.
    """

    part: Encoded
    rows: NDArray[np.bool_]
    of_reference: NDArray[np.bool_]
    places: NDArray[Any]
    next_share: float
    is_end: bool


def check_dead(context: Context) -> CheckResult:
    """The most frequent answer among different rows, and whether anything should vary there."""
    repeated = _repeated(context)
    share = share_of(int(repeated.rows.sum()), len(repeated.rows))
    summary = (
        f"The most frequent answer is that of {share} of {len(repeated.rows):,} different rows."
    )
    if share.value < LEAST or repeated.rows.all():
        return CheckResult(NAME, TITLE, summary)
    stands_out = share.value >= ALONE * repeated.next_share and not repeated.is_end
    judged = _judged(context, repeated)
    if judged is None and not stands_out:
        return CheckResult(NAME, TITLE, summary)
    chance, varies = judged or (0.0, 1.0)
    if varies < VARIES and not stands_out:
        return CheckResult(NAME, TITLE, summary)
    if varies >= VARIES and stands_out:
        # Answers that are nearly all different have no leaf that rows could share by chance. Where
        # little varies, labels must say that it does: the chance is theirs.
        chance = 0.0
    place = describe_rows(repeated.part, repeated.rows)
    finding = _finding(context, share, repeated, place, chance, varies, judged is not None)
    return CheckResult(NAME, TITLE, summary, (finding,))


def _repeated(context: Context) -> Repeated:
    """Rows of both samples without copies, and the answer that most of them share."""
    parts = [context.part(context.reference)]
    answers = [context.reference.answers]
    if context.new is not None:
        parts.append(context.part(context.new))
        answers.append(context.new.answers)
    columns = tuple(
        column._replace(values=np.concatenate([part.columns[place].values for part in parts]))
        for place, column in enumerate(parts[0].columns)
    )
    both = Encoded(columns, parts[0].used, parts[0].left_out)
    _, first = np.unique(both.words(), axis=0, return_index=True)
    first = np.sort(first)
    stacked = np.concatenate(answers)[first]
    different, kind, counts = np.unique(stacked, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    following = counts[order[1]] / len(first) if len(order) > 1 else 0.0
    kept = Encoded(
        tuple(column._replace(values=column.values[first]) for column in columns),
        both.used,
        both.left_out,
    )
    return Repeated(
        kept,
        kind.reshape(-1) == order[0],
        first < len(context.reference.sample),
        first,
        float(following),
        _is_end(context, different[order[0]], stacked),
    )


def _is_end(context: Context, answer: Floats, answers: Floats) -> bool:
    if context.task == "classes":
        return bool(answer.max() > 1 - 1e-9)
    return bool(answer[0] in (answers.min(), answers.max()))


def _judged(context: Context, repeated: Repeated) -> tuple[float, float] | None:
    """Whether the judge tells labels apart among the rows of one answer, and how it varies there.

    The chance that the judge beats the labels' own mean there by luck (Brier's score, or the
    squared error), and the spread of its answers there in units of that over all rows.
    """
    judge, labels = context.judge, context.reference.sampled_labels
    if judge is None or labels is None:
        return None
    rows = repeated.places[repeated.of_reference & repeated.rows]
    if len(rows) < 20:
        return None
    # Decisions are held against decisions: graded answers say more, and nothing is wrong.
    hard = bool(np.isin(context.reference.answers, (0.0, 1.0)).all())
    everywhere = context.decided(judge.held_out) if hard else judge.held_out
    said, given = everywhere[rows], labels[rows]
    truth = (
        (given[:, None] == np.arange(said.shape[1])).astype(np.float64)
        if context.task == "classes"
        else given[:, None].astype(np.float64)
    )
    gain = ((truth - truth.mean(axis=0)) ** 2 - (truth - said) ** 2).sum(axis=1)
    return above(gain), _spread(said) / max(_spread(everywhere), 1e-12)


def _spread(answers: Floats) -> float:
    return float(np.sqrt(answers.var(axis=0).sum()))


def _finding(
    context: Context,
    share: Measured,
    repeated: Repeated,
    place: Place,
    chance: float,
    varies: float,
    judged: bool,
) -> Finding:
    severity: Severity = "high" if share.low >= SEVERE else "medium"
    judge = context.judge
    others = f"The next most frequent answer is that of {percent(repeated.next_share)}"
    if judged and judge is not None:
        others += (
            f"; at the same rows {judge.yardstick.words} varies {varies:.2g} times as much as "
            "over all rows"
        )
    covered = float((place.rows & repeated.rows).sum()) / max(1, int(repeated.rows.sum()))
    return Finding(
        check=NAME,
        name="Dead region",
        severity=severity,
        subject=place.words,
        what=(
            f"The model gives one and the same answer at {share} of {len(repeated.rows):,} "
            f"different rows, mostly where {place.words} ({percent(covered)} of them)."
        ),
        comparison=f"{others}.",
        next_step=(
            f"Look at what happens to rows where {place.words} before the model (a filter, a "
            "default, a clipped or missing value), and at its answers there one by one."
        ),
        measured=share,
        chance=chance,
        columns=(place.column,),
        picture=Picture(
            "dots",
            "Share of different rows that have one and the same answer",
            unit="share",
            bars=(
                Bar("most frequent answer", share.value, share.low, share.high, "subject"),
                Bar("next most frequent", repeated.next_share),
            ),
        ),
    )
