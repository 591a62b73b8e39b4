"""Neighbours and graphs: copies, ties, the point itself, rounding, components."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.spectral import clusters, products
from anharmonic.measures.spectral.graph import Graph, graph_of, join_components
from anharmonic.measures.spectral.search import SEARCHES, choose_search, neighbours, recall

RANDOM = np.random.default_rng(0)


def distances(points, found):
    return np.linalg.norm(points[found] - points[:, None, :], axis=2)


def true_distances(points, count):
    every = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2)
    np.fill_diagonal(every, np.inf)
    return np.sort(every, axis=1)[:, :count]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("dimension", [1, 3, 120])
def test_every_search_finds_the_nearest(search, dimension):
    points = RANDOM.normal(size=(300, dimension))
    found = neighbours(points, 7, search)
    assert found.shape == (300, 7)
    assert not (found == np.arange(300)[:, None]).any()
    np.testing.assert_allclose(distances(points, found), true_distances(points, 7), atol=1e-9)
    assert recall(points, found) == 1


@pytest.mark.parametrize("search", SEARCHES)
def test_copies_are_neighbours_and_a_point_is_not_its_own(search):
    points = np.repeat(RANDOM.normal(size=(20, 12)), 6, axis=0)
    found = neighbours(points, 4, search)
    assert not (found == np.arange(120)[:, None]).any()
    assert (found // 6 == np.arange(120)[:, None] // 6).all()
    assert all(len(set(row)) == 4 for row in found.tolist())


@pytest.mark.parametrize("search", SEARCHES)
def test_more_copies_than_neighbours(search):
    points = np.concatenate([np.zeros((50, 12)), np.ones((5, 12))])
    found = neighbours(points, 3, search)
    assert not (found == np.arange(55)[:, None]).any()
    assert (distances(points, found) == 0).all()


@pytest.mark.parametrize("search", ["exact", "tree"])
def test_ties_on_a_grid_are_still_nearest(search):
    points = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
    found = neighbours(points, 6, search)
    np.testing.assert_allclose(distances(points, found), true_distances(points, 6))


def test_tight_clusters_far_apart_survive_single_precision():
    points = np.repeat(RANDOM.normal(size=(10, 20)) * 1e4, 40, axis=0)
    points += RANDOM.normal(size=points.shape) * 1e-4
    found = neighbours(points, 5, "exact")
    np.testing.assert_allclose(distances(points, found), true_distances(points, 5), rtol=1e-6)


def test_a_large_offset_does_not_matter():
    points = RANDOM.normal(size=(200, 12)) + 1e6
    found = neighbours(points, 5, "exact")
    np.testing.assert_allclose(distances(points, found), true_distances(points, 5), rtol=1e-6)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e30, 1e200])
def test_units_do_not_matter(search, unit):
    points = RANDOM.normal(size=(200, 12))
    found = neighbours(points * unit, 5, search)
    np.testing.assert_allclose(distances(points, found), true_distances(points, 5), rtol=1e-9)


def test_chunks_do_not_matter(monkeypatch):
    points = RANDOM.normal(size=(257, 15))
    whole = neighbours(points, 5, "exact")
    monkeypatch.setattr(products, "chunks", _narrow(products.chunks))
    np.testing.assert_array_equal(neighbours(points, 5, "exact"), whole)


def test_close_clusters_hold_nearly_all_neighbours(monkeypatch):
    monkeypatch.setattr(clusters, "SIZE", 16)
    monkeypatch.setattr(clusters, "CLOSE", 12)
    hidden = RANDOM.normal(size=(1500, 3))
    points = np.tanh(hidden @ RANDOM.normal(size=(3, 100)))
    found = neighbours(points, 6, "fast")
    assert not (found == np.arange(1500)[:, None]).any()
    assert all(len(set(row)) == 6 for row in found.tolist())
    assert 0.95 < recall(points, found, 500) <= 1
    clumps = np.repeat(points[:50], 30, axis=0)  # a few crowded clusters, the others empty
    assert (distances(clumps, neighbours(clumps, 6, "fast")) == 0).mean() > 0.95


def _narrow(chunks):
    return lambda rows, width, most=0: chunks(rows, width, 40 * width)


def test_a_search_of_your_own_and_what_it_may_not_give():
    points = RANDOM.normal(size=(50, 2))
    exact = neighbours(points, 3, "exact")
    np.testing.assert_array_equal(neighbours(points, 3, lambda rows, count: exact), exact)
    own = np.tile(np.arange(50)[:, None], 3)
    for wrong, what in (
        (own, "their own"),
        (exact[:, :2], "shape"),
        (exact.astype(float), "float64"),
        (exact + 50, "not there"),
        (np.repeat(exact[:, :1], 3, axis=1), "twice"),
    ):
        with pytest.raises(PointsError, match=what):
            neighbours(points, 3, lambda rows, count, wrong=wrong: wrong)


def test_recall_sees_what_is_missed():
    points = RANDOM.normal(size=(400, 3))
    found = neighbours(points, 8)
    found[:, 4:] = neighbours(points, 12)[:, 8:]
    assert recall(points, found) == 0.5


@pytest.mark.parametrize("count", [0, 5, 6])
def test_neighbours_must_be_fewer_than_points(count):
    with pytest.raises(SettingsError, match="from 1 to 4"):
        neighbours(RANDOM.normal(size=(5, 2)), count)


def test_unknown_searches_are_named():
    with pytest.raises(SettingsError, match="hnsw"):
        neighbours(RANDOM.normal(size=(5, 2)), 2, "ball tree")


def test_the_automatic_search_depends_on_size_alone():
    assert choose_search(np.empty((10**6, 3)), "auto") == "tree"
    assert choose_search(np.empty((10_000, 784)), "auto") == "exact"
    assert choose_search(np.broadcast_to(0.0, (70_000, 784)), "auto") == "filtered"
    assert choose_search(np.broadcast_to(0.0, (10**6, 64)), "auto") == "hnsw"
    assert choose_search(np.broadcast_to(0.0, (70_000, 784)), "fast") == "clusters"
    assert choose_search(np.broadcast_to(0.0, (70_000, 10)), "fast") == "tree"


def test_a_graph_is_the_union_of_both_directions():
    graph = graph_of(np.array([[1], [2], [1], [1]]))
    assert graph.edges.tolist() == [[0, 1], [1, 2], [1, 3]]
    assert graph.degrees.tolist() == [1, 3, 1, 1]
    np.testing.assert_array_equal(graph.laplacian.sum(axis=1), 0)


@pytest.mark.parametrize("dimension", [2, 30])
def test_components_are_joined_by_their_nearest_pairs(dimension):
    places = np.array([0.0, 1.0, 10.0, 11.5, 25.0, 26.0])
    points = np.zeros((6, dimension))
    points[:, 0] = places
    graph = graph_of(neighbours(points, 1))
    assert graph.count == 3
    whole, added = join_components(graph, points)
    assert (whole.count, added) == (1, 2)
    assert set(map(tuple, whole.edges.tolist())) - set(map(tuple, graph.edges.tolist())) == {
        (1, 2),
        (3, 4),
    }


def test_many_components_need_one_edge_less_than_they_are():
    points = np.repeat(RANDOM.normal(size=(90, 2)) * 1e3, 3, axis=0)
    points += RANDOM.normal(size=points.shape)
    graph = graph_of(neighbours(points, 2))
    whole, added = join_components(graph, points)
    assert graph.count > 64
    assert (whole.count, added) == (1, graph.count - 1)


def test_the_largest_component_is_number_zero():
    graph = Graph(6, np.array([[0, 1], [2, 3], [3, 4]]))
    assert graph.parts.tolist()[2:5] == [0, 0, 0]
    assert graph.count == 3
    assert graph.among(np.array([2, 3, 4])).edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("spread", [1e-4, 1e-11])
def test_a_device_looks_again_where_rounding_could_hide_a_neighbour(spread):
    points = np.repeat(RANDOM.normal(size=(10, 20)) * 1e4, 40, axis=0)
    points += RANDOM.normal(size=points.shape) * 1e4 * spread
    found = neighbours(points, 5, "torch")
    np.testing.assert_allclose(distances(points, found), true_distances(points, 5), rtol=1e-6)


def test_a_device_keeps_single_precision_and_lets_it_go():
    torch = pytest.importorskip("torch")
    torch.set_float32_matmul_precision("medium")
    try:
        neighbours(RANDOM.normal(size=(50, 12)), 5, "torch")
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
