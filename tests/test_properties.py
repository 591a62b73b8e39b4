"""Properties that hold whatever the numbers: Hypothesis looks for the ones that break them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

import anharmonic as ah
from anharmonic._core.statistics import Moments
from anharmonic.measures.gamma.accumulator import Accumulator
from anharmonic.measures.gamma.deviation import Task, measure_task
from anharmonic.measures.setup.batching import BatchSizer, ModelCaller
from anharmonic.measures.setup.sphere import Sphere
from anharmonic.regions import points as as_points

dimensions = st.integers(1, 12)
seeds = st.integers(0, 2**32)
factors = st.floats(0.1, 10)
settings.register_profile("house", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("house")


def network(dimension, seed, width=16):
    """A smooth function with no symmetry."""
    random = np.random.default_rng(seed)
    inner, outer = random.normal(size=(dimension, width)), random.normal(size=width)
    return lambda x: np.tanh(x @ inner) @ outer


def cloud(dimension, seed, many=6):
    return np.random.default_rng(seed + 1).normal(size=(many, dimension))


def signed(function, points, radius, seed=0, **arguments):
    arguments = {"noise": "ignore", "ball": "auto pairs", "scale": None} | arguments
    return ah.gamma(function, points, radius=radius, seed=seed, **arguments).signed


@given(dimensions, seeds, factors, factors)
def test_the_deviation_is_linear_in_the_function(dimension, seed, one, other):
    f, g = network(dimension, seed), network(dimension, seed + 9)
    x = cloud(dimension, seed)
    both = signed(lambda z: one * f(z) - other * g(z), x, 0.3)
    assert_allclose(both, one * signed(f, x, 0.3) - other * signed(g, x, 0.3), atol=1e-11)


@given(dimensions, seeds, factors)
def test_gamma_scales_with_the_output(dimension, seed, factor):
    f, x = network(dimension, seed), cloud(dimension, seed)
    assert_allclose(signed(lambda z: factor * f(z), x, 0.3), factor * signed(f, x, 0.3), atol=1e-11)


@given(dimensions, seeds, factors)
def test_stretching_space_and_radius_together_changes_nothing(dimension, seed, factor):
    f, x = network(dimension, seed), cloud(dimension, seed)
    stretched = signed(lambda z: f(z / factor), factor * x, factor * 0.3)
    assert_allclose(stretched, signed(f, x, 0.3), atol=1e-10)


@given(dimensions, seeds, factors)
def test_units_do_not_matter_when_features_are_scaled(dimension, seed, factor):
    f, x = network(dimension, seed), cloud(dimension, seed)
    inches = signed(lambda z: f(z / factor), factor * x, 0.3, scale="auto")
    assert_allclose(inches, signed(f, x, 0.3, scale="auto"), atol=1e-9)


@given(dimensions, seeds)
def test_a_quadratic_grows_with_the_square_of_the_radius(dimension, seed):
    x = cloud(dimension, seed)
    form = np.random.default_rng(seed).normal(size=(dimension, dimension))
    values = [
        signed(lambda z: np.einsum("ri,ij,rj->r", z, form, z), x, radius) for radius in (0.2, 0.6)
    ]
    assert_allclose(values[1], 9 * values[0], atol=1e-9)


@given(dimensions, seeds, factors)
def test_moving_everything_changes_nothing(dimension, seed, shift):
    f, x = network(dimension, seed), cloud(dimension, seed)
    assert_allclose(signed(lambda z: f(z - shift), x + shift, 0.3), signed(f, x, 0.3), atol=1e-10)


@given(st.integers(2, 12), seeds)
def test_turning_space_and_ball_together_changes_nothing(dimension, seed):
    f, x = network(dimension, seed), cloud(dimension, seed)
    turn = ortho_group.rvs(dimension, random_state=seed % 2**32)
    vectors = ah.balls.rotated(ah.balls.antisimplex(dimension)).vectors(seed)
    still = signed(f, x, 0.3, ball=ah.balls.fixed(vectors), rotations=0)
    turned = signed(
        lambda z: f(z @ turn), x @ turn.T, 0.3, ball=ah.balls.fixed(vectors @ turn.T), rotations=0
    )
    assert_allclose(turned, still, atol=1e-11)


@pytest.mark.parametrize("dimension", [3, 20, 300])
def test_turning_space_alone_changes_nothing_beyond_the_error(dimension):
    f, x = network(dimension, 0), cloud(dimension, 0, many=200)
    turn = ortho_group.rvs(dimension, random_state=1)
    still = ah.gamma(f, x, radius=0.5, scale=None)
    turned = ah.gamma(lambda z: f(z @ turn), x @ turn.T, radius=0.5, scale=None)
    gap = (still.signed - turned.signed) / np.hypot(still.errors, turned.errors)
    # The ratio of a normal gap to an estimated error has heavy tails; its median has not.
    assert np.median(np.abs(gap)) < 1.2
    assert abs(still.signed.mean() - turned.signed.mean()) < 4 * np.hypot(
        still.ball_error, turned.ball_error
    )


numbers = arrays(float, st.integers(0, 20), elements=st.floats(-1e6, 1e6))


@given(numbers, numbers, numbers)
def test_moments_merge_in_any_order(one, two, three):
    parts = [Moments.of(each) for each in (one, two, three)]
    forward = parts[0].merge(parts[1]).merge(parts[2])
    backward = parts[2].merge(parts[0].merge(parts[1]))
    whole = Moments.of(np.concatenate((one, two, three)))
    for merged in (forward, backward):
        assert merged.count == whole.count
        assert_allclose(merged.mean, whole.mean, atol=1e-6)
        assert_allclose(merged.squares, whole.squares, rtol=1e-6, atol=1e-2)


@given(st.permutations([2, 3, 4]), seeds)
def test_turns_merge_in_any_order(lengths, seed):
    dimension, x = 4, as_points(cloud(4, seed))
    sphere = Sphere(
        caller=ModelCaller(ah.as_model(network(dimension, seed)), x, BatchSizer(1000)),
        ball=ah.balls.rotated(ah.balls.simplex(dimension)),
        radius=0.7,
        units=np.ones(dimension),
        limits=None,
        reduction="norm",
        seed=seed,
        chunk=1000,
    )
    rows = np.arange(len(x))
    whole, pieces = Accumulator(len(x), "norm"), Accumulator(len(x), "norm")
    whole.add(measure_task(sphere, Task(rows, 0, 9)))
    starts = {2: 0, 3: 2, 4: 5}
    for length in lengths:
        pieces.add(measure_task(sphere, Task(rows, starts[length], length)))
    assert_allclose(pieces.deviations, whole.deviations, atol=1e-12)
    assert_allclose(pieces.errors, whole.errors, rtol=1e-6)
