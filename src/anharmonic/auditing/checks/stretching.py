"""What needs no labels: SPADE of the recorded answers, and CLEVER where there are gradients.

Both describe the model; neither says by itself that something is wrong.
"""

from __future__ import annotations

import numpy as np

from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Measured
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.errors import AnharmonicError, first_line
from anharmonic.measures.clever import clever
from anharmonic.measures.spectral import spade
from anharmonic.models.gradients import pullback_of

__all__ = ["check_attacks", "check_stretching"]

ROWS, FEWEST = 800, 200
ATTACKED, BLOCKS, BLOCK = 12, 16, 16


def check_stretching(context: Context) -> CheckResult:
    """SPADE: how far answers of neighbouring rows are pulled apart, beside the judge's."""
    name, title = "stretching", "Neighbours that are pulled apart"
    side = context.new or context.reference
    if context.kind in ("onehot", "label") or len(side.sample) < FEWEST:
        why = f"it takes graded answers at {FEWEST} rows or more"
        return CheckResult(name, title, "", skipped=why, tests=0)
    rows = np.arange(min(ROWS, len(side.sample)))
    inputs = context.part(side).for_distances(context.encoded.rules)[rows]
    lines = {"the model": side.answers[rows]}
    if context.judge is not None:
        yardstick = context.judge.yardstick
        answers = yardstick.new if side is context.new else yardstick.fitted
        lines[yardstick.words] = answers[rows]
    scores = {}
    try:
        for line, answers in lines.items():
            measured = spade(inputs, answers, seed=context.seed)
            low, high = measured.interval()
            scores[line] = Measured(float(measured.score), float(low), float(high))
    except (AnharmonicError, ValueError) as problem:
        return CheckResult(name, title, "", skipped=first_line(problem), tests=0)
    own = scores["the model"]
    others = [f"{line} has {score}" for line, score in scores.items() if line != "the model"]
    beside = f"; {others[0]}" if others else ""
    return CheckResult(
        name,
        title,
        f"The SPADE score at {len(rows):,} rows is {own}{beside}.",
        tests=0,
        picture=Picture(
            "dots",
            "SPADE score: larger where close rows get answers far apart",
            bars=tuple(
                Bar(line, *score[:3], "subject" if line == "the model" else "other")
                for line, score in scores.items()
            ),
        ),
    )


def check_attacks(context: Context) -> CheckResult:
    """CLEVER: how far an attack must go at least, where the model has gradients."""
    name, title = "attacks", "How far an attack must go"
    if pullback_of(context.model) is None or context.task != "classes":
        return CheckResult(name, title, "", skipped="the model has no gradients", tests=0)
    side = context.new or context.reference
    places = np.linspace(0, len(side.sample) - 1, min(ATTACKED, len(side.sample))).astype(int)
    region = side.region.rows(side.sample[places])
    try:
        scores = clever(
            context.model,
            region.source.to_native()
            if region.is_table
            else np.asarray(region.source).reshape(-1, *region.shape),
            blocks=BLOCKS,
            block_size=BLOCK,
            reference=context.reference.sampled,
            seed=context.seed,
        )
    except AnharmonicError as problem:
        return CheckResult(name, title, "", skipped=first_line(problem), tests=0)
    context.meter.queries += scores.queries
    low, middle, high = np.quantile(scores.values, [0.1, 0.5, 0.9])
    return CheckResult(
        name,
        title,
        f"At {len(scores):,} rows an attack must go at least {middle:.2g} ({low:.2g} to "
        f"{high:.2g} for most of them), in standard deviations; neighbours are "
        f"{scores.settings.radius:.2g} apart.",
        tests=0,
        queries=scores.queries,
    )
