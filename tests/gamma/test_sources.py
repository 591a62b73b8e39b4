"""Gamma of a source's rows: settled on a sample, and for each row what it is in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures.gamma.over_sources import prepare_gamma
from tests.gamma.spheres import Recorded, settled
from tests.tables.test_exact import lookup, small

COLUMNS = ["a", "b", "c"]
POINTS = np.random.default_rng(0).normal(size=(90, 3))
FIXED = {"radius": 0.5, "scale": [1.0, 1.0, 1.0]}


def wavy(frame):
    rows = np.asarray(frame)
    return np.sin(2 * rows[:, 0]) + rows[:, 1] ** 2


@pytest.fixture
def source(tmp_path):
    pq.write_table(pa.table(dict(zip(COLUMNS, POINTS.T, strict=True))), tmp_path / "rows.parquet")
    return ah.sources.files(tmp_path / "rows.parquet")


def prepared(function, points=POINTS, **arguments):
    return prepare_gamma(settled(function, points), arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"rotations": 2, "ball": "simplex"},
        {"rotations": 0, "ball": "antisimplex"},
        {"tolerance": 0.2},
        {"reduction": "angle", "directions": 4},
        {"noise": "ignore", "ball": "random pairs"},
    ],
)
def test_a_row_has_the_score_it_has_in_memory(source, tmp_path, arguments):
    stored = ah.gamma(wavy, source, out=tmp_path / "out", **FIXED, **arguments)
    here = ah.gamma(wavy, pd.DataFrame(POINTS, columns=COLUMNS), **FIXED, **arguments)
    scores = stored.to_scores()
    for name in ("values", "errors", "squared", "signed", "outputs", "turns"):
        np.testing.assert_allclose(
            getattr(scores, name), getattr(here, name), rtol=1e-9, atol=1e-12
        )
    for name in ("ball", "directions", "rotations", "tolerance", "noise", "odd_power"):
        assert getattr(stored.settings, name) == getattr(here.settings, name)


@pytest.mark.parametrize("tolerance", [None, 0.2])
def test_rows_without_an_answer_are_set_aside_and_the_others_are_not_touched(
    source, tmp_path, tolerance
):
    def gaps(frame):
        rows = np.asarray(frame)
        return np.where(rows[:, 0] > 1.5, np.nan, wavy(frame))

    arguments = {**FIXED, "ball": "simplex", "tolerance": tolerance}
    stored = ah.gamma(gaps, source, out=tmp_path / "out", **arguments)
    whole = ah.gamma(wavy, source, out=tmp_path / "whole", **arguments).to_scores()
    scores = stored.to_scores()
    kept = pa.concat_tables(list(stored.batches()))["row"].to_numpy()
    assert np.isin(np.flatnonzero(POINTS[:, 0] < 1), kept).all()
    assert (POINTS[kept, 0] <= 1.5).all()
    assert stored.set_aside == 90 - len(kept)
    np.testing.assert_allclose(scores.values, whole.values[kept], rtol=1e-12)
    np.testing.assert_array_equal(scores.turns, whole.turns[kept])


def test_rows_in_a_corner_of_the_bounds_are_set_aside(tmp_path):
    points = np.random.default_rng(1).uniform(0.2, 0.8, size=(40, 3))
    points[[3, 17]] = [[0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    setup = settled(lambda x: (x**2).sum(axis=1), points, radius=0.1, bounds=(0, 1))
    found = prepare_gamma(setup, {})
    scores = found.measure(setup)
    assert np.flatnonzero(np.isnan(scores.values)).tolist() == [3, 17]
    assert found.settings.paired
    np.testing.assert_allclose(np.delete(scores.values, [3, 17]), 0.01, rtol=1e-9)


def test_other_rows_in_place_of_a_ball_are_refused(source):
    with pytest.raises(SettingsError, match='ball="data" compares each row with all others'):
        ah.gamma(wavy, source, ball="data")
    with pytest.raises(SettingsError, match="budget"):
        ah.gamma(wavy, source, budget=10_000)


def test_what_a_row_costs_is_known_beforehand():
    model = Recorded(lambda x: x.sum(axis=1))
    found = prepared(model)
    pilot = 2 * 64 + 8 * 8
    assert found.queries == pilot == model.rows
    assert found.queries_per_row == 4 * 8 + 1
    assert found.settings.rotations == 4
    found = prepared(model, rotations=2, ball="simplex", noise="ignore")
    assert (found.queries, found.queries_per_row) == (0, 2 * 4 + 1)
    assert found.measure(found.setup).queries == 90 * 9


def test_a_noisy_model_is_asked_for_each_centre_anew():
    random = np.random.default_rng(0)
    found = prepared(lambda x: x[:, 0] + random.normal(size=len(x)), ball="simplex")
    assert found.measure.noisy
    assert found.queries_per_row == 4 * (4 + 1)
    assert found.measure(found.setup).queries == 90 * 4 * 5


@pytest.mark.parametrize(("batch_size", "rows"), [(330, 80), (329, 72), (66, 16), (1, 8)])
def test_a_block_is_eight_tasks(batch_size, rows):
    setup = settled(lambda x: x.sum(axis=1), POINTS, batch_size=batch_size)
    assert prepare_gamma(setup, {}).rows_at_once == rows


def test_a_table_of_few_neighbours_is_asked_about_all_of_them(tmp_path):
    frame, reference = small(60), small(200, seed=5)
    frame.to_parquet(tmp_path / "rows.parquet")
    stored = ah.gamma(
        lookup, ah.sources.files(tmp_path / "rows.parquet"), reference=reference, out=tmp_path / "o"
    )
    here = ah.gamma(lookup, frame, reference=reference)
    assert stored.settings.complete
    assert here.settings.complete
    np.testing.assert_allclose(stored.to_scores().values, here.values, atol=1e-14)
    assert set(stored.to_scores().turns.tolist()) == {1}
