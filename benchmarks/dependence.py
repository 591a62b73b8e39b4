"""False alarms on streams whose scores depend on each other, and who is refused.

Bars: on every stream at most T/c of those that were not refused raise an alarm, as far as that
many streams can tell; of independent ones at most 2% are refused.

    python -m benchmarks.dependence            every row; some minutes
    python -m benchmarks.dependence AR regimes rows whose names have one of these words
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.signal import lfilter
from scipy.stats import binom

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.monitor import Evidence
from anharmonic.monitor.dependence import dependence_of

RATE = 100_000
REFUSED = 0.02
Random = np.random.Generator
Law = Callable[[Random, int], Floats]


def autoregressive(memory: float) -> Law:
    """Exponentials of an autoregression of order 1."""

    def drawn(random: Random, count: int) -> Floats:
        noise = random.normal(size=count + 1000) * np.sqrt(1 - memory**2)
        return np.asarray(np.exp(lfilter([1.0], [1.0, -memory], noise)[1000:]))

    return drawn


def cycles(period: int, height: float = 0.2) -> Law:
    """Exponentials whose mean goes up and down."""

    def drawn(random: Random, count: int) -> Floats:
        phase = np.arange(count) / period + random.random()
        return random.exponential(size=count) * (1 + height * np.sin(2 * np.pi * phase))

    return drawn


def regimes(stay: int = 500, rise: float = 1.5) -> Law:
    """Exponentials with one of two means, each kept for a while."""

    def drawn(random: Random, count: int) -> Floats:
        changes = np.cumsum(random.random(count) < 1 / stay) + random.integers(2)
        return random.exponential(size=count) * np.where(changes % 2, rise, 1.0)

    return drawn


def restless(memory: float) -> Law:
    """Normal scores whose spread remembers: their ranks are uncorrelated."""

    def drawn(random: Random, count: int) -> Floats:
        spread = np.log(autoregressive(memory)(random, count))
        return np.exp(spread) * random.normal(size=count)

    return drawn


def zeros(share: float) -> Law:
    def drawn(random: Random, count: int) -> Floats:
        return np.where(random.random(count) < share, 0.0, random.exponential(size=count))

    return drawn


INDEPENDENT: dict[str, Law] = {
    "exponential": lambda random, count: random.exponential(size=count),
    "normal": lambda random, count: random.normal(size=count),
    "lognormal 2": lambda random, count: random.lognormal(sigma=2.0, size=count),
    "t, df 1.1": lambda random, count: random.standard_t(1.1, size=count),
    "t, df 2.2": lambda random, count: random.standard_t(2.2, size=count),
    "Pareto 2.1": lambda random, count: random.pareto(2.1, size=count),
    "spikes × 1000": lambda random, count: (
        random.exponential(size=count) * np.where(random.random(count) < 0.01, 1000.0, 1.0)
    ),
    "Poisson 1": lambda random, count: random.poisson(1.0, size=count).astype(float),
    "55% zeros": zeros(0.55),
    "85% zeros": zeros(0.85),
    "99.5% zeros": zeros(0.995),
    "beta(.1, .1)": lambda random, count: random.beta(0.1, 0.1, size=count),
    "two values": lambda random, count: (random.random(count) < 0.3).astype(float),
    "uniform": lambda random, count: random.random(count),
}


class Row(NamedTuple):
    """A stream, the reference's length, the stream's, how many are drawn, and c."""

    name: str
    law: Law
    reference: int
    length: int
    streams: int
    rate: float = RATE


def rows() -> list[Row]:
    """Those of the audit's table, then longer references, then independent ones."""
    listed = [
        ("AR .8", autoregressive(0.8), 5_000, 100, (200, 1000)),
        ("AR .9", autoregressive(0.9), 5_000, 100, (200, 500, 1000, 2000)),
        ("AR .95", autoregressive(0.95), 5_000, 100, (200, 600, 1000, 2000, 5000)),
        ("AR .99", autoregressive(0.99), 5_000, 60, (2000, 6000, 20_000)),
        ("cycle ±20%, period 1440", cycles(1440), 8_000, 60, (6000, 20_000, 50_000)),
        ("cycle ±20%, period 2016", cycles(2016), 12_000, 60, (20_000,)),
        ("cycle ±20%, period 288", cycles(288), 8_000, 60, (2000, 6000, 10_000)),
        ("regimes ×1, ×1.5, stay 500", regimes(), 5_000, 100, (2000, 6000, 60_000)),
        ("restless spread, AR .95", restless(0.95), 5_000, 60, (2000, 10_000)),
        ("AR −.6", autoregressive(-0.6), 5_000, 100, (200, 2000)),
        ("AR .5", autoregressive(0.5), 5_000, 100, (200, 2000)),
    ]
    table = [
        Row(name, law, size, length, streams if size < 50_000 else 20)
        for name, law, length, streams, sizes in listed
        for size in sizes
    ]
    laws = {"AR −.6": autoregressive(-0.6), "AR .5": autoregressive(0.5)}
    return table + [
        # A lower line, at which half of the streams might raise one.
        Row(f"independent: {name}" if name in INDEPENDENT else name, law, size, 5_000, 100, 10_000)
        for name, law in (INDEPENDENT | laws).items()
        for size in (200, 2000)
    ]


