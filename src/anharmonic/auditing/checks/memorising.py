"""Overfitting: a model that knows its training labels and is worse than a quick one at new rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.auditing.bending import Bend
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured, percent, times
from anharmonic.auditing.judging import Judge
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import above, ratio_of
from anharmonic.auditing.yardsticks import YARDSTICKS

__all__ = ["check_memorising"]

NAME, TITLE = "memorising", "Overfitting"
KNOWN = 0.5
"""A model that loses less than this share of the judge's loss at training rows knows them."""
WORSE = 1.25
"""A model that loses more than so many times what the judge does is worse at new rows."""
WASTED = 0.5
"""So is one that gives up more than this share of what the judge gains on the most frequent class,
or on the mean. Where labels are noisy every model loses much, and no ratio of losses gets large."""
BENDS = 1.05
"""And bends at least so many times as much."""
SEVERE = 1.5


class Losses(NamedTuple):
    """The loss of each new row, (rows,), by the model and by the judge; and how it is known."""

    model: Floats
    judge: Floats
    labelled: bool


def check_memorising(context: Context) -> CheckResult:
    """Gamma over the data beside yardsticks; with labels, what the model loses at new rows.

    Where new rows have no labels, the judge's calibrated answers stand in: at each row the model's
    answer loses what the judge thinks it does.
    """
    new = np.empty((0, context.reference.answers.shape[1]))
    own = context.bends.of(
        "model", context.reference.answers, new if context.new is None else context.new.answers
    )
    judge = context.judge
    if judge is None:
        summary = (
            f"Relative gamma is {_relative(own)}; without labels of the reference there are no "
            "yardsticks to hold it against."
        )
        return CheckResult(NAME, TITLE, summary, tests=0)
    bends = {
        yardstick.name: context.bends.of(yardstick.name, yardstick.fitted, yardstick.new)
        for yardstick in context.yardsticks
    }
    picture = _picture(own, bends)
    words = _words(own, bends, judge.yardstick.name)
    if context.new is None:
        return CheckResult(NAME, TITLE, f"The model {words}.", tests=0, picture=picture)
    labels = context.reference.sampled_labels
    assert labels is not None
    losses = _losses(context, judge)
    trained = float(context.losses(context.reference.answers, labels).mean())
    ratio = ratio_of(losses.model, losses.judge)
    best = bends[judge.yardstick.name]
    summary = f"The model {words}; {_expected(ratio, judge)}."
    excess = _excess(losses, judge)
    memorises = (
        trained < KNOWN * judge.loss and excess.mean() > 0 and _value(own) > BENDS * _value(best)
    )
    if not memorises:
        return CheckResult(NAME, TITLE, summary, picture=picture)
    finding = Finding(
        check=NAME,
        name="Memorised training rows",
        # What is expected and not counted is no reason to stop a release.
        severity="high" if ratio.low >= SEVERE and losses.labelled else "medium",
        subject="the model",
        what=(
            f"The model {_known(context, trained, judge)}, but at new rows it "
            f"{'loses' if losses.labelled else 'is expected to lose'} {ratio} what "
            f"{judge.yardstick.words} loses."
        ),
        comparison=f"It {words}; {_base(context, judge)}.",
        next_step=_next_step(losses.labelled, judge),
        measured=ratio,
        chance=above(excess),
        picture=picture,
        facts={"train_loss": trained, "judge": judge.yardstick.name, "judge_loss": judge.loss},
    )
    return CheckResult(NAME, TITLE, summary, (finding,), picture=picture)


def _next_step(labelled: bool, judge: Judge) -> str:
    fit = (
        "fit a simpler model (fewer leaves, a penalty, more neighbours) or stop earlier, and "
        "choose by a score on rows that were not fitted."
    )
    if labelled:
        return fit.capitalize()
    return (
        "Find labels of some new rows first and audit again: without them a model that knows more "
        f"than {judge.yardstick.words} looks the same. If they confirm it, {fit}"
    )


def _losses(context: Context, judge: Judge) -> Losses:
    assert context.new is not None
    answers, labels = context.new.answers, context.new.sampled_labels
    if labels is not None:
        return Losses(
            context.losses(answers, labels), context.losses(judge.yardstick.new, labels), True
        )
    if context.task == "classes":
        decided = answers.argmax(axis=1)
        rows = np.arange(len(decided))
        return Losses(1 - judge.new[rows, decided], 1 - judge.new.max(axis=1), False)
    # E(y−m)² = E(y−j)² + (j−m)², if j is the mean of y at its row.
    apart = (answers[:, 0] - judge.new[:, 0]) ** 2
    return Losses(judge.loss + apart, np.full(len(apart), judge.loss), False)


def _excess(losses: Losses, judge: Judge) -> Floats:
    """What the model loses at each new row beyond what the judge loses and a margin.

    Of the two margins the smaller one; which of them that is depends on the reference alone, so
    that it remains one test.
    """
    wasted = WASTED * (judge.base - judge.loss)
    if wasted >= (WORSE - 1) * judge.loss:
        return losses.model - WORSE * losses.judge
    return losses.model - losses.judge - max(wasted, 0.0)


def _base(context: Context, judge: Judge) -> str:
    """What can be lost here: by the judge, held out, and by one answer for all rows."""
    constant = "the most frequent class" if context.task == "classes" else "the mean"
    many = f"{times(judge.base / judge.loss)} times what" if judge.loss else "more than"
    return f"{constant} alone would lose {many} {judge.yardstick.words} loses"


def _known(context: Context, trained: float, judge: Judge) -> str:
    if context.task == "classes":
        return f"says {percent(1 - trained)} of its training labels"
    share = 1 - trained / judge.base if judge.base else 0.0
    return f"explains {percent(share)} of its training labels' variance"


def _expected(ratio: Measured, judge: Judge) -> str:
    return f"at new rows it loses {ratio} what {judge.yardstick.words} loses"


def _value(bend: Bend) -> float:
    value = float(bend.larger.relative.value)
    return value if np.isfinite(value) else 0.0


def _relative(bend: Bend) -> Measured:
    relative = bend.larger.relative
    low, high = bend.larger.interval()
    unit = relative.value / bend.larger.mean if bend.larger.mean else 0.0
    return Measured(relative.value, max(0.0, low * unit), high * unit)


def _words(own: Bend, bends: dict[str, Bend], best: str) -> str:
    """How much the model bends, in terms of models one knows."""
    value = _value(own)
    nearest = min(
        bends, key=lambda name: abs(np.log((_value(bends[name]) + 1e-9) / (value + 1e-9)))
    )
    like = f"bends about as much as {YARDSTICKS[nearest]}"
    if nearest == best:
        return f"{like} (relative gamma {_relative(own)})"
    least, words = _value(bends[best]), YARDSTICKS[best]
    beside = f"{times(value / least)} times {words}" if least else f"unlike {words}"
    return f"{like}, {beside} of the best score (relative gamma {_relative(own)})"


def _picture(own: Bend, bends: dict[str, Bend]) -> Picture:
    lines = [("the model", own), *((YARDSTICKS[name], bend) for name, bend in bends.items())]
    return Picture(
        "dots",
        "How much models bend: gamma over the data, in units of the answers' spread",
        bars=tuple(
            Bar(name, *_relative(bend)[:3], "subject" if bend is own else "other")
            for name, bend in lines
        ),
    )
