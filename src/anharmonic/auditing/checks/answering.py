"""Whether the model answers at all, twice the same, and alike in single precision."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.auditing.asking import ask_patiently
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured
from anharmonic.auditing.statistics import share_of
from anharmonic.auditing.wording import count_of
from anharmonic.regions import unmoved

__all__ = ["check_failures", "check_repeats"]

TOLERATED = 1e-4
"""Differences between equal questions, in units of the answers' spread, that rounding explains."""
FLIPS = 0.01
"""The share of decisions that single precision may change before it matters."""
MOVED = 0.1
"""A number is another answer from this share of the answers' spread on. Smaller moves are common
and harmless: trees split exactly where rows of a coarse grid stand, and rounding takes such a row
to the other side of one split of many."""


def check_failures(context: Context) -> CheckResult:
    """Rows at which the model raised an error, or gave no number."""
    name, title = "failures", "Rows without an answer"
    sides = [("reference", context.reference), ("new", context.new)]
    candidates = []
    asked = failed = 0
    for which, side in sides:
        if side is None:
            continue
        count, lost = len(side.sample) + len(side.failed), len(side.failed)
        asked, failed = asked + count, failed + lost
        if not lost:
            continue
        share = share_of(lost, count)
        rows = "reference rows" if which == "reference" else "new rows"
        candidates.append(
            Finding(
                check=name,
                name="No answer",
                severity="high",
                subject="the model",
                what=f"The model gives no answer at {share} of the {rows}: {side.reason}.",
                comparison="A model that is asked at its own kind of rows answers all of them.",
                next_step=(
                    "Catch these rows before the model does, or mend the step that fails: often a "
                    "level or a gap that it was not fitted to."
                ),
                measured=share,
                chance=0.0,
                rows=tuple(side.failed[:20].tolist()),
                side="reference" if which == "reference" else "new",
            )
        )
    summary = f"The model answered {asked - failed:,} of {count_of(asked, 'row')}."
    return CheckResult(name, title, summary, tuple(candidates), queries=asked, factual=True)


def check_repeats(context: Context) -> CheckResult:
    """The same rows again, in another order and in calls of another size; then in float32."""
    name, title = "repeats", "The same question twice"
    side = context.reference
    count = min(context.plan.repeated_rows, len(side.sample))
    places = np.linspace(0, len(side.sample) - 1, count).astype(int)
    rows, before = side.sample[places], side.answers[places]
    start = context.meter.queries
    spread = _spread(side.answers)
    again = _ask(context, rows[::-1])[::-1]
    halves = np.concatenate([_ask(context, rows[: count // 3]), _ask(context, rows[count // 3 :])])
    differs = np.maximum(np.abs(again - before), np.abs(halves - before)).max(axis=1)
    noisy = differs > TOLERATED * spread
    candidates = []
    if noisy.any():
        share = share_of(int(noisy.sum()), count)
        candidates.append(
            Finding(
                check=name,
                name="Answers that vary",
                severity="high" if share.low > 0.1 else "medium",
                subject="the model",
                what=(
                    f"Asked the same twice, the model gives another answer at {share} of "
                    f"{count:,} rows, by up to {differs.max() / spread:.2g} of its answers' spread."
                ),
                comparison="A model without randomness gives the same answer at all of them.",
                next_step=(
                    "Switch off what is random when it predicts (dropout, sampling, augmentation), "
                    "or average several answers."
                ),
                measured=share,
                chance=0.0,
                rows=tuple(rows[noisy][:20].tolist()),
                side="reference",
            )
        )
    flips = None if noisy.any() else _in_single(context, count)
    if flips is not None and flips.low > FLIPS:
        candidates.append(
            Finding(
                check=name,
                name="Sensitive to precision",
                severity="medium",
                subject="the model",
                what=f"In single precision the model {_does(context)} {flips} of the new rows.",
                comparison="Single precision moves a number by less than a ten-millionth of it.",
                next_step=(
                    "Scale large columns before the model, and serve it in the precision that it "
                    "was fitted in."
                ),
                measured=flips,
                chance=0.0,
            )
        )
    said = "none" if not noisy.any() else f"{int(noisy.sum()):,}"
    single = (
        "" if flips is None else f" In single precision it {_does(context)} {flips} of new rows."
    )
    return CheckResult(
        name,
        title,
        f"Of {count_of(count, 'row')} asked three times, {said} got another answer.{single}",
        tuple(candidates),
        tests=2,
        queries=context.meter.queries - start,
        factual=True,
    )


def _ask(context: Context, rows: Any) -> Floats:
    if not len(rows):
        return np.empty((0, context.reference.answers.shape[1]))
    return context.read(ask_patiently(context.model, context.reference.region, rows, context.meter))


def _does(context: Context) -> str:
    if context.task == "classes":
        return "decides otherwise at"
    return f"moves its answer by more than {MOVED:.0%} of the answers' spread at"


def _spread(answers: Floats) -> float:
    spread = float(np.sqrt(np.var(answers, axis=0).sum()))
    return spread if spread > 0 else 1.0


def _in_single(context: Context, count: int) -> Measured | None:
    """The share of decisions that change at new rows; None where all numbers are single already.

    Not at rows that the model was fitted to: trees split exactly there.
    """
    side = context.new
    if side is None or side.region.form or len(side.region.shape) > 1:
        return None
    places = np.linspace(0, len(side.sample) - 1, min(count, len(side.sample))).astype(int)
    rows, before = side.sample[places], side.answers[places]
    region = side.region.rows(rows)
    source: Any
    if region.is_table:
        table = region.source
        doubles = [name for name in table.columns if table[name].dtype == nw.Float64]
        if not doubles:
            return None
        source = table.with_columns(
            *(nw.col(name).cast(nw.Float32).cast(nw.Float64) for name in doubles)
        ).to_native()
    else:
        source = np.asarray(region.source)
        if source.dtype != np.float64:
            return None
        source = source.astype(np.float32).astype(np.float64)
    single = unmoved(source)
    given = ask_patiently(context.model, single, np.arange(len(rows)), context.meter)
    answers = context.read(given)
    if context.task == "classes":
        changed = answers.argmax(axis=1) != before.argmax(axis=1)
    else:
        changed = np.abs(answers - before).max(axis=1) > MOVED * _spread(context.reference.answers)
    return share_of(int(changed.sum()), len(rows))
