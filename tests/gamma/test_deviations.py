"""One task, measured: against a plain computation from the points that the model was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.measures.gamma.deviation import Along, Task, measure_task
from tests.gamma.spheres import Recorded, sphere_of

POINTS = np.random.default_rng(0).normal(size=(6, 3))
WEIGHTS = np.random.default_rng(1).normal(size=(3, 4))


def vectors(x):
    return np.tanh(x @ WEIGHTS) + 0.5


def number(x):
    return np.exp(x[:, 0]) + x[:, 1] ** 2


def angle(one, other):
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    return np.arccos(min(cosine, 1.0))


REDUCED = {
    "norm": lambda centre, deviation: np.linalg.norm(deviation),
    "angle": lambda centre, deviation: angle(centre, centre - deviation),
    "predicted": lambda centre, deviation: deviation[np.argmax(centre)],
    1: lambda centre, deviation: deviation[1],
    -1: lambda centre, deviation: deviation[3],
}


def measured(function, turns=3, ball=None, reduction=None, rows=None, **more):
    """The result, the centres' answers (rows, columns), and each turn's mean (turns, …)."""
    model = Recorded(function)
    ball = ball or ah.balls.rotated(ah.balls.simplex(3))
    sphere = sphere_of(model, POINTS, ball, reduction=reduction, **more)
    model.calls.clear()
    rows = np.arange(6) if rows is None else rows
    result = measure_task(sphere, Task(rows, 2, turns))
    asked = np.concatenate(model.calls).reshape(len(rows), -1, 3)
    answers = function(asked.reshape(-1, 3)).reshape(*asked.shape[:2], -1)
    assert result.queries == asked.shape[0] * asked.shape[1]
    repeats = asked.shape[1] - turns * ball.count
    np.testing.assert_array_equal(
        asked[:, :repeats], np.repeat(POINTS[rows][:, None], repeats, axis=1)
    )
    around = answers[:, repeats:].reshape(len(rows), turns, ball.count, -1)
    return result, answers[:, :repeats], around


@pytest.mark.parametrize("reduction", REDUCED)
@pytest.mark.parametrize("turns", [1, 2, 5])
def test_every_reduction_is_the_jackknife_of_its_turns(reduction, turns):
    result, centres, around = measured(vectors, turns, reduction=reduction)
    reduced = REDUCED[reduction]
    for row in range(6):
        centre = centres[row, 0]
        each = centre - around[row].mean(axis=1)
        value = reduced(centre, each.mean(axis=0))
        if reduction in ("norm", "angle"):
            np.testing.assert_allclose(result.deviations[row], each.mean(axis=0), atol=1e-14)
            np.testing.assert_allclose(result.centres[row], centre)
        else:
            assert result.deviations[row] == pytest.approx([value], abs=1e-14)
        if turns == 1:
            assert result.squares[row] == result.noise[row] == 0
            continue
        without = [
            reduced(centre, np.delete(each, turn, axis=0).mean(axis=0)) for turn in range(turns)
        ]
        pseudo = turns * value - (turns - 1) * np.array(without)
        squares = np.sum((pseudo - pseudo.mean()) ** 2)
        assert result.squares[row] == pytest.approx(squares, rel=1e-5)
        unbiased = turns * value**2 - (turns - 1) * np.mean(np.square(without))
        assert result.noise[row] == pytest.approx((value**2 - unbiased) * turns, rel=1e-5, abs=1e-9)


def test_of_a_number_noise_is_the_variance_of_its_turns():
    result, centres, around = measured(number, 5)
    each = centres[..., 0] - around.mean(axis=2)[..., 0]
    np.testing.assert_allclose(result.noise, each.var(axis=1, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(result.squares, 4 * each.var(axis=1, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(result.deviations[:, 0], each.mean(axis=1), rtol=1e-12)


def test_the_square_of_a_vector_is_the_mean_product_of_two_different_turns():
    result, centres, around = measured(vectors, 4)
    each = centres - around.mean(axis=2)
    products = np.einsum("ric,rjc->rij", each, each)
    apart = (products.sum(axis=(1, 2)) - np.trace(products, axis1=1, axis2=2)) / 12
    value = np.linalg.norm(each.mean(axis=1), axis=1)
    np.testing.assert_allclose(value**2 - result.noise / 4, apart, atol=1e-12)


def test_a_noisy_models_centres_are_averaged_over_the_turns_and_each_turn_has_its_own():
    random = np.random.default_rng(5)
    answers = []

    def noisy(x):
        answers.append(x[:, 0] + random.normal(size=len(x)))
        return answers[-1]

    ball = ah.balls.rotated(ah.balls.simplex(3))
    sphere = sphere_of(noisy, POINTS, ball, noisy=True)
    answers.clear()
    result = measure_task(sphere, Task(np.arange(6), 0, 3))
    said = np.concatenate(answers).reshape(6, 3 + 3 * 4)
    each = said[:, :3] - said[:, 3:].reshape(6, 3, 4).mean(axis=2)
    assert result.queries == said.size
    np.testing.assert_allclose(result.centres[:, 0], said[:, :3].mean(axis=1))
    np.testing.assert_allclose(result.deviations[:, 0], each.mean(axis=1))
    np.testing.assert_allclose(result.squares, 2 * each.var(axis=1, ddof=1))


BALLS = {
    "singles": ah.balls.rotated(ah.balls.simplex(3)),
    "pairs": ah.balls.rotated(ah.balls.antisimplex(3)),
}


@pytest.mark.parametrize("ball", BALLS)
def test_changes_are_told_by_direction_and_of_pairs_by_their_even_part(ball):
    result, centres, around = measured(vectors, 3, BALLS[ball])
    change = around - centres[:, :1][:, None]
    if ball == "pairs":
        # A turn's reflections stand behind its originals.
        change = (change[:, :, :4] + change[:, :, 4:]) / 2
    lengths = np.linalg.norm(change, axis=-1).reshape(6, -1)
    np.testing.assert_allclose(result.changes.largest, lengths.max(axis=1), rtol=1e-10)
    np.testing.assert_array_equal(result.changes.flat, 0)
    np.testing.assert_array_equal(result.changes.same, 0)


@pytest.mark.parametrize("second", [0.0, 0.9e-3, 1.1e-3])
def test_directions_with_less_than_a_thousandth_of_the_largest_change_are_flat(second):
    def bowl(x):
        return x[:, 0] ** 2 + second * x[:, 1] ** 2

    cross = ah.balls.cross(3)
    sphere = sphere_of(bowl, np.zeros((2, 3)), cross)
    changes = measure_task(sphere, Task(np.arange(2), 0, 2)).changes
    np.testing.assert_allclose(changes.largest, 0.25, rtol=1e-12)
    # Two turns of the axes: the third is flat, and the second if it hardly bends.
    assert changes.flat.tolist() == [4 if second < 1e-3 else 2] * 2
    assert changes.same.tolist() == [8 if second == 0 else 4] * 2


def test_a_neighbour_is_the_same_if_every_column_is():
    def columns(x):
        return np.stack([x[:, 0], x[:, 1]], axis=1)

    sphere = sphere_of(columns, np.zeros((1, 3)), ah.balls.onehot(3))
    result = measure_task(sphere, Task(np.array([0]), 0, 1))
    assert result.changes.same.tolist() == [1], "the second axis changes the second column alone"
    assert result.changes.flat.tolist() == [1]


def test_where_nothing_changes_every_direction_is_flat_and_every_neighbour_the_same():
    sphere = sphere_of(lambda x: np.ones(len(x)), POINTS, ah.balls.antisimplex(3))
    result = measure_task(sphere, Task(np.arange(6), 0, 2))
    assert result.changes.largest.tolist() == [0] * 6
    assert result.changes.flat.tolist() == [8] * 6
    assert result.changes.same.tolist() == [16] * 6


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("chunk", [1, 6, 13, 30, 31, 50, 100])
def test_pieces_that_fit_in_memory_are_the_whole(ball, noisy, chunk):
    whole, *_ = measured(vectors, 3, BALLS[ball], noisy=noisy, chunk=10**6)
    model = Recorded(vectors)
    sphere = sphere_of(model, POINTS, BALLS[ball], noisy=noisy, chunk=chunk)
    model.calls.clear()
    parts = measure_task(sphere, Task(np.arange(6), 2, 3))
    for name in ("deviations", "centres", "squares", "noise"):
        np.testing.assert_allclose(
            getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-13
        )
    np.testing.assert_allclose(parts.changes.largest, whole.changes.largest, rtol=1e-12)
    assert parts.queries == whole.queries == model.rows
    # The least there can be at once is a direction of each row, or its centres beside it.
    sides, repeats = (2 if ball == "pairs" else 1), (3 if noisy else 1)
    least = 6 * (repeats + sides)
    assert max(map(len, model.calls)) <= max(chunk, least)
    if chunk >= least:
        assert len(model.calls) <= 1 + whole.queries / (chunk - 6 * sides + 1)


def test_rows_without_an_answer_are_named_and_in_no_array():
    def gaps(x):
        return np.where(np.abs(x[:, :1] - POINTS[4, 0]) < 0.1, np.nan, vectors(x))

    whole, *_ = measured(vectors, 2)
    sphere = sphere_of(gaps, POINTS, ah.balls.rotated(ah.balls.simplex(3)), radius=0.01)
    clean = sphere_of(vectors, POINTS, ah.balls.rotated(ah.balls.simplex(3)), radius=0.01)
    rows = np.array([5, 4, 1])
    result = measure_task(sphere, Task(rows, 0, 2))
    expected = measure_task(clean, Task(np.array([5, 1]), 0, 2))
    assert result.bad.tolist() == [4]
    assert result.rows.tolist() == [5, 1]
    assert result.queries == 3 * 9
    for name in ("deviations", "centres", "squares", "noise"):
        np.testing.assert_allclose(getattr(result, name), getattr(expected, name), atol=1e-14)
    assert len(result.changes.largest) == len(result.changes.same) == 2
    assert whole.bad.tolist() == []


def test_neighbours_that_bounds_move_are_counted():
    corner = np.array([[0.0, 0.5], [0.5, 0.5]])
    axes = ah.balls.fixed(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]))
    sphere = sphere_of(number, corner, axes, radius=0.25, bounds=(0, 1))
    assert measure_task(sphere, Task(np.arange(2), 0, 4)).clipped == 4
    scores = ah.gamma(
        number, corner, radius=0.25, scale=None, bounds=(0, 1), ball=axes, rotations=0
    )
    assert scores.settings.clipped == pytest.approx(1 / scores.queries)


def test_how_far_answers_go_with_a_column_counts_the_neighbours_in_which_it_moved():
    start = np.array([[1.0, np.nan], [2.0, 5.0]])
    around = np.array(
        [[[1.0, np.nan], [3.0, np.nan], [1.0, 4.0]], [[2.0, 5.0], [2.0, np.nan], [7.0, 6.0]]]
    )
    lengths = np.array([[0.5, 1.0, 2.0], [0.25, 4.0, 8.0]])
    along = Along.of(start, around, lengths)
    assert along.moved.tolist() == [[1, 1], [1, 2]]
    assert along.lengths.tolist() == [[1.0, 2.0], [8.0, 12.0]]
    assert along.total.tolist() == [3.5, 12.25]
    both = along.plus(along)
    assert both.moved.tolist() == [[2, 2], [2, 4]]
    assert both.lengths.tolist() == [[2.0, 4.0], [16.0, 24.0]]
    assert both.total.tolist() == [7.0, 24.5]
    second = along.take(np.array([False, True]))
    assert (second.moved.tolist(), second.lengths.tolist()) == ([[1, 2]], [[8.0, 12.0]])
    assert second.total.tolist() == [12.25]
