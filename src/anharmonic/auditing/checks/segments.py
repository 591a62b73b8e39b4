"""Regions where the model bends, or errs, more than a quick model there, and than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import above, higher, ratio_of
from anharmonic.auditing.wording import cell_of, column_named, quoted
from anharmonic.auditing.yardsticks import Yardstick
from anharmonic.measures.over_data.encoding import Column

__all__ = ["check_segments"]

NAME, TITLE = "segments", "Regions that bend"
WORSE = 1.5
"""How many times what the judge has there, from which it matters."""
APART = 1.3
"""And how many times what the model itself has at the other rows."""
FEWEST = 40


class Segment(NamedTuple):
    """A part of a column, in words, and which new rows are in it."""

    column: str
    words: str
    rows: NDArray[np.bool_]


def check_segments(context: Context) -> CheckResult:
    """A segment is chosen on one half of the new rows and tested on the other.

    It must be worse than a quick model there, and worse than the model is elsewhere: one that
    bends everywhere has no region that bends. Of the quick models that are about as good as the
    best one, it is held against the one that bends most: which of them is best is chance, and
    beside a straight line everything bends.
    """
    if context.new is None or context.judge is None:
        return CheckResult(
            NAME, TITLE, "", skipped="it needs new rows and labels of the reference", tests=0
        )
    judge = context.judge.yardstick
    own = context.bends.of("model", context.reference.answers, context.new.answers).new
    assert own is not None
    rough, other = max(_bends_of_peers(context), key=lambda pair: float(pair[1].mean()))
    cases = [("bends", own.values, other, rough.words)]
    labels, measured = context.new.sampled_labels, context.bends.new_rows
    if labels is not None:
        lost = (context.losses(answers, labels) for answers in (context.new.answers, judge.new))
        mine, judged = (loss[measured] for loss in lost)
        cases.append(("errs", mine, judged, judge.words))
    segments = [segment._replace(rows=segment.rows[measured]) for segment in _segments(context)]
    random = generator(context.seed, Stream.AUDIT_HALVES)
    half = random.permutation(len(own)) % 2 == 0
    candidates, told = [], []
    for verb, mine, judged, words in cases:
        best = _worst(segments, half, mine - WORSE * judged)
        if best is None:
            continue
        inside, outside = best.rows & ~half, ~best.rows & ~half
        ratio = ratio_of(mine[inside], judged[inside])
        told.append(f"it {verb} most beside {words} where {best.words}: {ratio}")
        elsewhere = ratio_of(mine[outside], judged[outside])
        if (
            ratio.value >= max(WORSE, elsewhere.value)
            and mine[inside].mean() >= APART * mine[outside].mean()
        ):
            excess = mine - WORSE * judged
            chance = max(above(excess[inside]), higher(excess[inside], excess[outside]))
            candidates.append(_finding(words, verb, best, ratio, elsewhere, chance))
    summary = "; ".join(told) or "no part of a column has enough rows"
    return CheckResult(
        NAME,
        TITLE,
        f"Of {len(segments):,} parts of columns, {summary}.",
        tuple(candidates),
        tests=len(cases),
    )


def _bends_of_peers(context: Context) -> Iterator[tuple[Yardstick, Floats]]:
    """Quick models that are about as good as the best one, and how much each bends at new rows."""
    for peer in context.peers:
        bend = context.bends.of(peer.name, peer.fitted, peer.new).new
        assert bend is not None
        yield peer, bend.values


def _segments(context: Context) -> Iterator[Segment]:
    """Levels of categories and quarters of numbers, those with enough rows."""
    assert context.new is not None
    for column in context.part(context.new).columns:
        for segment in _of_column(column):
            if FEWEST <= segment.rows.sum() <= 0.8 * len(segment.rows):
                yield segment


def _of_column(column: Column) -> Iterator[Segment]:
    where, values = column_named(column.name), column.values
    if column.levels:
        for level, text in enumerate(column.texts):
            yield Segment(column.name, f"{where} is {quoted(text)}", values == level)
        return
    present = values[np.isfinite(values)]
    if not len(present):
        return
    low, middle, high = np.quantile(present, [0.25, 0.5, 0.75])
    yield Segment(column.name, f"{where} is at most {cell_of(column, low)}", values <= low)
    yield Segment(
        column.name,
        f"{where} is between {cell_of(column, low)} and {cell_of(column, middle)}",
        (values > low) & (values <= middle),
    )
    yield Segment(
        column.name,
        f"{where} is between {cell_of(column, middle)} and {cell_of(column, high)}",
        (values > middle) & (values <= high),
    )
    yield Segment(column.name, f"{where} is above {cell_of(column, high)}", values > high)


def _worst(segments: list[Segment], half: NDArray[np.bool_], excess: Floats) -> Segment | None:
    """The segment with the surest excess on one half of the rows."""
    scored = []
    for segment in segments:
        values = excess[segment.rows & half]
        if len(values) >= FEWEST // 2 and (segment.rows & ~half).sum() >= FEWEST // 2:
            spread = float(values.std(ddof=1)) or 1e-12
            scored.append((float(values.mean()) / spread * len(values) ** 0.5, segment))
    return max(scored, key=lambda pair: pair[0])[1] if scored else None


def _finding(
    words: str,
    verb: str,
    segment: Segment,
    ratio: Measured,
    elsewhere: Measured,
    chance: float,
) -> Finding:
    return Finding(
        check=NAME,
        name="Region that bends" if verb == "bends" else "Region with more errors",
        severity="medium",
        subject=segment.words,
        what=f"Where {segment.words}, the model {verb} {ratio} what {words} does.",
        comparison=f"At the other new rows it {verb} {elsewhere} what {words} does.",
        next_step=(
            f"Look at rows where {segment.words}: collect more of them, or make the model simpler "
            "there."
        ),
        measured=ratio,
        chance=chance,
        columns=(segment.column,),
        picture=Picture(
            "dots",
            f"How many times what {words} does",
            unit="times",
            bars=(
                Bar("in the region", *ratio[:3], "subject"),
                Bar("at other new rows", *elsewhere[:3]),
            ),
        ),
    )
