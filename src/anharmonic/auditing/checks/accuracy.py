"""The score at labelled rows, and whether a quick model has a better one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import above, ratio_of, share_of

__all__ = ["check_accuracy"]

NAME, TITLE = "accuracy", "Score beside quick models"
WORSE = 1.1
"""How many times the loss of the best quick model, from which it matters."""


def check_accuracy(context: Context) -> CheckResult:
    """The model's score beside all yardsticks; held against the one that is best by the reference.

    Which one that is was chosen without the new rows, so the comparison is fair. Without labels of
    new rows the model is scored at the rows it may have been fitted to, and yardsticks are
    cross-validated there: whoever loses that has no excuse.
    """
    if context.new is not None and context.new.sampled_labels is not None:
        return _scored(
            context,
            context.new.answers,
            context.new.sampled_labels,
            {yardstick.words: yardstick.new for yardstick in context.yardsticks},
            "new",
        )
    labels = context.reference.sampled_labels
    if labels is None:
        return CheckResult(NAME, TITLE, "", skipped="no labels were given", tests=0)
    held_out = {yardstick.words: yardstick.held_out for yardstick in context.yardsticks}
    return _scored(context, context.reference.answers, labels, held_out, "reference")


def _scored(
    context: Context,
    answers: Floats,
    labels: NDArray[Any],
    others: Mapping[str, Floats],
    side: str,
) -> CheckResult:
    """The model's answers and the yardsticks' at labelled rows of one side."""
    base = float(np.var(labels)) or 1.0
    lines = {"the model": context.losses(answers, labels)}
    lines |= {words: context.losses(given, labels) for words, given in others.items()}
    scored = {name: _score(context, loss, base) for name, loss in lines.items()}
    picture = Picture(
        "dots",
        f"Score at {side} rows: " + ("accuracy" if context.task == "classes" else "R²"),
        unit="share",
        bars=tuple(
            Bar(name, *score[:3], "subject" if name == "the model" else "other")
            for name, score in scored.items()
        ),
    )
    word = "is right at" if context.task == "classes" else "explains"
    of = f"of the {side} rows"
    if context.task == "numbers":
        of = f"of the variance of {side} labels"
    how = "" if side == "new" else ", which it may have been fitted to"
    summary = f"The model {word} {scored['the model']} {of}{how}."
    judge = context.judge
    if judge is None:
        return CheckResult(NAME, TITLE, summary, tests=0, picture=picture)
    own, other = lines["the model"], lines[judge.yardstick.words]
    ratio = ratio_of(own, other)
    if ratio.value < WORSE:
        return CheckResult(NAME, TITLE, summary, picture=picture)
    fitted = "with no tuning" if side == "new" else "with no tuning, and cross-validated"
    finding = Finding(
        check=NAME,
        name="A quick model does better",
        severity="high" if ratio.low >= 1.25 else "medium",
        subject="the model",
        what=f"At {side} rows the model loses {ratio} what {judge.yardstick.words} loses.",
        comparison=(
            f"The model {word} {scored['the model']} {of}{how}; {judge.yardstick.words} "
            f"{scored[judge.yardstick.words]}, fitted to {len(context.reference.sample):,} "
            f"reference rows {fitted}."
        ),
        next_step=(
            f"Try {judge.yardstick.words} in its place, or tune the model on rows that were not "
            "fitted."
        ),
        measured=ratio,
        chance=above(own - WORSE * other),
        picture=picture,
    )
    return CheckResult(NAME, TITLE, summary, (finding,), picture=picture)


def _score(context: Context, loss: Floats, base: float) -> Measured:
    if context.task == "classes":
        return share_of(int(len(loss) - loss.sum()), len(loss))
    value = 1 - float(loss.mean()) / base
    reach = 1.96 * float(loss.std(ddof=1)) / len(loss) ** 0.5 / base
    return Measured(value, value - reach, min(1.0, value + reach), "share")
