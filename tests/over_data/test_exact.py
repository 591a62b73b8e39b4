"""Exact answers of gamma over the data, and bits that nothing but the rows decides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import anharmonic as ah
from anharmonic.errors import OutputError, PointsError, SettingsError
from anharmonic.measures.over_data import Boosted, Forest, Given, Neighbours
from anharmonic.measures.spectral.graph import graph_of
from anharmonic.measures.spectral.search import neighbours

KINDS = [Forest(trees=20), Neighbours(5), Boosted(fits=4, rounds=10)]


def rows_of(count=120, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 3))


def bumpy(rows):
    return np.tanh(3 * rows[:, 0]) + (np.sin(37 * rows[:, 1]) > 0.9)


def table_of(count=150, seed=0):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "customer_id": np.arange(count),
            "age": random.normal(40, 10, count),
            "town": random.choice(["Ulm", "Bonn", None], count),
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(random.integers(0, 900, count), "D"),
            "member": random.random(count) < 0.5,
        }
    )
    frame.loc[random.random(count) < 0.2, "age"] = np.nan
    frame.loc[random.random(count) < 0.1, "since"] = pd.NaT
    return frame


@pytest.mark.parametrize("weights", KINDS, ids=lambda weights: weights.name)
def test_constants_read_zero(weights):
    scores = ah.gamma_data(rows_of(), np.full(120, 7.25), weights=weights)
    np.testing.assert_allclose(scores.values, 0, atol=1e-12)
    assert scores.mean <= scores.interval()[1] <= 1e-9


def test_linear_functions_read_zero_inside_a_regular_grid():
    axes = np.arange(9.0)
    for dimension, count in ((1, 2), (2, 4), (2, 8), (2, 10), (3, 6), (3, 10)):
        side = axes if dimension < 3 else axes[:7]
        grid = np.stack(np.meshgrid(*[side] * dimension, indexing="ij"), -1)
        grid = grid.reshape(-1, dimension)
        slope = np.array([2.0, -3.0, 5.0])[:dimension]
        scores = ah.gamma_data(grid, grid @ slope + 1, weights=Neighbours(count))
        inside = ((grid >= 2) & (grid <= side[-1] - 2)).all(axis=1)
        assert inside.sum() > 1
        np.testing.assert_allclose(scores.values[inside], 0, atol=1e-12)
        assert scores.values[~inside].max() > 0.1


def test_a_square_reads_the_mean_squared_distance_to_the_neighbours():
    line = np.arange(40.0)[:, None]
    scores = ah.gamma_data(line, line[:, 0] ** 2, weights=Neighbours(4))
    # Neighbours at ±1 and ±2: the mean of their squared distances is (1 + 4)/2.
    np.testing.assert_allclose(scores.values[2:-2], 2.5, rtol=1e-12)


@pytest.mark.parametrize("as_laplacian", [False, True])
def test_harmonic_functions_on_a_given_graph_read_zero(as_laplacian):
    random = np.random.default_rng(1)
    count, boundary = 60, 8
    graph = sparse.random_array((count, count), density=0.2, rng=random)
    graph = (graph + graph.T).tolil()
    for node in range(count - 1):  # connected
        graph[node, node + 1] = graph[node + 1, node] = 1.0
    graph.setdiag(0)
    graph = graph.tocsr()
    degrees = np.asarray(graph.sum(axis=1)).reshape(-1)
    laplacian = sparse.diags_array(degrees) - graph
    values = np.zeros(count)
    values[:boundary] = random.normal(size=boundary)
    inner = laplacian[boundary:][:, boundary:].toarray()
    values[boundary:] = np.linalg.solve(
        inner, -laplacian[boundary:][:, :boundary] @ values[:boundary]
    )
    matrix = laplacian if as_laplacian else graph
    scores = ah.gamma_data(np.arange(count)[:, None], values, weights=matrix)
    np.testing.assert_allclose(scores.values[boundary:], 0, atol=1e-12)
    assert scores.values[:boundary].max() > 0.1


def test_spades_own_graph_is_taken():
    rows = rows_of()
    graph = graph_of(neighbours(rows, 5))
    scores = ah.gamma_data(rows, bumpy(rows), weights=graph)
    means = graph.adjacency @ bumpy(rows) / graph.degrees
    np.testing.assert_allclose(scores.values, np.abs(bumpy(rows) - means), atol=1e-12)


def test_a_sphere_in_the_data_agrees_with_a_given_matrix():
    rows = rows_of()
    distances = np.linalg.norm(rows[:, None] - rows, axis=-1)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :5]
    matrix = np.zeros((120, 120))
    np.put_along_axis(matrix, nearest, 0.2, axis=1)
    given_scores = ah.gamma_data(rows, bumpy(rows), weights=Given(matrix))
    # Neighbours compare in units of the spread, so give them rows that have it already.
    units = rows / rows.std(axis=0)
    by_search = ah.gamma_data(units, bumpy(rows), weights=Neighbours(5))
    direct = np.abs(bumpy(rows) - matrix @ bumpy(rows))
    np.testing.assert_allclose(given_scores.values, direct, atol=1e-12)
    distances = np.linalg.norm(units[:, None] - units, axis=-1)
    np.fill_diagonal(distances, np.inf)
    expected = bumpy(rows)[np.argsort(distances, axis=1)[:, :5]].mean(axis=1)
    np.testing.assert_allclose(by_search.values, np.abs(bumpy(rows) - expected), atol=1e-12)


@pytest.mark.parametrize("weights", KINDS, ids=lambda weights: weights.name)
def test_permuting_rows_and_workers_change_no_bit(weights):
    rows = np.concatenate([rows_of(), rows_of()[:20]])
    answers = bumpy(rows)
    order = np.random.default_rng(5).permutation(len(rows))
    one = ah.gamma_data(rows, answers, weights=weights, workers=1)
    other = ah.gamma_data(rows[order], answers[order], weights=weights, workers=3)
    for name in ("values", "errors", "signed"):
        np.testing.assert_array_equal(getattr(one, name)[order], getattr(other, name))
    assert one.settings.group_scores == other.settings.group_scores
    assert (one.mean, one.error) == (other.mean, other.error)


def test_permuting_a_given_matrix_with_its_rows_changes_no_bit():
    rows, random = rows_of(), np.random.default_rng(2)
    matrix = sparse.random_array((120, 120), density=0.1, rng=random) + sparse.eye_array(120, k=1)
    matrix = sparse.csr_array(matrix + sparse.eye_array(120, k=-119))
    order = random.permutation(120)
    one = ah.gamma_data(rows, bumpy(rows), weights=matrix)
    other = ah.gamma_data(rows[order], bumpy(rows[order]), weights=matrix[order][:, order])
    np.testing.assert_array_equal(one.values[order], other.values)
    assert one.mean == other.mean


def test_the_batch_size_changes_no_bit_and_each_row_is_asked_once():
    calls = []

    def model(rows):
        calls.append(len(rows))
        return bumpy(np.asarray(rows))

    one, other = (
        ah.gamma(model, rows_of(), ball=Forest(trees=20), batch_size=size) for size in (7, 120)
    )
    np.testing.assert_array_equal(one.values, other.values)
    assert sum(calls) == 240
    assert one.queries == other.queries == 120


def test_a_seed_decides_and_another_gives_other_numbers():
    one, same, other = (
        ah.gamma_data(rows_of(), bumpy(rows_of()), weights=Forest(trees=20), seed=seed)
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.values, same.values)
    assert not np.array_equal(one.values, other.values)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.1, 100), st.floats(-50, 50), st.integers(0, 100))
def test_answers_in_another_unit_give_scores_in_it(factor, shift, seed):
    rows = rows_of(60, seed)
    one = ah.gamma_data(rows, bumpy(rows), weights=Neighbours(4))
    other = ah.gamma_data(rows, factor * bumpy(rows) + shift, weights=Neighbours(4))
    np.testing.assert_allclose(other.values, factor * one.values, rtol=1e-6, atol=1e-9 * factor)


@pytest.mark.parametrize("weights", KINDS, ids=lambda weights: weights.name)
def test_tables_with_categories_dates_and_missing_cells(weights):
    frame = table_of()
    answers = np.where(frame["town"] == "Ulm", "yes", "no")
    scores = ah.gamma_data(frame, answers, weights=weights)
    assert scores.complete
    assert scores.settings.columns == ("age", "town", "since", "member")
    assert scores.settings.still == ("customer_id",)
    assert list(scores.to_frame("pandas").index) == list(frame.index)
    # What a category decides can be told from it by a tree.
    if isinstance(weights, Forest):
        assert scores.mean < 0.15


def test_polars_and_pandas_agree():
    import polars as pl

    frame = table_of()
    answers = np.where(frame["town"] == "Ulm", 1.0, 0.0)
    one = ah.gamma_data(frame, answers, weights=Neighbours(5))
    other = ah.gamma_data(pl.from_pandas(frame), answers, weights=Neighbours(5))
    np.testing.assert_allclose(one.values, other.values, atol=1e-12)


def test_times_in_other_units_are_the_same_times():
    frame = table_of()
    answers = np.where(frame["town"] == "Ulm", 1.0, 0.0)
    other_units = frame.assign(since=frame["since"].astype("datetime64[ms]"))
    one, other = (
        ah.gamma_data(frame[:50], answers[:50], weights=Neighbours(5), reference=(held, answers))
        for held in (frame, other_units)
    )
    np.testing.assert_array_equal(one.values, other.values)


def test_no_row_is_weighed_for_itself_or_its_copies():
    rows = np.repeat(rows_of(30), 4, axis=0)
    answers = np.repeat(np.eye(30)[0] * 9.0, 4)  # row 0 and its copies alone answer 9
    for weights in (Neighbours(5), Forest(trees=20)):
        scores = ah.gamma_data(rows, answers, weights=weights)
        np.testing.assert_allclose(scores.values[:4], 9.0)


def test_a_reference_is_never_weighed_for_a_row_that_stands_in_it():
    rows = rows_of()
    answers = bumpy(rows)
    alone = ah.gamma_data(rows, answers, weights=Neighbours(5))
    again = ah.gamma_data(rows[:50], answers[:50], weights=Neighbours(5), reference=(rows, answers))
    np.testing.assert_allclose(again.values, alone.values[:50], atol=1e-12)
    fresh = rows_of(40, seed=9)
    apart = ah.gamma_data(fresh, bumpy(fresh), weights=Neighbours(5), reference=(rows, answers))
    assert apart.settings.reference_rows == 120
    np.testing.assert_allclose(
        ah.gamma(bumpy, fresh, ball=Neighbours(5), reference=rows).values, apart.values
    )


def test_one_tree_speaks_for_a_row_only_if_it_did_not_see_it():
    # A forest that saw a row would repeat its answer: noise would read 0.
    random = np.random.default_rng(0)
    noise = random.normal(size=300)
    scores = ah.gamma_data(random.normal(size=(300, 4)), noise, weights=Forest(trees=40))
    assert scores.mean > 0.7


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ah.gamma_data(np.ones((50, 2)), np.ones(50)), PointsError, "only 1 rows differ"),
        (lambda: ah.gamma_data(rows_of(), np.ones(50)), OutputError, "one answer per row"),
        (lambda: ah.gamma_data(rows_of(), np.full(120, np.nan)), OutputError, "NaN or infinite"),
        (lambda: ah.gamma_data(rows_of(8), np.ones(8), weights="neighbours"), SettingsError, "7"),
        (lambda: ah.gamma_data(rows_of(), np.ones(120), weights="trees"), SettingsError, "forest"),
        (
            lambda: ah.gamma_data(rows_of(), np.ones(120), weights=np.eye(120)),
            SettingsError,
            "no weight on any other row",
        ),
        (
            lambda: ah.gamma_data(rows_of(), np.ones(120), weights=np.ones((5, 5))),
            SettingsError,
            "shape",
        ),
        (lambda: ah.gamma(bumpy, rows_of(), ball="data", radius=0.1), SettingsError, "radius"),
        (lambda: ah.gamma(bumpy, rows_of(), ball="data", budget=10), SettingsError, "budget"),
        (lambda: ah.gamma(bumpy, rows_of(), ball="data oak"), SettingsError, "oak"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()
