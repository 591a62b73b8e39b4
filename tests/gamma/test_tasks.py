"""How rows that are due turns become tasks, and who shares these out."""

from __future__ import annotations

import builtins
from dataclasses import replace

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.measures.gamma.measure import gamma_once
from anharmonic.measures.gamma.rounds import tasks_of, turn_budget_of
from anharmonic.measures.setup.batching import BatchSizer
from tests.gamma.spheres import Recorded, sphere_of

POINTS = np.random.default_rng(0).normal(size=(10, 3))


def total(x):
    return x.sum(axis=1)


def tasks(turns, extra, chunk=1000, noisy=False, seconds=None, seconds_per_row=None):
    sphere = sphere_of(total, POINTS, ah.balls.simplex(3), chunk=chunk, noisy=noisy)
    sizer = BatchSizer(chunk, seconds_per_row=seconds_per_row)
    sphere = replace(sphere, caller=sphere.caller._replace(sizer=sizer))
    made = tasks_of(sphere, np.array(turns), np.array(extra), seconds)
    return [(task.rows.tolist(), task.first_turn, task.turns) for task in made]


def test_rows_that_had_as_many_turns_and_are_due_as_many_go_together():
    found = tasks([4, 0, 4, 0, 8, 4, 0, 4], [4, 2, 0, 2, 8, 2, 0, 4])
    assert found == [([1, 3], 0, 2), ([5], 4, 2), ([0, 7], 4, 4), ([4], 8, 8)]
    assert tasks([4, 4], [0, 0]) == []


@pytest.mark.parametrize(("chunk", "sizes"), [(27, [3, 3, 3, 1]), (26, [2] * 5), (90, [10])])
def test_a_task_holds_as_many_rows_as_fit_in_memory(chunk, sizes):
    # Two turns of four directions and the centre are 9 queries a row.
    found = tasks([0] * 10, [2] * 10, chunk)
    assert [len(rows) for rows, _, _ in found] == sizes
    assert [row for rows, _, _ in found for row in rows] == list(range(10))


def test_a_row_that_does_not_fit_is_a_task_of_its_own():
    assert [len(rows) for rows, _, _ in tasks([0] * 3, [2] * 3, chunk=1)] == [1, 1, 1]


def test_a_noisy_models_centres_take_room_too():
    # Two turns of four directions and a centre each, and one more: 11.
    assert [len(rows) for rows, _, _ in tasks([0] * 10, [2] * 10, 33, noisy=True)] == [3, 3, 3, 1]
    assert [len(rows) for rows, _, _ in tasks([0] * 10, [2] * 10, 32, noisy=True)] == [2] * 5


def test_a_slow_model_gets_as_many_rows_as_it_answers_in_time():
    found = tasks([0] * 10, [2] * 10, seconds=1.0, seconds_per_row=1 / 40)
    assert [len(rows) for rows, _, _ in found] == [4, 4, 2]
    found = tasks([0] * 10, [2] * 10, seconds=None, seconds_per_row=1 / 40)
    assert [len(rows) for rows, _, _ in found] == [10]
    assert [len(rows) for rows, _, _ in tasks([0] * 10, [2] * 10, seconds=1.0)] == [10]


def test_a_turn_costs_its_directions_and_of_a_noisy_model_its_centre():
    sphere = sphere_of(total, POINTS, ah.balls.simplex(3))
    quiet = turn_budget_of(sphere, 4, 100, 0.5)
    assert (quiet.turn_cost, quiet.part_cost) == (4, 1)
    assert (quiet.rotations, quiet.budget, quiet.tolerance) == (4, 100, 0.5)
    noisy = turn_budget_of(replace(sphere, noisy=True), 0, None, None)
    assert (noisy.turn_cost, noisy.part_cost, noisy.rotations) == (5, 0, 1)


def test_a_map_of_ones_own_gets_every_task():
    seen = []

    def counted(measure, tasks):
        for task in tasks:
            seen.append(len(task.rows))
            yield measure(task)

    arguments = {"radius": 0.5, "scale": None, "ball": "simplex", "batch_size": 51}
    alone = ah.gamma(total, POINTS, map=builtins.map, **arguments)
    shared = ah.gamma(total, POINTS, map=counted, **arguments)
    assert seen == [3, 3, 3, 1]
    np.testing.assert_array_equal(alone.signed, shared.signed)


def test_once_is_one_turn_and_nothing_else():
    model = Recorded(lambda x: (x**2).sum(axis=1))
    sphere = sphere_of(model, POINTS, ah.balls.simplex(3))
    model.calls.clear()
    scores = gamma_once(sphere)
    assert model.rows == scores.queries == 10 * 5
    assert scores.turns.tolist() == [1] * 10
    np.testing.assert_allclose(scores.values, 0.25, rtol=1e-12)