class Outcome(NamedTuple):
    """What became of a row's streams."""

    refused: int
    alarms: int
    blocks: list[int]
    asked: list[int]


def outcome(row: Row) -> Outcome:
    """Fit on a reference and watch what follows it, with nothing changed."""
    refused = alarms = 0
    blocks: list[int] = []
    asked: list[int] = []
    for seed in range(row.streams):
        scores = row.law(np.random.default_rng((seed, 6)), row.reference + row.length)
        known, stream = scores[: row.reference], scores[row.reference :]
        try:
            evidence = Evidence(known, row.rate)
        except PointsError:
            refused += 1
            asked.append(dependence_of(known).needed)
            continue
        blocks.append(evidence.block)
        alarms += bool(evidence.feed(stream, np.arange(row.length))[0])
    return Outcome(refused, alarms, blocks, asked)


def too_many(row: Row, found: Outcome) -> bool:
    """Whether so many alarms are unlikely (1%), were T/c the chance of one in each stream."""
    return bool(binom.sf(found.alarms - 1, row.streams, row.length / row.rate) < 0.01)


def main(words: list[str]) -> bool:
    """The table, and whether the bars are met."""
    table = Table(title="streams in which nothing changes")
    for name in ("stream", "reference", "block", "refused", "points asked for", "alarms", "bound"):
        table.add_column(name, justify="left" if name == "stream" else "right")
    good, independent, turned_away = True, 0, 0
    for row in rows():
        if words and not any(word in row.name for word in words):
            continue
        found = outcome(row)
        bad = too_many(row, found)
        if row.name.startswith("independent"):
            independent, turned_away = independent + row.streams, turned_away + found.refused
        good = good and not bad
        table.add_row(
            *(row.name, f"{row.reference:,}"),
            f"{np.median(found.blocks):.0f}" if found.blocks else "–",
            f"{found.refused / row.streams:.0%}",
            f"{np.median(found.asked):,.0f}" if found.asked else "–",
            f"{found.alarms / row.streams:.2f} of {row.streams}",
            f"{row.length / row.rate:.2f}",
            style="bold red" if bad else "",
        )
    Console(width=120).print(table)
    print(f"alarms no more than the bound, as far as so few streams tell: {good}")
    if independent:
        good = good and turned_away <= REFUSED * independent
        print(
            f"independent references refused: {turned_away} of {independent:,}; bar {REFUSED:.0%}"
        )
    return good


if __name__ == "__main__":
    raise SystemExit(not main(sys.argv[1:]))
