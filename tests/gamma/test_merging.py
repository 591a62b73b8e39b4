"""Parts of a run, merged: the same as all turns at once, whatever the parts and their order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from anharmonic._core.settings import Settings
from anharmonic.measures.gamma.accumulator import Accumulator
from anharmonic.measures.gamma.deviation import Along, Changes
from tests.gamma.parts import part_of

TURNS = np.array([[1.0, 4.0, 2.0, 7.0, 5.0, 3.5, 0.5], [2.0, 2.0, 3.0, -1.0, 0.0, 1.0, 6.0]])
CUTS = [(0, 4), (4, 6), (6, 7)]


def merged(parts, count=2, reduction="norm"):
    accumulator = Accumulator(count, reduction)
    for part in parts:
        accumulator.add(part)
    return accumulator


@pytest.mark.parametrize("order", list(permutations(CUTS)))
def test_parts_in_any_order_are_all_turns_at_once(order):
    whole = TURNS.std(axis=1, ddof=1) / np.sqrt(7)
    found = merged(part_of([0, 1], TURNS[:, first:stop]) for first, stop in order)
    scores = found.scores(Settings())
    np.testing.assert_allclose(scores.signed, TURNS.mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(scores.errors, whole, rtol=1e-13)
    np.testing.assert_array_equal(scores.turns, [7, 7])


@pytest.mark.parametrize("order", [[(0, 4), (4, 6)], [(4, 6), (0, 4)]])
def test_noise_is_pooled_over_the_degrees_of_freedom_of_the_parts(order):
    found = merged(part_of([0, 1], TURNS[:, first:stop]) for first, stop in order)
    inside = [TURNS[:, first:stop].var(axis=1, ddof=1) for first, stop in order]
    weights = [stop - first - 1 for first, stop in order]
    pooled = (weights[0] * inside[0] + weights[1] * inside[1]) / 4
    np.testing.assert_allclose(found.noise, pooled, rtol=1e-13)
    squared = found.scores(Settings()).squared
    means = TURNS[:, :6].mean(axis=1)
    np.testing.assert_allclose(squared, means**2 - pooled / 6, rtol=1e-12)


def test_a_single_turn_beside_several_has_no_say_in_their_noise():
    for order in ([(0, 4), (6, 7)], [(6, 7), (0, 4)]):
        found = merged(part_of([0, 1], TURNS[:, first:stop]) for first, stop in order)
        np.testing.assert_allclose(found.noise, TURNS[:, :4].var(axis=1, ddof=1), rtol=1e-13)


def test_noise_of_two_single_turns_is_what_lies_between_them():
    found = merged([part_of([0, 1], TURNS[:, :1]), part_of([0, 1], TURNS[:, 1:2])])
    np.testing.assert_allclose(found.noise, TURNS[:, :2].var(axis=1, ddof=1))


def test_only_a_parts_own_rows_change():
    found = merged([part_of([2, 0], TURNS), part_of([0], TURNS[:1] + 1)], count=4)
    np.testing.assert_array_equal(found.turns, [14, 0, 7, 0])
    np.testing.assert_array_equal(found.started, [True, False, True, False])
    scores = found.scores(Settings())
    both = np.concatenate([TURNS[1], TURNS[0] + 1])
    assert scores.signed[0] == pytest.approx(both.mean())
    assert scores.errors[0] == pytest.approx(both.std(ddof=1) / np.sqrt(14))
    assert scores.signed[2] == pytest.approx(TURNS[0].mean())
    for array in (scores.values, scores.errors, scores.squared, scores.signed, scores.outputs):
        np.testing.assert_array_equal(np.isnan(array), [False, True, False, True])


def test_one_turn_has_a_value_and_no_error():
    scores = merged([part_of([0, 1], TURNS[:, :1])]).scores(Settings())
    np.testing.assert_array_equal(scores.values, TURNS[:, 0])
    assert np.isnan(scores.errors).all()
    assert np.isnan(scores.squared).all()


def test_where_every_neighbour_was_asked_for_there_is_no_error():
    found = merged([part_of([0], -TURNS[:1, :1])], count=2)
    scores = found.scores(Settings.record(complete=True))
    np.testing.assert_array_equal(scores.values, [1.0, np.nan])
    np.testing.assert_array_equal(scores.errors, [0.0, np.nan])
    np.testing.assert_array_equal(scores.squared, [1.0, np.nan])


def test_answers_are_averaged_over_all_turns():
    found = merged(
        [
            part_of([0, 1], TURNS[:, :6], centres=np.array([[1.0], [3.0]])),
            part_of([0, 1], TURNS[:, 6:], centres=np.array([[8.0], [3.0]])),
        ]
    )
    np.testing.assert_allclose(found.scores(Settings()).outputs, [2.0, 3.0], rtol=1e-15)


def test_the_largest_change_is_kept_and_counts_add_up():
    def changes(*columns):
        return Changes(*(np.array(column) for column in columns))

    found = merged(
        [
            part_of([0, 1], TURNS, changes=changes([3.0, 1.0], [1, 0], [2, 5]), queries=20),
            part_of([0, 1], TURNS, changes=changes([2.0, 4.0], [4, 3], [1, 0]), queries=7),
        ]
    )
    scores = found.scores(Settings())
    np.testing.assert_array_equal(scores.largest, [3.0, 4.0])
    np.testing.assert_array_equal(scores.flat, [5, 3])
    np.testing.assert_array_equal(scores.same, [3, 5])
    assert scores.queries == 27


def test_how_far_answers_go_with_a_column_adds_up():
    one = Along(np.array([[1, 2], [0, 3]]), np.array([[0.5, 1.0], [0.0, 2.0]]), np.array([1.0, 2]))
    other = Along(np.array([[4, 0]]), np.array([[2.0, 0.0]]), np.array([3.0]))
    found = merged([part_of([0, 2], TURNS, along=one), part_of([2], TURNS[:1], along=other)], 3)
    scores = found.scores(Settings())
    np.testing.assert_array_equal(scores.columns["moved"], [[1, 2], [0, 0], [4, 3]])
    np.testing.assert_array_equal(scores.columns["moved_lengths"], [[0.5, 1], [0, 0], [2, 2]])
    np.testing.assert_array_equal(scores.columns["lengths"], [1, 0, 5])
    assert "moved" not in merged([part_of([0, 1], TURNS)]).scores(Settings()).columns


def test_bounds_tell_the_share_of_queries_that_they_moved():
    found = merged([part_of([0, 1], TURNS, queries=60, clipped=6), part_of([0], TURNS[:1])])
    bounded = Settings.record(bounds=[[0.0], [1.0]])
    assert found.scores(bounded).settings.clipped == pytest.approx(0.1)
    assert not found.scores(Settings()).settings.knows("clipped")
    assert Accumulator(2, "norm").scores(bounded).settings.clipped == 0


def test_before_the_first_answer_nothing_is_known():
    scores = Accumulator(3, "norm").scores(Settings())
    for array in (scores.values, scores.errors, scores.squared, scores.signed, scores.outputs):
        np.testing.assert_array_equal(array, [np.nan] * 3)
    assert not scores.started
    assert scores.settings.precision == 0


def test_a_vector_keeps_its_columns_and_a_number_has_none():
    found = Accumulator(2, "norm")
    part = part_of([0], TURNS[:1])
    found.add(part._replace(deviations=np.array([[3.0, 4.0]]), centres=np.array([[0.5, 0.25]])))
    scores = found.scores(Settings())
    assert scores.values[0] == 5
    np.testing.assert_array_equal(scores.signed, [[3, 4], [np.nan, np.nan]])
    np.testing.assert_array_equal(scores.outputs, [[0.5, 0.25], [np.nan, np.nan]])
    assert merged([part]).scores(Settings()).signed.shape == (2,)


def full():
    """An accumulator that has something of everything."""
    along = Along(np.array([[1, 2]]), np.array([[0.5, 1.0]]), np.array([1.0]))
    changes = Changes(np.array([3.0]), np.array([1]), np.array([2]))
    more = {"changes": changes, "queries": 31, "clipped": 7, "along": along}
    return merged(
        [part_of([1], TURNS[:1, :4], **more), part_of([1], TURNS[:1, 4:6], **more)], count=3
    )


@pytest.mark.parametrize("with_sums", [True, False])
def test_scores_give_back_the_accumulator_they_were_taken_from(with_sums):
    before = full()
    settings = Settings.record(bounds=[[0.0], [1.0]])
    scores = (before.scores_with_sums if with_sums else before.scores)(settings)
    after = Accumulator.resumed(scores, "norm")
    for name, value in vars(before).items():
        if with_sums:
            np.testing.assert_array_equal(getattr(after, name), value, err_msg=name)
        elif name != "reduction":
            np.testing.assert_allclose(getattr(after, name), value, rtol=1e-13, err_msg=name)
    for accumulator in (before, after):
        accumulator.add(part_of([0, 1], TURNS))
    np.testing.assert_allclose(after.errors, before.errors, rtol=1e-13)


def test_who_goes_on_from_scores_leaves_them_as_they_were():
    scores = full().scores_with_sums(Settings())
    kept = {name: array.copy() for name, array in scores.columns.items()}
    sums = {name: array.copy() for name, array in scores.sums.items()}
    Accumulator.resumed(scores, "norm").add(part_of([0, 1], TURNS))
    for name, array in kept.items():
        np.testing.assert_array_equal(scores.columns[name], array)
    for name, array in sums.items():
        np.testing.assert_array_equal(scores.sums[name], array)


def test_what_stops_a_change_of_some_rows_leaves_them_as_they_were():
    for begun in (full(), Accumulator(3, "norm")):
        before = {name: np.copy(value) for name, value in begun.sums.items()}
        queries = begun.queries

        def interrupted(accumulator):
            with accumulator.atomically(np.array([0, 1])):
                accumulator.add(part_of([0, 1], TURNS, queries=5))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted(begun)
        assert begun.queries == queries
        for name, value in begun.sums.items():
            np.testing.assert_array_equal(value, before[name])
