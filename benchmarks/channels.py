"""Drift of a model's inputs, predictions and bend, all channels under one promise.

    python -m benchmarks.channels [--streams 200] [--kinds 14] [--changes-only]

Bars: at one false alarm per 100,000 rows, ×1.5 on all inputs is found within 50 rows (median) and
half a standard deviation on two of eight columns in half of the traffic within 1,000; on streams
of 15 kinds in which nothing changes, some with seasons and memory, no more alarms than the bound.
Rivals see the same streams: a Kolmogorov–Smirnov test of every column per window with Bonferroni
(alibi's and evidently's way), a test of the maximum mean discrepancy per window, both with the
p-value that allows the same false alarms, and river's detectors on every column.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.signal import lfilter
from scipy.stats import ks_2samp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import anharmonic as ah
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Rate
from anharmonic.errors import PointsError
from anharmonic.monitor import river

RATE = 100_000
REFERENCE, BEFORE, AFTER = 2_000, 500, 2_500
NULL_REFERENCE, NULL_ROWS, NULL_RATE = 3_000, 5_000, 50_000
COLUMNS, WINDOW = 8, 100
DELAY, HALF_DELAY = 50, 1_000
Random = np.random.Generator
Draw = Callable[[Random, int], Any]


def bends(points: Any) -> Floats:
    """A small network of any number of columns: probabilities of two classes."""
    values = np.nan_to_num(np.asarray(points, dtype=np.float64))
    weights = np.random.default_rng(7).normal(size=(values.shape[1], 6)) / 2
    log_odds = np.tanh(values @ weights).sum(axis=1)
    chance = 1 / (1 + np.exp(-log_odds))
    return np.stack([1 - chance, chance], axis=1)


def bends_in_tables(table: pd.DataFrame) -> Floats:
    """The same of a table, its levels by a number of their own."""
    columns = []
    for name in table.columns:
        cells = table[name]
        if not pd.api.types.is_numeric_dtype(cells):
            cells = cells.map(lambda cell: crc32(str(cell).encode()) % 7 - 3)
        columns.append(np.asarray(cells, dtype=np.float64))
    return bends(np.stack(columns, axis=1) / 3)


def remembering(factor: float) -> Draw:
    def draw(random: Random, count: int) -> Floats:
        noise = random.normal(size=(count + 500, COLUMNS)) * np.sqrt(1 - factor**2)
        return np.asarray(lfilter([1.0], [1.0, -factor], noise, axis=0)[500:])

    return draw


def seasonal(random: Random, count: int) -> Floats:
    """A day of 48 rows in half of the columns; a stream begins anywhere in it."""
    phase = 2 * np.pi * (np.arange(count) + random.integers(48)) / 48
    day = np.sin(phase)[:, None] * (np.arange(COLUMNS) % 2)
    return np.asarray(random.normal(size=(count, COLUMNS)) + day)


def levels(random: Random, count: int) -> pd.DataFrame:
    names = np.array([f"level {k}" for k in range(12)], dtype=object)
    chances = 1 / np.arange(1, 13) ** 1.5
    columns = {f"c{k}": random.choice(names, count, p=chances / chances.sum()) for k in range(5)}
    return pd.DataFrame(columns | {"x": random.normal(size=count)})


def many_levels(random: Random, count: int) -> pd.DataFrame:
    """Two thousand levels, most of them rare: every reference lacks some."""
    chances = 1 / np.arange(1, 2001)
    levels = random.choice(2000, (count, 3), p=chances / chances.sum())
    names = {f"c{k}": [f"level {level}" for level in levels[:, k]] for k in range(3)}
    return pd.DataFrame(names | {"x": random.normal(size=count)})


def people(random: Random, count: int) -> pd.DataFrame:
    age = random.integers(18, 80, count)
    income = np.where(random.random(count) < 0.15, np.nan, random.lognormal(10, 0.7, count))
    town = random.choice(
        np.array(["a", "b", "c", None], dtype=object), count, p=(0.5, 0.3, 0.15, 0.05)
    )
    return pd.DataFrame(
        {"age": age, "income": income, "town": town, "claims": random.poisson(0.2, count)}
    )


def gaps(random: Random, count: int) -> Floats:
    values = random.normal(size=(count, COLUMNS))
    values[random.random(values.shape) < 0.1] = np.nan
    return values


def copies(random: Random, count: int) -> Floats:
    """Half of the rows are among forty that come again and again."""
    known = np.random.default_rng(1).normal(size=(40, COLUMNS))
    again = random.random(count)[:, None] < 0.5
    return np.where(
        again, known[random.integers(40, size=count)], random.normal(size=(count, COLUMNS))
    )


def mixed(random: Random, count: int) -> Floats:
    weights = np.random.default_rng(2).normal(size=(COLUMNS, COLUMNS))
    return np.asarray(random.normal(size=(count, COLUMNS)) @ weights)


KINDS: dict[str, tuple[Draw, Callable[[Any], Floats]]] = {
    "normal": (lambda r, n: r.normal(size=(n, COLUMNS)), bends),
    "correlated": (mixed, bends),
    "heavy tails (t 2.2)": (lambda r, n: r.standard_t(2.2, size=(n, COLUMNS)), bends),
    "lognormal": (lambda r, n: r.lognormal(0, 1.5, size=(n, COLUMNS)), bends),
    "85% zeros": (
        lambda r, n: r.exponential(size=(n, COLUMNS)) * (r.random((n, COLUMNS)) > 0.85),
        bends,
    ),
    "counts": (lambda r, n: r.poisson(1.5, size=(n, COLUMNS)).astype(float), bends),
    "rare yes": (lambda r, n: (r.random((n, COLUMNS)) < 0.01).astype(float), bends),
    "copies": (copies, bends),
    "gaps": (gaps, bends),
    "categories": (levels, bends_in_tables),
    "many rare levels": (many_levels, bends_in_tables),
    "people": (people, bends_in_tables),
    "AR(0.5)": (remembering(0.5), bends),
    "AR(0.95)": (remembering(0.95), bends),
    "seasonal": (seasonal, bends),
}


def null_streams(kind: str, streams: int) -> tuple[int, int, float, int]:
    """False alarms, references that were refused, and seconds per stream; channels at the end."""
    draw, model = KINDS[kind]
    alarms = refused = channels = 0
    begun = time.perf_counter()
    for seed in range(streams):
        random = np.random.default_rng((seed, 11))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                watch = ah.Monitor(
                    model,
                    draw(random, NULL_REFERENCE),
                    false_alarms=NULL_RATE,
                    output="probability",
                )
            except PointsError:
                refused += 1
                continue
        channels = len(watch.channels)
        alarms += watch.update(draw(random, NULL_ROWS)).alarm
    return alarms, refused, (time.perf_counter() - begun) / streams, channels


def drawn_again(rows: Floats, random: Random, count: int) -> Floats:
    return np.asarray(rows[random.integers(len(rows), size=count)])


def real_columns() -> Iterator[tuple[str, Draw]]:
    """Rows of real tables, drawn again and again, beside made ones."""
    yield "normal", KINDS["normal"][0]
    yield "correlated", mixed
    for load in (load_breast_cancer, load_wine, load_diabetes):
        data = load().data
        data = (data / data.std(axis=0))[:, :COLUMNS]
        name = load.__name__.removeprefix("load_").replace("_", " ")
        yield name, partial(drawn_again, np.asarray(data, dtype=np.float64))


def scaled(random: Random, rows: Floats) -> Floats:
    return np.asarray(1.5 * rows)


def half_shifted(random: Random, rows: Floats) -> Floats:
    """Half a standard deviation more in two columns of every other row, at random."""
    moved = (random.random(len(rows)) < 0.5)[:, None] & (np.arange(rows.shape[1]) < 2)
    return np.asarray(rows + 0.5 * rows.std(axis=0) * moved)


def narrowed(random: Random, rows: Floats) -> Floats:
    middle = rows.mean(axis=0)
    return np.asarray(middle + 0.7 * (rows - middle))


CHANGES = {
    "×1.5 on all": scaled,
    "0.5 sd, two columns, half the rows": half_shifted,
    "narrowed to 0.7": narrowed,
}


def ours(reference: Floats, stream: Floats) -> int | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        watch = ah.Monitor(bends, reference, false_alarms=RATE, output="probability")
    alarms = watch.update(stream).alarms
    return min((alarm.at for alarm in alarms), default=None)


def gamma_before(reference: Floats, stream: Floats) -> int | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        watch = ah.Monitor(bends, reference, false_alarms=RATE, watch="gamma", detector="evidence")
    return min((alarm.at for alarm in watch.update(stream).alarms), default=None)


def windows_ks(reference: Floats, stream: Floats) -> int | None:
    allowed = WINDOW / RATE / reference.shape[1]
    for stop in range(WINDOW, len(stream) + 1, WINDOW):
        part = stream[stop - WINDOW : stop]
        columns = zip(reference.T, part.T, strict=True)
        if min(ks_2samp(one, other).pvalue for one, other in columns) < allowed:
            return stop - 1
    return None


def windows_mmd(reference: Floats, stream: Floats) -> int | None:
    """The unbiased discrepancy with a Gaussian kernel; its line is that of the reference's own
    windows, normal, at the p-value that is allowed.
    """
    unit = reference.std(axis=0)
    known = (reference / unit)[:500]
    width = float(np.median(((known[:100, None] - known[None, 100:200]) ** 2).sum(axis=2)))

    def kernel(one: Floats, other: Floats) -> Floats:
        squares = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * one @ other.T
        return np.asarray(np.exp(-squares / width))

    inside = kernel(known, known)
    np.fill_diagonal(inside, 0.0)
    base = inside.sum() / len(known) / (len(known) - 1)

    def discrepancy(rows: Floats) -> float:
        own = kernel(rows, rows)
        np.fill_diagonal(own, 0.0)
        return float(
            own.sum() / len(rows) / (len(rows) - 1) + base - 2 * kernel(rows, known).mean()
        )

    later = (reference / unit)[500:]
    usual = [discrepancy(later[k : k + WINDOW]) for k in range(0, len(later) - WINDOW + 1, WINDOW)]
    line = np.mean(usual) + 3.1 * np.std(usual, ddof=1)  # one in a thousand windows
    for stop in range(WINDOW, len(stream) + 1, WINDOW):
        if discrepancy(stream[stop - WINDOW : stop] / unit) > line:
            return stop - 1
    return None


def of_river(name: str) -> Callable[[Floats, Floats], int | None]:
    def first(reference: Floats, stream: Floats) -> int | None:
        found = []
        for column, values in zip(reference.T, stream.T, strict=True):
            detector = river(name, 200 if name == "KSWIN" else 1000)(column)
            at = next(
                (row for row, value in enumerate(values.tolist()) if detector.update(value)), None
            )
            found += [] if at is None else [at]
        return min(found, default=None)

    return first


RIVALS: dict[str, tuple[Callable[[Floats, Floats], int | None], int]] = {
    "all channels": (ours, 40),
    "gamma alone, 0.1.0": (gamma_before, 10),
    "KS per window": (windows_ks, 40),
    "MMD per window": (windows_mmd, 40),
    "river ADWIN": (of_river("ADWIN"), 6),
    "river PageHinkley": (of_river("PageHinkley"), 6),
    "river KSWIN": (of_river("KSWIN"), 2),
}


def changes() -> bool:
    """Delays and false alarms before the change, and whether the bars are met."""
    good = True
    for change, changed in CHANGES.items():
        print(f"\n{change}: median delay in rows (10% to 90%), found, alarms before the change")
        for table, draw in real_columns():
            for name, (first, streams) in RIVALS.items():
                delays, early = [], 0
                for seed in range(streams):
                    random = np.random.default_rng((seed, 12))
                    reference = draw(random, REFERENCE)
                    later = changed(random, draw(random, AFTER))
                    stream = np.concatenate((draw(random, BEFORE), later))
                    at = first(reference, stream)
                    early += at is not None and at < BEFORE
                    if at is None or at >= BEFORE:
                        delays.append(np.inf if at is None else at - BEFORE + 1)
                spread = (
                    np.quantile(delays, (0.1, 0.5, 0.9), method="nearest")
                    if delays
                    else [np.nan] * 3
                )
                found = float(np.mean(np.isfinite(delays))) if delays else 0.0
                print(
                    f"  {table:14} {name:20} {spread[1]:6.0f} ({spread[0]:.0f} to {spread[2]:.0f})"
                    f"  {found:4.0%}  {early} of {streams}",
                    flush=True,
                )
                if name == "all channels":
                    bar = {"×1.5 on all": DELAY, "narrowed to 0.7": np.inf}.get(change, HALF_DELAY)
                    good = good and bool(spread[1] <= bar)
    return good


def main() -> int:
    """Print both tables; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--kinds", type=int, default=len(KINDS))
    parser.add_argument("--changes-only", action="store_true")
    parser.add_argument("--null-only", action="store_true")
    given = parser.parse_args()
    good = True
    if not given.null_only:
        good = changes()
        print(
            f"bars: ×1.5 within {DELAY}, half of a shift within {HALF_DELAY}: "
            f"{'met' if good else 'MISSED'}"
        )
    if not given.changes_only:
        bound = NULL_ROWS / NULL_RATE
        print(f"\nnothing changes: alarms of all channels in {NULL_ROWS:,} rows, bound {bound:.0%}")
        for kind in list(KINDS)[: given.kinds]:
            alarms, refused, seconds, channels = null_streams(kind, given.streams)
            rate = Rate.of(alarms, given.streams - refused)
            good = good and rate.value <= bound
            print(
                f"  {kind:20} {rate}  {channels} channels, {refused} references refused, "
                f"{seconds:.2f} s per stream",
                flush=True,
            )
        print(f"bar: at most {bound:.0%} on every kind: {'met' if good else 'MISSED'}")
    return int(not good)


if __name__ == "__main__":
    raise SystemExit(main())
