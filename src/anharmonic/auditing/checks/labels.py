"""Labels that other rows contradict: how many are wrong at least, and which to look at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from anharmonic._core.protocols import Floats
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured, Severity, percent
from anharmonic.auditing.judging import Judge
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import higher, share_above, share_of
from anharmonic.auditing.wording import number_of
from anharmonic.auditing.wrong_labels import flipped_share, swapped_share
from anharmonic.measures.over_data.distinct import row_keys

__all__ = ["check_labels"]

NAME, TITLE = "labels", "Suspect labels"
SURE = 0.5
"""The share of rows at which the judge is surest, where its labels are looked at."""
CLEAN = 0.045
"""Labels that contradict it there, at most, where none is wrong."""
HARDEST, EASY, AHEAD = 0.25, 0.19, 0.8
"""A judge that errs more often than the first cannot tell wrong labels from classes that overlap;
nor can one that errs more often than the second and hardly less than the most frequent class."""
LEVELS = 0.05
"""The chance that the share of right answers seems to level off below 1 where it does not, at most,
so that it is taken to do so."""
GOOD = 0.3
"""The share of the most frequent class's errors below which a judge is good. Then it need not be
shown that the share of right answers levels off, which cannot be where all answers are as sure."""
FLIPPED = 0.06
"""How far below 1 it must level off: labels have some noise by nature."""
EXPLAINED = 0.6
"""A judge of numbers that explains less of the labels' variance cannot tell either: errors at
labels of other rows are √((1+R²)/(1−R²)) times as large as others, which is 2 here. Below that
errors that are skewed, or larger at some rows, look like them."""
GRADES = 20
"""Numbers of so many different values or fewer are grades or counts: their errors come in steps,
and no error of one step can be told from a label of another row."""
SWAPPED = 0.02
"""Labels of numbers that belong to other rows, at most, where none is wrong."""
SEVERE = 0.08
HARDER = 0.04
"""How much more of the labels, or of their variance, the judge must miss at the reference than at
new rows, so that it matters."""
FEWEST = 50
"""Rows of either side, no copies, that are compared."""


def check_labels(context: Context) -> CheckResult:
    """Wrong labels keep contradicting however sure the answer is; classes that overlap do not."""
    labels, judge = context.reference.sampled_labels, context.judge
    if labels is None or judge is None:
        return CheckResult(NAME, TITLE, "", skipped="no labels of the reference were given")
    seen = _classes if context.task == "classes" else _numbers
    return _with_new(context, seen(context, labels, judge), labels, judge)


def _with_new(
    context: Context, result: CheckResult, labels: NDArray[Any], judge: Judge
) -> CheckResult:
    """The same, with labels of new rows, where there are any, as a second look.

    They say how hard rows are: what the judge gets wrong at the reference beyond that is due to
    the reference's labels, or to new rows that are easier. Of both looks the surer one counts.
    """
    if context.new is None or context.new.sampled_labels is None:
        return result
    finding = _harder_than_new(context, labels, context.new.sampled_labels, judge)
    both = [*result.candidates, *([] if finding is None else [finding])]
    tests = max(1, result.tests) + 1
    if not both:
        return replace(result, tests=1)
    surest = min(both, key=lambda each: each.chance)
    kept = replace(surest, chance=min(1.0, tests * surest.chance))
    return replace(result, candidates=(kept,), tests=1)


def _classes(context: Context, labels: NDArray[Any], judge: Judge) -> CheckResult:
    sure = judge.held_out.max(axis=1)
    wrong = judge.held_out.argmax(axis=1) != labels
    order = np.argsort(-sure, kind="stable")
    half = order[: int(SURE * len(labels))]
    quarters = np.array_split(half, 2)
    hits = int(wrong[half].sum())
    share = share_of(hits, len(half))
    first, second = (float(wrong[part].mean()) for part in quarters)
    summary = (
        f"Where {judge.yardstick.words} is surest, {share} of the labels say otherwise; over all "
        f"rows {percent(float(wrong.mean()))}."
    )
    errs = float(wrong.mean())
    if errs > HARDEST or (errs > EASY and errs > AHEAD * judge.base):
        told = " Classes overlap too much here to tell wrong labels from hard rows."
        return CheckResult(NAME, TITLE, summary + told, tests=0)
    flipped, chance = flipped_share(judge.yardstick.held_out, labels, 0.0)
    # A good judge is seldom wrong where it is sure, unless labels are.
    levels_off = chance <= LEVELS or errs < GOOD * judge.base
    if not levels_off or flipped.value < FLIPPED:
        return CheckResult(NAME, TITLE, summary)
    bars = tuple(
        Bar(
            name,
            float(wrong[part].mean()),
            *_ends(wrong[part]),
            "subject" if place < 2 else "other",
        )
        for place, (name, part) in enumerate(
            zip(
                ("surest quarter", "second quarter", "third quarter", "least sure quarter"),
                np.array_split(order, 4),
                strict=True,
            )
        )
    )
    finding = _finding(
        context,
        share,
        share_above(hits, len(half), CLEAN),
        f"At the half of the rows where {judge.yardstick.words} is surest, {share} of the labels "
        "of the reference say otherwise.",
        f"Where classes only overlap this falls to 0 as answers get surer; here it is "
        f"{percent(first)} in the surest quarter and {percent(second)} in the next.",
        _suspects(context, labels, _doubt(context, labels, judge)),
        Picture(
            "dots",
            "Labels that contradict the answer, by how sure it is",
            unit="share",
            bars=bars,
            mark=CLEAN,
        ),
    )
    return CheckResult(NAME, TITLE, summary, (finding,))


def _ends(wrong: NDArray[np.bool_]) -> tuple[float, float]:
    share = share_of(int(wrong.sum()), len(wrong))
    return share.low, share.high


def _numbers(context: Context, labels: NDArray[Any], judge: Judge) -> CheckResult:
    said = judge.held_out[:, 0]
    explained = 1 - judge.loss / judge.base if judge.base else 0.0
    if explained < EXPLAINED or len(labels) < 100:
        summary = (
            f"{judge.yardstick.words.capitalize()} explains {percent(max(0.0, explained))} of the "
            "labels' variance: too little to tell wrong labels from hard rows."
        )
        return CheckResult(NAME, TITLE, summary, tests=0)
    grades = len(np.unique(labels))
    if grades <= GRADES:
        summary = (
            f"Labels have {grades} different values: too few to tell wrong labels from hard rows."
        )
        return CheckResult(NAME, TITLE, summary, tests=0)
    measured, chance = swapped_share(labels, said, SWAPPED)
    summary = (
        f"About {measured} of the labels look as if they belonged to other rows, by how far they "
        f"are from {judge.yardstick.words}."
    )
    if measured.low > _room(labels, said):
        summary += " So many would make larger errors than there are: it is these errors' shape."
        return CheckResult(NAME, TITLE, summary)
    distance = np.abs(labels - said)
    finding = _finding(
        context,
        measured,
        chance,
        f"About {measured} of the labels of the reference are as far from "
        f"{judge.yardstick.words} as labels of other rows are.",
        f"Errors of the kind that the other rows have explain at most {percent(SWAPPED)}.",
        _suspects(context, labels, distance),
        Picture(
            "histograms",
            "Distance of labels from what other rows say",
            bins=tuple(number_of(value, 3) for value in _edges(distance)[:-1]),
            sides=(
                (
                    "labels",
                    tuple(
                        (np.histogram(distance, _edges(distance))[0] / len(distance))
                        .round(5)
                        .tolist()
                    ),
                ),
            ),
        ),
    )
    candidates = (finding,) if measured.value > SWAPPED else ()
    return CheckResult(NAME, TITLE, summary, candidates)


def _room(labels: Floats, said: Floats) -> float:
    """The largest share of labels of other rows for which the judge's errors are large enough.

    Where another row's label y′ stands, the squared error is E(y′−j)² = Var y + Var j + (Ey−Ej)².
    """
    drawn = float(labels.var() + said.var() + (labels.mean() - said.mean()) ** 2)
    return float(((labels - said) ** 2).mean()) / drawn if drawn else 0.0


def _harder_than_new(
    context: Context, labels: NDArray[Any], new_labels: NDArray[Any], judge: Judge
) -> Finding | None:
    """Whether the judge errs more at the reference, cross-validated, than at new rows.

    At new rows it is the mean of the same fits, which saw as many rows: with few rows, a fit to
    all of them would err less. Copies are in one fold, so that on both sides rows count that no
    other row of the reference is a copy of.
    """
    single, fresh = _without_twins(context)
    if min(single.sum(), fresh.sum()) < FEWEST:
        return None
    own = context.losses(judge.held_out, labels)[single]
    fits = judge.yardstick.new_by_fold
    other = np.mean([context.losses(answers, new_labels)[fresh] for answers in fits], axis=0)
    unit = 1.0 if context.task == "classes" else judge.base
    difference = float(own.mean() - other.mean()) / unit
    error = float(np.sqrt(own.var() / len(own) + other.var() / len(other))) / unit
    if difference < HARDER or not error:
        return None
    measured = Measured(difference, difference - 1.96 * error, difference + 1.96 * error, "share")
    told = "of the labels" if context.task == "classes" else "of their variance"
    known, met = (float(losses.mean()) / unit for losses in (own, other))
    bars = (
        Bar("reference", known, *_reach(own, unit), role="subject"),
        Bar("new rows", met, *_reach(other, unit)),
    )
    return _finding(
        context,
        measured,
        higher(own, other),
        f"The labels of the reference contradict {judge.yardstick.words} more than those of the "
        f"new rows do, by {measured} {told}.",
        f"Fitted to four fifths of the reference at a time, it misses {percent(known)} {told} in "
        f"the rest and {percent(met)} in the new rows; labels that are as right would make these "
        "alike.",
        _suspects(context, labels, _doubt(context, labels, judge)),
        Picture("dots", f"Share {told} that is missed", unit="share", bars=bars),
    )


def _without_twins(context: Context) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which sampled rows, of the reference and new ones, have no copy among the reference's."""
    assert context.new is not None
    keys = row_keys(context.encoded.words(), context.seed)
    count = context.new_count
    _, place, times = np.unique(keys[count:], return_inverse=True, return_counts=True)
    single = (times == 1)[place.reshape(-1)]
    fresh = ~np.isin(keys[:count], keys[count:])
    return single[context.reference.sample], fresh[context.new.sample]


