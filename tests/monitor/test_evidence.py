"""The detector against arithmetic done by hand, and its promises on streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

from anharmonic.errors import PointsError
from anharmonic.monitor import Evidence, river
from anharmonic.monitor.autocorrelation import block_length, correlation_time
from anharmonic.monitor.bets import averaged, fitted_bets
from anharmonic.monitor.bounds import clipped_mean_bound, exceedance_bound, mean_bound
from anharmonic.monitor.sums import PERIOD, added, no_sums


def remembering(random: np.random.Generator, count: int) -> np.ndarray:
    values = np.zeros(count)
    for step, noise in enumerate(random.normal(size=count)):
        values[step] = 0.7 * values[step - 1] + noise
    return np.exp(values / 2)


def test_the_recursion_is_the_one_written_down():
    random = np.random.default_rng(0)
    multipliers = random.uniform(0.4, 1.7, size=(3, 200))
    rows = np.arange(200) * 3
    expected, weighted = np.zeros(3), np.zeros(3)
    sums, history = added(no_sums(3), multipliers, rows, 0, np.inf)
    for step in range(200):
        expected = (1 + expected) * multipliers[:, step]
        weighted = (rows[step] + weighted) * multipliers[:, step]
        np.testing.assert_allclose(history[0, :, step], expected, rtol=1e-13)
        np.testing.assert_allclose(history[1, :, step], weighted, rtol=1e-13)
    np.testing.assert_allclose(sums.now, [expected, weighted], rtol=1e-13)


def test_a_fair_bet_counts_the_steps():
    _, history = added(no_sums(1), np.ones((1, 100)), np.arange(100), 0, np.inf)
    assert history[0, 0].tolist() == list(range(1, 101))


def test_sums_stay_finite_and_come_back():
    sums, history = added(no_sums(1), np.full((1, 4000), 30.0), np.arange(4000), 0, 1e11)
    assert np.isfinite(history).all()
    assert history[0, 0].max() <= 1.1e11 * 30.0**PERIOD
    _, after = added(sums, np.full((1, 2000), 0.5), np.arange(2000), 4000, 1e11)
    assert after[0, 0, -1] == pytest.approx(1.0)


def test_evidence_of_a_change_that_stays_does_not_saw():
    random = np.random.default_rng(2)
    watch = Evidence(random.uniform(size=500), rate=1000)
    _, logs = watch.feed(np.full(300, 2.0), np.arange(300))
    assert (np.diff(logs[0]) >= 0).all()
    assert logs[0, -1] == pytest.approx(np.log(1000) + np.log(1e6))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 700), min_size=1, max_size=12), st.sampled_from([1, 3, 7]))
def test_any_cut_of_a_stream_gives_the_same_bits(cuts, block):
    random = np.random.default_rng(5)
    reference = random.exponential(size=600)
    stream = random.exponential(size=sum(cuts))
    whole, parts = (Evidence(reference, block=block) for _ in range(2))
    _, logs = whole.feed(stream, np.arange(len(stream)))
    pieces, start = [], 0
    for size in cuts:
        piece = slice(start, start + size)
        pieces.append(parts.feed(stream[piece], np.arange(start, start + size))[1])
        start += size
    assert np.array_equal(np.concatenate(pieces, axis=1), logs)
    for one, other in zip(whole.state.sums, parts.state.sums, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(whole.state.waiting, parts.state.waiting)


def test_evidence_is_the_mean_of_the_bets_against_the_rate():
    random = np.random.default_rng(1)
    reference, stream = random.exponential(size=500), random.exponential(size=90)
    evidence = Evidence(reference, rate=1000, block=1)
    _, logs = evidence.feed(stream, np.arange(90))
    for place, bets in enumerate(evidence.bets):
        total = np.zeros(16)
        for multiplier in bets.multipliers(bets.values(stream)).T:
            total = (1 + total) * multiplier
        # Two directions share the rate, so each must reach twice of it.
        expected = np.log(max(total.mean(), 1) / 2)
        assert logs[place, -1] == pytest.approx(expected, abs=1e-12)
    assert evidence.threshold == pytest.approx(np.log(1000))


def test_bets_win_nothing_on_average_whatever_the_law():
    random = np.random.default_rng(2)
    for law in (random.exponential, random.random, lambda size: random.integers(0, 3, size)):
        for sign in (1, -1):
            bets = fitted_bets(np.asarray(law(size=800), dtype=float), sign, 1, 0.001)
            stream = np.asarray(law(size=200_000), dtype=float)
            means = bets.multipliers(bets.values(stream)).mean(axis=1)
            assert (means <= 1 + 4e-3).all()


def test_the_exceedance_bound_is_exact_for_any_continuous_law():
    ordered = np.sort(np.random.default_rng(3).random(200))
    bound = exceedance_bound(ordered, 160, 0.05)
    # P(U₍₁₆₀₎ < 1 − bound) is what the Beta law says.
    assert beta.cdf(1 - bound, 160, 41) == pytest.approx(0.05)
    assert binom.cdf(40, 200, bound) == pytest.approx(0.05)


def test_bounds_hold_as_often_as_they_say():
    random = np.random.default_rng(4)
    failed = np.zeros(4)
    for _ in range(200):
        values = random.beta(0.3, 2.0, size=120)
        failed[0] += mean_bound(values, 0.1) < 0.3 / 2.3
        ordered = np.sort(values)
        low, high = ordered[1], ordered[118]
        fresh = beta.ppf((np.arange(4000) + 0.5) / 4000, 0.3, 2.0)
        truth = ((np.clip(fresh, low, high) - low) / (high - low)).mean()
        failed[1] += clipped_mean_bound(ordered, (2, 119), 0.1) < truth
        tied = np.sort(np.where(random.random(120) < 0.85, 0.0, random.random(120)))
        edge = tied[95]
        beyond = 0.15 * (1 - edge) if edge else 0.15
        failed[2] += exceedance_bound(tied, 96, 0.1) < beyond
        failed[3] += mean_bound(random.integers(0, 2, 120).astype(float), 0.1) < 0.5
    # 10% are allowed; 20 ± 4.2 of 200 would be as many.
    assert (failed <= 30).all(), failed


def test_the_bound_closes_in_on_the_mean():
    values = np.tile([0.2, 0.3, 0.4], 20_000)
    assert 0.3 < mean_bound(values, 0.01) < 0.303


@pytest.mark.parametrize("law", ["independent", "heavy", "zeros", "remembering"])
def test_null_streams_raise_no_more_than_they_may(law):
    """12 streams of 5,000 points at 1 per 20,000: a quarter may raise an alarm."""
    draw = {
        "independent": lambda random, count: random.exponential(size=count),
        "heavy": lambda random, count: random.pareto(2.1, size=count),
        "zeros": lambda random, count: np.where(
            random.random(count) < 0.85, 0.0, random.exponential(size=count)
        ),
        "remembering": remembering,
    }[law]
    raised = 0
    for seed in range(12):
        random = np.random.default_rng((seed, 9))
        evidence = Evidence(draw(random, 3000), rate=20_000)
        assert (evidence.block > 5) == (law == "remembering")
        raised += bool(evidence.feed(draw(random, 5000), np.arange(5000))[0])
    assert raised <= 3


def test_a_rise_and_a_fall_are_found_and_dated():
    random = np.random.default_rng(6)
    stream = random.exponential(size=4000)
    stream[2000:] *= 1.5
    evidence = Evidence(random.exponential(size=5000))
    (rise,), _ = evidence.feed(stream, np.arange(4000))
    assert rise.direction == "up"
    assert 2000 <= rise.at < 2700
    assert abs(rise.since - 2000) < 150
    evidence.reset()
    (fall,), _ = evidence.feed(stream[:2000] / 2, np.arange(2000))
    assert fall.direction == "down"


def test_a_reference_that_never_varies_can_still_be_left():
    evidence = Evidence(np.zeros(2000))
    assert not evidence.feed(np.zeros(5000), np.arange(5000))[0]
    raised, _ = evidence.feed(np.full(500, 0.1), np.arange(5000, 5500))
    assert [each.direction for each in raised] == ["up"]


def test_blocks_come_from_the_references_memory():
    random = np.random.default_rng(7)
    assert block_length(random.normal(size=5000)) == 1
    assert 10 <= block_length(remembering(random, 5000)) <= 30
    assert correlation_time(np.ones(100)) == 1.0
    daily = np.sin(np.arange(5000) * 2 * np.pi / 48) + random.normal(size=5000)
    assert 46 <= block_length(daily) <= 50
    assert averaged(np.arange(8.0)[None], 3).tolist() == [[1.0, 4.0]]


def test_a_reference_that_is_too_small_says_so():
    with pytest.raises(PointsError, match="at least 30"):
        Evidence(np.arange(10.0))
    with pytest.raises(PointsError, match="not finite"):
        Evidence(np.append(np.arange(100.0), np.nan))


def test_rivers_detectors_stand_behind_the_same_method():
    pytest.importorskip("river")
    random = np.random.default_rng(8)
    detector = river("ADWIN")(random.exponential(size=1000))
    assert not any(detector.update(value) for value in random.exponential(size=500))
    assert any(detector.update(3 * value) for value in random.exponential(size=500))
