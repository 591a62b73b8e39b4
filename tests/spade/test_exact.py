"""Known answers: cycle against path, K₄ against P₄, sums of edge scores, both theorems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

from anharmonic.errors import Disconnected, NotConverged
from anharmonic.measures.spectral.distances import geodesic, resistance
from anharmonic.measures.spectral.graph import Graph
from anharmonic.measures.spectral.lobpcg import RitzPairs
from anharmonic.measures.spectral.spectrum import (
    _dense,
    _iterative,
    _overlooked,
    _problem,
    leading,
    solve_problem,
)
from tests.spade.graphs import complete, cycle, path, random_graph, score


@pytest.mark.parametrize("size", [4, 7, 30, 100])
def test_a_cycle_against_a_path(size):
    found = score(cycle(size), path(size), rank=3)
    np.testing.assert_allclose(found.eigenvalues, [size, 1, 1], rtol=1e-10)
    single = score(cycle(size), path(size), rank=1)
    closing = (single.inputs.edges == [0, size - 1]).all(axis=1)
    np.testing.assert_allclose(single.edge_values[closing], size * (size - 1), rtol=1e-10)
    np.testing.assert_allclose(single.edge_values[~closing], size / (size - 1), rtol=1e-10)
    ends = (size * (size - 1) + size / (size - 1)) / 2
    np.testing.assert_allclose(single.values[[0, -1]], ends, rtol=1e-10)
    np.testing.assert_allclose(single.values[1:-1], size / (size - 1), rtol=1e-10)


@pytest.mark.parametrize("size", [5, 50])
def test_the_bound_is_tight_for_the_cycle(size):
    pairs = np.argwhere(np.triu(np.ones((size, size)), 1))
    ratios = resistance(path(size), pairs) / resistance(cycle(size), pairs)
    np.testing.assert_allclose(ratios.max(), size, rtol=1e-9)
    assert geodesic(path(size), pairs).max() == size - 1
    assert geodesic(cycle(size), pairs).max() == size // 2
    np.testing.assert_array_equal(geodesic(path(size), pairs[:, ::-1]), geodesic(path(size), pairs))


def test_four_nodes_all_joined_against_a_path():
    found = leading(complete(4), path(4), 3)
    np.testing.assert_allclose(found.values, [4 + 2 * 2**0.5, 2, 4 - 2 * 2**0.5], rtol=1e-12)


def test_vectors_have_length_one_in_the_output_graph_and_no_constant_part():
    random = np.random.default_rng(0)
    inputs, outputs = random_graph(random, 60, 200), random_graph(random, 60, 80)
    found = leading(inputs, outputs, 5)
    gram = found.vectors.T @ (outputs.laplacian @ found.vectors)
    np.testing.assert_allclose(gram, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(found.vectors.sum(axis=0), 0, atol=1e-9)


graph_pairs = st.tuples(
    st.integers(0, 10**6), st.integers(3, 14), st.integers(0, 30), st.integers(0, 30)
)


@given(graph_pairs)
@settings(max_examples=150, deadline=None)
def test_edge_scores_sum_to_the_squares_and_the_theorems_hold(drawn):
    seed, size, more, others = drawn
    random = np.random.default_rng(seed)
    inputs, outputs = random_graph(random, size, more), random_graph(random, size, others)
    rank = int(random.integers(1, size))
    found = score(inputs, outputs, rank)
    np.testing.assert_allclose(found.edge_values.sum(), np.sum(found.eigenvalues**2), rtol=1e-8)
    pairs = np.argwhere(np.triu(np.ones((size, size)), 1))
    ratios = resistance(outputs, pairs) / resistance(inputs, pairs)
    assert ratios.max() <= found.score * (1 + 1e-8)
    sets = random.random((50, size)) < 0.5
    for inside in sets[(sets.sum(axis=1) > 0) & (sets.sum(axis=1) < size)]:
        near, far = (
            np.sum(np.diff(inside[each.edges].astype(int)) != 0) for each in (inputs, outputs)
        )
        assert far / near >= (1 - 1e-8) / found.score


def test_both_solvers_agree():
    random = np.random.default_rng(1)
    for size, more in ((300, 600), (1200, 4000)):
        inputs, outputs = random_graph(random, size, 2 * more), random_graph(random, size, more)
        exact = _dense(inputs.laplacian, outputs.laplacian, 6)
        found = _iterative(inputs.laplacian, outputs.laplacian, 6, seed=0)
        np.testing.assert_allclose(found.values, exact.values, rtol=1e-8)
        np.testing.assert_allclose(found.vectors[:, 0], exact.vectors[:, 0], atol=1e-4)


def test_a_pencil_without_the_constants_gives_the_same():
    random = np.random.default_rng(2)
    inputs, outputs = random_graph(random, 40, 60), random_graph(random, 40, 50)
    basis = np.linalg.qr(np.column_stack([np.ones(40), random.normal(size=(40, 39))]))[0][:, 1:]
    reduced = [basis.T @ each.laplacian.toarray() @ basis for each in (inputs, outputs)]
    expected = eigh(*reduced, eigvals_only=True)[::-1]
    np.testing.assert_allclose(leading(inputs, outputs, 39).values, expected, rtol=1e-9)


def test_nothing_is_returned_that_did_not_converge(monkeypatch):
    from anharmonic.measures.spectral import spectrum

    random = np.random.default_rng(3)
    inputs, outputs = random_graph(random, 900, 4000), random_graph(random, 900, 500)
    monkeypatch.setattr(spectrum, "ROUNDS", (1,))
    with pytest.raises(NotConverged, match="raise neighbours"):
        leading(inputs, outputs, 4)


def test_a_smaller_eigenvalue_does_not_pass_for_the_largest():
    random = np.random.default_rng(4)
    inputs, outputs = (random_graph(random, 400, more).laplacian for more in (900, 500))
    exact = _dense(inputs, outputs, 399)
    problem = _problem(inputs, outputs, 4, 0, None)
    order = np.argsort(problem.back(np.arange(400)))
    vectors = exact.vectors[order]
    lower = RitzPairs(exact.values[2:4], vectors[:, 2:4], np.zeros(2))
    assert _overlooked(problem, lower, 2, 0) is not None
    top = RitzPairs(exact.values[:2], vectors[:, :2], np.zeros(2))
    assert _overlooked(problem, top, 2, 0) is None


def test_what_was_overlooked_is_taken_up():
    random = np.random.default_rng(6)
    inputs, outputs = (random_graph(random, 500, more).laplacian for more in (900, 500))
    exact = _dense(inputs, outputs, 499)
    problem = _problem(inputs, outputs, 4, 0, None)
    order = np.argsort(problem.back(np.arange(500)))
    blind = problem._replace(start=exact.vectors[order][:, 5:9])  # eigenvectors: no way up
    np.testing.assert_allclose(solve_problem(blind, 2, 0).values, exact.values[:2], rtol=1e-8)


def test_resistances_of_large_graphs_agree_with_the_inverse():
    random = np.random.default_rng(5)
    graph = random_graph(random, 1000, 2000)
    pairs = random.integers(1000, size=(20, 2))
    inverse = np.linalg.pinv(graph.laplacian.toarray(), hermitian=True)
    low, high = pairs.T
    expected = inverse[low, low] + inverse[high, high] - 2 * inverse[low, high]
    np.testing.assert_allclose(resistance(graph, pairs), expected, rtol=1e-6)


def test_distances_between_parts_are_infinite():
    halves = Graph(4, np.array([[0, 1], [2, 3]]))
    pairs = np.array([[0, 1], [0, 2]])
    assert resistance(halves, pairs).round(9).tolist() == [1, np.inf]
    assert geodesic(halves, pairs).tolist() == [1, np.inf]
    with pytest.raises(Disconnected):
        resistance(Graph(1000, np.array([[0, 1]])), pairs)
