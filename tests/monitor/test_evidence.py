"""The detector against arithmetic done by hand, and its promises on streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from anharmonic.errors import PointsError
from anharmonic.monitor import Evidence, river
from anharmonic.monitor.bets import FEWEST_APART, averaged, fitted_bets
from anharmonic.monitor.bounds import mean_bound
from anharmonic.monitor.dependence import dependence_of
from anharmonic.monitor.shiryaev_roberts import PERIOD, added, no_sums


def remembering(random: np.random.Generator, count: int) -> np.ndarray:
    values = np.zeros(count)
    for step, noise in enumerate(random.normal(size=count)):
        values[step] = 0.7 * values[step - 1] + noise
    return np.exp(values / 2)


def zeros(random: np.random.Generator, count: int, share: float = 0.85) -> np.ndarray:
    return np.where(random.random(count) < share, 0.0, random.exponential(size=count))


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
@given(
    st.lists(st.integers(1, 700), min_size=1, max_size=12),
    st.sampled_from([1, 3, 7]),
    st.sampled_from([0.0, 0.85]),
)
def test_any_cut_of_a_stream_gives_the_same_bits(cuts, block, share):
    random = np.random.default_rng(5)
    reference = zeros(random, 600, share)
    stream = zeros(random, sum(cuts), share)
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
    for place, (bets, share) in enumerate(zip(evidence.bets, (0.75, 0.25), strict=True)):
        assert bets.weights.sum() == pytest.approx(1)
        total = np.zeros(bets.weights.size)
        for multiplier in bets.multipliers(bets.values(stream)).T:
            total = (1 + total) * multiplier
        # Two directions share the rate: rises three quarters of it, falls the rest.
        expected = np.log(max(total @ bets.weights.ravel(), 1) * share)
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


@pytest.mark.parametrize("share", [0.0, 0.85])
@pytest.mark.parametrize("sign", [1, -1])
def test_all_bounds_hold_together_as_often_as_they_say(share, sign):
    random = np.random.default_rng(4)
    # Half a million points stand for the law itself.
    law = zeros(random, 500_000, share)
    failed = 0
    for seed in range(60):
        bets = fitted_bets(zeros(random, 1000, share), sign, 1, 0.2, seed)
        values = bets.values(law)
        truth = values.mean(axis=1)
        if share:
            assert len(bets.bounds) == 3
            truth[1] = values[1, law > 0].mean()
        failed += (bets.bounds < truth).any()
    # 20% are allowed; 12 ± 3.1 of 60 would be as many.
    assert failed <= 20


def test_a_score_in_the_tie_says_nothing_about_sizes():
    random = np.random.default_rng(10)
    for sign in (1, -1):
        bets = fitted_bets(zeros(random, 2000), sign, 1, 0.1)
        three = bets.multipliers(bets.values(np.array([0.0, 0.2, 5.0]))).reshape(3, -1, 3)
        assert (three[1, :, 0] == 1).all()
        # Above it, large ones speak for a rise and small ones for a fall.
        assert ((three[1, :, 2] > 1) == (sign > 0)).all()
        assert ((three[1, :, 1] > 1) == (sign < 0)).all()
        # Whether a score is in the tie counts apart from that.
        assert ((three[2, :, 0] > 1) == (sign < 0)).all()


def test_a_tie_needs_some_scores_above_it():
    random = np.random.default_rng(11)
    assert len(fitted_bets(zeros(random, 2000, 0.3), 1, 1, 0.1).clips) == 1
    few = np.zeros(2000)
    few[: FEWEST_APART - 1] = 1.0
    assert len(fitted_bets(few, 1, 1, 0.1).clips) == 1
    assert len(fitted_bets(zeros(random, 2000), 1, 5, 0.1).clips) == 1


@pytest.mark.parametrize(("factor", "share"), [(1.5, 0.85), (1.0, 0.75), (0.5, 0.85), (1.0, 0.95)])
def test_changes_above_and_of_a_tie_are_found(factor, share):
    random = np.random.default_rng(12)
    evidence = Evidence(zeros(random, 5000))
    stream = np.concatenate((zeros(random, 1000), factor * zeros(random, 2000, share)))
    (found,), _ = evidence.feed(stream, np.arange(3000))
    assert found.direction == ("up" if factor > 1 or share < 0.85 else "down")
    assert found.at >= 1000


def test_bounds_hold_as_often_as_they_say():
    random = np.random.default_rng(4)
    failed = np.zeros(3)
    for _ in range(100):
        failed[0] += mean_bound(random.beta(0.3, 2.0, size=120), 0.1) < 0.3 / 2.3
        failed[1] += mean_bound(random.integers(0, 2, 120).astype(float), 0.1) < 0.5
        failed[2] += mean_bound((random.random(400) < 0.01).astype(float), 0.1) < 0.01
    # 10% are allowed; 10 ± 3 of 100 would be as many.
    assert (failed <= 19).all(), failed


def test_the_bound_is_nearly_as_close_as_the_normal_one():
    values = beta.ppf((np.arange(1000) + 0.5) / 1000, 1, 3)
    reach = (mean_bound(values, 0.05) - values.mean()) / values.std() * np.sqrt(1000)
    assert 1.4 < reach < 2.1
    assert mean_bound(np.array([]), 0.05) == mean_bound(np.ones(50), 0.05) == 1
    assert mean_bound(np.zeros(2000), 0.05) < 0.004


def test_the_bound_closes_in_on_the_mean():
    values = np.tile([0.2, 0.3, 0.4], 20_000)
    assert 0.3 < mean_bound(values, 0.01) < 0.303


@pytest.mark.parametrize("law", ["independent", "heavy", "zeros", "remembering"])
def test_null_streams_raise_no_more_than_they_may(law):
    """12 streams of 5,000 points at 1 per 20,000: a quarter may raise an alarm."""
    draw = {
        "independent": lambda random, count: random.exponential(size=count),
        "heavy": lambda random, count: random.pareto(2.1, size=count),
        "zeros": zeros,
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
    assert dependence_of(random.normal(size=5000)).block(5000) == 1
    assert 10 <= dependence_of(remembering(random, 5000)).block(5000) <= 30
    assert dependence_of(np.ones(100)).block(100) == 1
    daily = np.sin(np.arange(5000) * 2 * np.pi / 48) + random.normal(size=5000)
    assert 46 <= dependence_of(daily).block(5000) <= 50
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