def _reach(losses: Floats, unit: float) -> tuple[float, float]:
    mean, error = float(losses.mean()) / unit, float(losses.std() / np.sqrt(len(losses))) / unit
    return mean - 1.96 * error, mean + 1.96 * error


def _doubt(context: Context, labels: NDArray[Any], judge: Judge) -> Floats:
    """How much each label contradicts the judge, (rows,)."""
    if context.task == "classes":
        return np.asarray(1 - judge.held_out[np.arange(len(labels)), labels])
    return np.asarray(np.abs(labels - judge.held_out[:, 0]))


def _edges(distance: Floats) -> Floats:
    return np.linspace(0, float(distance.max()) or 1.0, 17)


def _suspects(context: Context, labels: NDArray[Any], doubt: Floats) -> tuple[int, ...]:
    """Rows to look at first: those that the judge and the model's answers at other rows doubt."""
    bend = context.bends.of(
        "model",
        context.reference.answers,
        context.reference.answers[:0] if context.new is None else context.new.answers,
    ).reference
    places = context.bends.reference_rows
    expected, given = bend.outputs - bend.signed, labels[places]
    if context.task == "classes":
        other = 1 - expected[np.arange(len(places)), given]
    else:
        other = np.abs(given - expected[:, 0])
    ranks = stats.rankdata(doubt[places]) + stats.rankdata(other)
    chosen = places[np.argsort(-ranks, kind="stable")[:20]]
    return tuple(context.reference.sample[chosen].tolist())


def _finding(
    context: Context,
    share: Measured,
    chance: float,
    what: str,
    comparison: str,
    rows: tuple[int, ...],
    picture: Picture,
) -> Finding:
    severity: Severity = "high" if share.low >= SEVERE else "medium"
    return Finding(
        check=NAME,
        name="Wrong labels",
        severity=severity,
        subject="the labels of the reference",
        what=what,
        comparison=comparison,
        next_step=(
            "Look at the listed rows first (anharmonic suspects lists all of them), correct or "
            "drop wrong labels, and fit again."
        ),
        measured=share,
        chance=chance,
        rows=rows,
        side="reference",
        picture=picture,
    )
