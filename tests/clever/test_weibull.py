"""Ends of distributions that are known."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.measures.clever.weibull import State, fit_reverse_weibull

RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize("shape", [1.5, 2.0, 3.0, 6.0])
def test_the_end_of_a_reverse_weibull_law_is_found(shape: float) -> None:
    maxima = 5.0 - RANDOM.weibull(shape, size=(60, 64))
    found = fit_reverse_weibull(maxima)
    assert abs(np.median(found.values) - 5) < 0.15
    assert (np.abs(found.values - 5) < 1.96 * found.errors).mean() > 0.8
    assert found.shapes[0] == pytest.approx(shape, rel=0.25)
    assert (found.values >= maxima.max(axis=1)).all()


def test_nothing_diverges_where_there_is_no_end() -> None:
    """Maxima of laws without an end: ends stay within ten spreads or so of what was seen."""
    for maxima in (RANDOM.gumbel(size=(250, 50)), RANDOM.pareto(2.0, size=(250, 50))):
        found = fit_reverse_weibull(maxima)
        reach = (found.values - maxima.max(axis=1)) / np.ptp(maxima, axis=1)
        assert np.isfinite(found.values).all()
        assert reach.max() < 12


def test_one_value_is_its_own_end() -> None:
    found = fit_reverse_weibull(np.full((3, 20), 2.5))
    assert found.values.tolist() == [2.5] * 3
    assert found.errors.tolist() == [0.0] * 3
    assert (found.states == State.exact).all()


def test_two_values_fall_back_to_the_largest() -> None:
    """A network of straight pieces: few slopes, many ties, no smooth law."""
    maxima = RANDOM.choice([1.0, 2.0], size=(5, 64))
    found = fit_reverse_weibull(maxima)
    assert (found.states == State.fallback).all()
    assert found.values.tolist() == [2.0] * 5


def test_a_fit_that_disagrees_clearly_keeps_its_own_shape() -> None:
    maxima = np.concatenate(
        [3 - RANDOM.weibull(8.0, size=(40, 200)), 3 - RANDOM.weibull(1.2, size=(1, 200))]
    )
    found = fit_reverse_weibull(maxima)
    assert found.states[-1] == State.own
    assert found.shapes[-1] < 2
    assert (found.states[:-1] == State.shared).mean() > 0.9


def test_units_do_not_matter() -> None:
    maxima = 5.0 - RANDOM.weibull(3.0, size=(4, 64))
    one, other = fit_reverse_weibull(maxima), fit_reverse_weibull(1e6 * maxima)
    np.testing.assert_allclose(1e6 * one.values, other.values, rtol=1e-9)
    np.testing.assert_allclose(1e6 * one.errors, other.errors, rtol=1e-6)
