"""Rows of a table whose neighbours are few: each of them is asked for, once, with its weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.gamma.choosing import first_sphere
from anharmonic.measures.gamma.deviation import Task, measure_ahead, measure_task
from anharmonic.measures.gamma.listed_rows import listed_spheres
from anharmonic.measures.gamma.over_sources import GammaOfRows, prepare_gamma
from anharmonic.measures.gamma.pilot import choose_ball
from anharmonic.measures.setup.settling import settle
from anharmonic.measures.setup.table_rows import table_ball, table_rows
from anharmonic.regions.tables.listing import list_neighbours
from tests.tables.test_exact import lookup, small

ROWS, KNOWN = small(30), small(200, seed=5)


@pytest.fixture(scope="module")
def setup():
    return settle(lookup, ROWS, reference=KNOWN)


@pytest.fixture(scope="module")
def counts(setup):
    table = table_rows(setup.region)
    _, weights = list_neighbours(table.law, table.values, table.donors, setup.radius, 64)
    return np.count_nonzero(weights, axis=1)


def test_a_row_is_asked_about_with_as_many_as_it_has_room_for(setup, counts):
    usual = int(counts.min())
    assert (counts > usual).any()
    found = list(listed_spheres(setup, usual, "norm"))
    assert [sphere.ball.count for _, sphere, _ in found] == [usual, 64]
    for (here, sphere, rows), expected in zip(
        found, (counts <= usual, counts > usual), strict=True
    ):
        assert rows.tolist() == np.flatnonzero(expected).tolist()
        neighbours, weights = sphere.listed
        np.testing.assert_array_equal(here.region.values, setup.region.values[rows])
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_array_equal(np.count_nonzero(weights, axis=1), counts[rows])
        # What a row has no neighbours for is filled up with the row itself, which weighs nothing.
        for row, own in enumerate(here.region.values):
            np.testing.assert_array_equal(
                neighbours[row, counts[rows][row] :],
                np.repeat(own[None], sphere.ball.count - counts[rows][row], axis=0),
            )


@pytest.mark.parametrize("usual", [4, 12, 64, 100])
def test_a_row_has_the_same_score_however_many_are_usual(setup, usual):
    whole = ah.gamma(lookup, ROWS, reference=KNOWN)
    measure = GammaOfRows(
        whole.settings.ball, "norm", False, 1, None, whole.settings, complete=usual
    )
    scores = measure(setup)
    np.testing.assert_allclose(scores.values, whole.values, atol=1e-14)
    assert scores.errors.tolist() == [0.0] * 30
    assert scores.turns.tolist() == [1] * 30


def test_all_neighbours_cost_one_query_each_and_the_row_itself(counts):
    whole = ah.gamma(lookup, ROWS, reference=KNOWN, noise="ignore", ball="auto pairs")
    assert whole.settings.directions == counts.max()
    assert whole.queries == 30 * (counts.max() + 1)
    np.testing.assert_array_equal(whole.turns, 1)


def test_neighbours_are_drawn_where_a_ball_is_given_or_nothing_is_rotated():
    assert ah.gamma(lookup, ROWS, reference=KNOWN).settings.complete
    assert not ah.gamma(lookup, ROWS, reference=KNOWN, rotations=0).settings.complete
    given = table_ball(None, 12, True)
    assert not ah.gamma(lookup, ROWS, reference=KNOWN, ball=given).settings.complete
    random = np.random.default_rng(0)

    def noisy(frame):
        return lookup(frame) + random.normal(size=len(frame))

    assert not ah.gamma(noisy, ROWS, reference=KNOWN).settings.complete


def test_for_a_source_the_same_is_decided_on_its_sample(setup, counts):
    found = prepare_gamma(setup, {"ball": "auto singles"})
    assert found.settings.complete
    assert (found.measure.complete, found.measure.rotations) == (counts.max(), 1)
    assert found.queries_per_row == counts.max() + 1
    for arguments in ({"rotations": 0}, {"ball": table_ball(None, 12, True)}):
        drawn = prepare_gamma(setup, arguments)
        assert not drawn.settings.complete
        assert drawn.measure.complete is None
        assert drawn.measure.rotations == arguments.get("rotations", 4)


def test_rows_with_hundreds_of_neighbours_are_asked_about_with_512_or_4096():
    random, levels = np.random.default_rng(0), list("abcdef")
    shares = np.arange(1, 7) / 21
    frame = pd.DataFrame({name: random.choice(levels, 300, p=shares) for name in "pqrs"})
    setup = settle(lambda rows: np.zeros(len(rows)), frame[:12], reference=frame)
    table = table_rows(setup.region)
    _, weights = list_neighbours(table.law, table.values, table.donors, setup.radius, 4096)
    counts = np.count_nonzero(weights, axis=1)
    found = {sphere.ball.count: rows for _, sphere, rows in listed_spheres(setup, 20, "norm")}
    assert set(found) == {512, 4096}
    np.testing.assert_array_equal(found[512], np.flatnonzero(counts <= 512))
    np.testing.assert_array_equal(found[4096], np.flatnonzero(counts > 512))


def test_more_neighbours_than_4096_are_refused():
    random = np.random.default_rng(0)
    levels = list("abcdefgh")
    frame = pd.DataFrame({name: random.choice(levels, 300) for name in "pqrstu"})
    setup = settle(lambda rows: np.zeros(len(rows)), frame[:3], reference=frame)
    with pytest.raises(PointsError, match=r"more than 4,096 neighbours.*give a reference="):
        list(listed_spheres(setup, 8, "norm"))


def test_tasks_that_are_built_ahead_are_measured_in_turn():
    frame = KNOWN.assign(width=np.random.default_rng(0).normal(size=200))
    settled = settle(lambda rows: rows["width"].to_numpy() ** 2, frame[:9], reference=frame)
    sphere = replace(
        first_sphere(settled, None), ball=choose_ball("auto", 1, None, 4, True, table=True)
    )
    tasks = [Task(np.arange(start, start + 3), 0, 2) for start in (6, 0, 3)]
    ahead = list(measure_ahead(sphere, iter(tasks)))
    assert [result.rows.tolist() for result in ahead] == [[6, 7, 8], [0, 1, 2], [3, 4, 5]]
    for task, result in zip(tasks, ahead, strict=True):
        alone = measure_task(sphere, task)
        np.testing.assert_array_equal(result.deviations, alone.deviations)
        np.testing.assert_array_equal(result.along.lengths, alone.along.lengths)
    assert list(measure_ahead(sphere, [])) == []


def test_a_budget_asks_for_all_neighbours_once():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.choice(list("xyz"), 60), "b": random.random(60) < 0.5})

    def model(rows):
        return 2.0 * (rows["a"] == "x") + rows["b"]

    whole = ah.gamma(model, frame)
    assert whole.settings.complete
    limited = ah.gamma(model, frame, budget=whole.queries)
    assert limited.queries == whole.queries
    assert np.array_equal(limited.values, whole.values)
    with pytest.raises(SettingsError, match=f"all their neighbours cost {whole.queries}"):
        ah.gamma(model, frame, budget=whole.queries - 1)
