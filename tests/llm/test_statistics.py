"""Gamma of known embeddings, in both units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anharmonic._core.estimate import Estimate
from anharmonic.errors import OutputError, SettingsError
from anharmonic.llm.statistics import deviation, excess, jackknifed

E = np.eye(4)


def turned(degrees: float) -> np.ndarray:
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0, 0])


@pytest.mark.parametrize(
    ("degrees", "published"), [(5, 0.062), (10, 0.123), (30, 0.366), (90, 1.0)]
)
def test_the_papers_unit(degrees, published):
    others = np.tile(turned(degrees), (10, 1))
    assert round(deviation(E[0], others), 3) == published
    assert deviation(E[0], others, unit="angle") == pytest.approx(degrees, rel=1e-14)


def test_identical_answers_give_exactly_nothing():
    one = np.random.default_rng(0).normal(size=384)
    for unit in ("sqrt1mcos", "angle"):
        found = jackknifed(one, np.tile(one, (10, 1)), unit)
        assert (found.value, found.error, found.squared, found.turns) == (0, 0, 0, 10)


def test_orthogonal_and_opposite_answers():
    assert deviation(E[0], E[1:]) == pytest.approx(1.0, rel=1e-15)
    assert deviation(E[0], E[1:], "angle") == pytest.approx(90.0, rel=1e-15)
    assert deviation(E[0], -E[:1]) == pytest.approx(np.sqrt(2), rel=1e-15)
    assert deviation(E[0], -E[:1], "angle") == 180.0


def test_the_mean_is_plain_not_of_directions():
    # (0,3) outweighs (1,0): the mean is (1/2, 3/2).
    others = np.array([[1.0, 0.0], [0.0, 3.0]])
    expected = np.degrees(np.arctan2(1.5, 0.5))
    assert deviation(np.array([2.0, 0.0]), others, "angle") == pytest.approx(expected, rel=1e-14)


def test_a_small_angle_keeps_its_digits():
    others = np.array([[np.cos(1e-9), np.sin(1e-9)]])
    assert deviation(np.array([1.0, 0.0]), others) == pytest.approx(1e-9 / np.sqrt(2), rel=1e-6)


def test_the_jackknife_by_hand():
    others = np.array([turned(0), turned(40), turned(20)])
    found = jackknifed(E[0], others, "angle")
    without = np.array([deviation(E[0], np.delete(others, at, 0), "angle") for at in range(3)])
    assert without == pytest.approx([30, 10, 20], rel=1e-12)
    assert found.noise == pytest.approx(np.sqrt(2 / 3 * np.sum((without - 20) ** 2)), rel=1e-10)

    def square(chosen):
        # |m|² becomes the mean product of two different answers.
        count = len(chosen)
        product = (np.sum(chosen @ chosen.T) - count) / count / (count - 1)
        cosine = chosen.mean(axis=0)[0] / np.sqrt(product)
        return float((np.emath.arccos(cosine) ** 2).real * np.degrees(1) ** 2)

    parts = [square(np.delete(others, at, 0)) for at in range(3)]
    assert found.squared == pytest.approx(3 * square(others) - 2 * np.mean(parts), rel=1e-9)
    bias = found.value - np.sqrt(max(found.squared, 0))
    assert found.error == pytest.approx(np.hypot(found.noise, bias), rel=1e-12)


def test_one_other_has_no_error():
    found = jackknifed(E[0], E[1:2])
    assert found.value == 1.0
    assert np.isnan(found.error)


def test_the_error_is_the_spread_of_repeated_measurements():
    random = np.random.default_rng(1)
    centre = E[0] + 0.4 * E[1]
    runs = [jackknifed(E[0], centre + 0.2 * random.normal(size=(10, 4))) for _ in range(2000)]
    seen = np.std([run.value for run in runs])
    assert np.sqrt(np.mean([run.noise**2 for run in runs])) == pytest.approx(seen, rel=0.1)
    truth = deviation(E[0], centre[None])
    squares = np.array([run.squared for run in runs])
    assert abs(squares.mean() - truth**2) < 4 * squares.std() / np.sqrt(2000)


def test_excess():
    found = excess(Estimate(0.3, 0.03), Estimate(0.1, 0.04))
    assert found == pytest.approx((0.2, 0.05))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.integers(2, 9), st.integers(0, 10_000))
def test_neither_length_nor_rotation_nor_order_matters(many, size, seed):
    random = np.random.default_rng(seed)
    one, others = random.normal(size=size), random.normal(size=(many, size))
    turn = np.linalg.qr(random.normal(size=(size, size)))[0]
    for unit in ("sqrt1mcos", "angle"):
        base = deviation(one, others, unit)
        assert deviation(3 * one, 7 * others[::-1], unit) == pytest.approx(base, abs=1e-9)
        assert deviation(one @ turn, others @ turn, unit) == pytest.approx(base, abs=1e-9)
    assert 0 <= deviation(one, others) <= np.sqrt(2) + 1e-12


@pytest.mark.parametrize(
    ("one", "others"),
    [
        (np.ones(3), np.ones((2, 4))),
        (np.ones(3), np.ones((0, 3))),
        (np.array([1.0, np.nan]), np.ones((2, 2))),
        (np.zeros(2), np.ones((2, 2))),
        (np.ones(2), np.array([[1.0, 0], [-1.0, 0]])),
    ],
)
def test_what_has_no_direction_is_said(one, others):
    with pytest.raises(OutputError):
        deviation(one, others)
    with pytest.raises(SettingsError):
        deviation(E[0], E[1:], "degrees")


@given(st.integers(0, 10_000))
@settings(max_examples=50)
def test_one_identical_answer_gives_exactly_nothing(seed):
    one = np.random.default_rng(seed).normal(size=384)
    assert deviation(one, one[None]) == 0
    assert deviation(one, np.tile(one, (7, 1)), "angle") == 0
