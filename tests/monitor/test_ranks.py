"""Bets on ranks: exactly 1 on average, for any law, reference and cut of the stream."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import PointsError
from anharmonic.monitor.rank_bets import SHIFTS, fit_rank_bets
from anharmonic.monitor.rank_evidence import RankEvidence


def bets_of(reference, rates=np.nan, seed=0):
    units = np.atleast_2d(np.asarray(reference, dtype=np.float64))
    return fit_rank_bets(units, np.zeros(len(units)), np.full(len(units), rates), seed)


@pytest.mark.parametrize("rate", [np.nan, 0.2, 0.01])
def test_a_bet_is_one_on_average_over_all_cells(rate):
    """Whatever has come so far: chances of the cells times what they pay add up to 1."""
    random = np.random.default_rng(0)
    bets = bets_of(random.normal(size=137), rate)
    counts = bets.gaps + random.integers(5, size=bets.gaps.shape)
    cells = counts.shape[1]
    paid = np.stack(
        [bets.multipliers(np.array([[cell]]), counts)[0][:, 0] for cell in range(cells)], axis=1
    )
    chances = counts[0] / counts.sum()
    np.testing.assert_allclose(paid @ chances, np.ones(len(SHIFTS)), atol=1e-9)


def test_products_of_bets_are_one_on_average_over_all_orders():
    """Exchangeable rows: the mean over all orders of six rows, four of them the reference."""
    values = np.array([0.3, -1.0, 2.5, 0.9, 4.0, -0.2])
    products = []
    for order in permutations(range(6)):
        rows = values[list(order)]
        bets = bets_of(rows[:4])
        cells = bets.cells(rows[None, 4:], np.arange(2))
        products.append(bets.multipliers(cells, bets.gaps)[0].prod(axis=1))
    np.testing.assert_allclose(np.mean(products, axis=0), np.ones(len(SHIFTS)), atol=1e-9)


def test_ties_are_broken_evenly():
    """Each gap between equal rows is as likely as any other, over references."""
    fallen = 0
    for seed in range(200):
        bets = bets_of(np.zeros(99), seed=seed)
        cells = bets.cells(np.zeros((1, 100)), np.arange(100))
        fallen = fallen + np.bincount(cells[0], minlength=bets.gaps.shape[1]) / 20_000
    np.testing.assert_allclose(fallen, bets.gaps[0] / 100, atol=0.008)


def test_missing_units_neither_pay_nor_count():
    bets = bets_of(np.random.default_rng(0).normal(size=50))
    cells = bets.cells(np.array([[np.nan, 0.1]]), np.arange(2))
    paid, counts = bets.multipliers(cells, bets.gaps)
    assert (paid[:, 0] == 1).all()
    assert counts.sum() == bets.gaps.sum() + 1


@pytest.mark.parametrize("block", [1, 4])
def test_any_cut_of_a_stream_gives_the_same_bits(block):
    random = np.random.default_rng(0)
    reference, stream = random.poisson(2.0, 400), random.poisson(2.5, 777)
    whole, parts = (RankEvidence(reference, block=block) for _ in range(2))
    _, logs = whole.feed(stream, np.arange(777))
    pieces, start = [], 0
    while start < 777:
        stop = start + int(random.integers(1, 90))
        pieces.append(parts.feed(stream[start:stop], np.arange(start, min(stop, 777)))[1])
        start = stop
    np.testing.assert_array_equal(np.concatenate(pieces, axis=1), logs)


LAWS = {
    "normal": lambda r, n: r.normal(size=n),
    "heavy": lambda r, n: r.standard_t(1.1, size=n),
    "counts": lambda r, n: r.poisson(0.3, size=n).astype(float),
    "rare": lambda r, n: (r.random(n) < 0.005).astype(float),
    "zeros": lambda r, n: r.exponential(size=n) * (r.random(n) < 0.1),
}


@pytest.mark.parametrize("law", LAWS)
def test_false_alarms_stay_within_the_bound_with_any_reference(law):
    """T/c = 0.5 on references of 60: bounds from so few rows would be worth nothing."""
    alarms = 0
    for seed in range(80):
        random = np.random.default_rng(seed)
        watch = RankEvidence(LAWS[law](random, 60), rate=4000, promise=False, block=1)
        alarms += bool(watch.feed(LAWS[law](random, 2000), np.arange(2000))[0])
    # Three standard errors above a half: 40 + 13.
    assert alarms <= 53


def test_changes_that_bounds_missed_are_found():
    random = np.random.default_rng(1)
    reference = random.normal(size=2000)
    rows = np.arange(600)
    for change, direction in (
        (lambda x: x + 0.5, "up"),
        (lambda x: x - 0.5, "down"),
        (lambda x: 0.6 * x, "spread"),
        (lambda x: 1.6 * x, "spread"),
    ):
        watch = RankEvidence(reference)
        crossings, _ = watch.feed(change(random.normal(size=600)), rows)
        assert direction in {crossing.direction for crossing in crossings}


def test_classes_are_watched_by_their_shares():
    random = np.random.default_rng(2)
    watch = RankEvidence(random.integers(3, size=1000).astype(float), levels=True)
    assert not watch.feed(random.integers(3, size=2000).astype(float), np.arange(2000))[0]
    fewer = random.choice(3, 2000, p=(0.45, 0.35, 0.2)).astype(float)
    (crossing,) = watch.feed(fewer, 2000 + np.arange(2000))[0]
    assert crossing.direction == "either"
    assert 1900 < crossing.since < crossing.at < 2600


def test_levels_that_a_reference_happens_to_lack_are_no_alarm():
    """Of five hundred levels, most of them rare, every reference lacks some that will come."""
    chances = 1 / np.arange(1, 501)
    alarms = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        names = random.choice(500, 1600, p=chances / chances.sum())
        table = pd.DataFrame({"town": [f"town {name}" for name in names]})
        quiet, traffic = table[:600], table[600:].reset_index(drop=True)
        watch = ah.Monitor(lambda x: np.zeros(len(x)), quiet, watch="inputs", false_alarms=5_000)
        alarms += watch.update(traffic).alarm
    # The bound is a fifth: three standard errors above four are nine.
    assert alarms <= 9
    strange = traffic.assign(town=np.where(np.arange(1000) % 5 == 0, "elsewhere", traffic["town"]))
    watch.reset()
    (alarm,) = watch.update(strange).alarms
    assert "new or rare" in alarm.carriers[0]


def test_memory_makes_blocks_and_a_discount():
    random = np.random.default_rng(3)
    noise = random.normal(size=4000)
    slow = np.convolve(noise, 0.9 ** np.arange(60))[:4000]
    watch = RankEvidence(slow)
    assert watch.block >= 16
    assert (watch.groups[0].bets.memory > 0).all()
    with pytest.raises(PointsError, match="no rate of false alarms can be promised"):
        RankEvidence(slow[:200])


@pytest.fixture(scope="module")
def watch():
    random = np.random.default_rng(0)
    return ah.Monitor(lambda x: np.tanh(x[:, 0]) + x[:, 1] ** 2, random.normal(size=(1000, 3)))


def test_a_scaled_input_is_seen_at_once_and_named(watch):
    random = np.random.default_rng(1)
    assert not watch.update(random.normal(size=(2000, 3))).alarm
    rows = random.normal(size=(200, 3))
    rows[:, 2] *= 3
    watch.update(rows)
    (alarm,) = [alarm for alarm in watch.alarms if alarm.watched == "inputs"]
    # Column 2 has no part in the model: nothing else can see it.
    assert alarm.at < 2060
    assert any(words.startswith("2 spread out") for words in alarm.carriers)
    assert {other.watched for other in watch.alarms} == {"inputs"}
    drift = watch.columns()[0]
    assert drift.name in ("2", "all columns together")
    assert len(drift.reference) == len(drift.recent) == len(drift.labels)
    assert watch.culprits(alarm=alarm).rows.min() >= alarm.since


def test_restarts_go_on_to_the_bit(watch, tmp_path):
    watch.reset()
    random = np.random.default_rng(2)
    watch.update(random.normal(size=(333, 3)))
    again = ah.Monitor.load(watch.save(tmp_path / "watch.npz"), watch.scorer.model)
    rows = random.normal(size=(500, 3)) + 0.4
    for monitor in (watch, again):
        monitor.update(rows)
    assert watch.state() == again.state()
    assert [str(alarm) for alarm in watch.alarms] == [str(alarm) for alarm in again.alarms]
    sizes = {
        len(watch.state()),
        len(ah.Monitor.load(tmp_path / "watch.npz", lambda x: x[:, 0]).state()),
    }
    assert max(sizes) - min(sizes) < 1000  # words of alarms


def test_a_value_beside_a_spike_says_which_cells_it_is_of():
    random = np.random.default_rng(0)

    def draw(count, largest):
        gains = np.where(random.random(count) < 0.7, 0.0, random.uniform(5e3, largest, count))
        return np.stack([random.normal(size=count), gains], axis=1)

    reference = draw(1500, 2e4)
    monitor = ah.Monitor(lambda rows: rows[:, 0], reference, watch="inputs")
    monitor.update(draw(1500, 2e4))
    monitor.update(draw(600, 4e4))
    (alarm,) = monitor.alarms
    assert alarm.carriers[0].startswith("1 rose where it is not 0 by ")
    words = next(drift.change for drift in monitor.columns() if drift.name == "1")
    # The mean of the cells that are not 0, and not of all.
    assert words.startswith("1 rose where it is not 0 (mean ")
    usual = reference[reference[:, 1] > 0, 1].mean()
    assert words.endswith(f"instead of {usual:,.0f})")
    unchanged = next(drift for drift in monitor.columns() if drift.name == "0")
    assert unchanged.evidence < 1
    assert unchanged.change.startswith("no clear change (")
    assert ", usually " in unchanged.change
