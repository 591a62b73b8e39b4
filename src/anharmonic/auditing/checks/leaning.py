"""The columns that the model leans on: how far answers move when one is exchanged with others'."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.auditing.asking import ask_patiently
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.wording import column_named, named
from anharmonic.regions import Region, unmoved

__all__ = ["check_leaning", "with_exchanged"]

NAME, TITLE = "leaning", "Columns that the model leans on"
SHOWN = 12


def check_leaning(context: Context) -> CheckResult:
    """Each column in turn takes other rows' cells: the mean change of the answers.

    It says what the model reads, and nothing that is wrong.
    """
    count = context.plan.leaning_rows
    side = context.new or context.reference
    count = min(count, len(side.sample))
    if count < 10:
        return CheckResult(NAME, TITLE, "", skipped="the budget leaves no queries for it", tests=0)
    if side.region.form or len(side.region.shape) > 1:
        return CheckResult(NAME, TITLE, "", skipped="the inputs have no columns", tests=0)
    random = generator(context.seed, Stream.AUDIT_LEANING)
    chosen = np.sort(random.choice(len(side.sample), count, replace=False))
    rows = side.sample[chosen]
    start = context.meter.queries
    region = side.region.rows(rows)
    order = _derangement(count, random)
    changes = {}
    for name in context.names:
        given = ask_patiently(
            context.model, with_exchanged(region, name, order), np.arange(count), context.meter
        )
        moved = np.abs(context.read(given) - side.answers[chosen])
        kept = moved[given.given]
        changes[name] = kept.sum(axis=1) / (2 if context.task == "classes" else 1)
    unit = 1.0 if context.task == "classes" else float(side.answers.std()) or 1.0
    bars = sorted(
        (_bar(name, change / unit) for name, change in changes.items() if len(change) > 1),
        key=lambda bar: -bar.value,
    )
    if not bars:
        return CheckResult(NAME, TITLE, "", skipped="the model answers no exchanged row", tests=0)
    what = context.reading.word if context.task == "classes" else "units of the answers' spread"
    most = [f"{bar.name} ({bar.value:.2g})" for bar in bars[:3]]
    return CheckResult(
        NAME,
        TITLE,
        f"With another row's cell the answers move most for {named(most)}, in {what}.",
        tests=0,
        queries=context.meter.queries - start,
        picture=Picture(
            "dots",
            f"How far answers move with another row's cell, in {what}",
            bars=tuple(bars[:SHOWN]),
        ),
    )


def _bar(name: str, change: Floats) -> Bar:
    mean, reach = float(change.mean()), 1.96 * float(change.std(ddof=1)) / len(change) ** 0.5
    return Bar(column_named(name), mean, max(0.0, mean - reach), mean + reach)


def _derangement(count: int, random: np.random.Generator) -> Integers:
    """For each row another one: a random cycle through all of them."""
    cycle = random.permutation(count)
    order = np.empty(count, dtype=np.int64)
    order[cycle] = np.roll(cycle, 1)
    return order


def with_exchanged(region: Region, name: str, order: Integers) -> Region:
    """The same rows, with one column's cells taken from other rows."""
    source: Any = region.source
    if region.is_table:
        cells = source[name][order.tolist()]
        return unmoved(source.with_columns(cells.alias(name)).to_native())
    values = np.array(source)
    values[:, region.names.index(name)] = values[order, region.names.index(name)]
    return unmoved(values)
