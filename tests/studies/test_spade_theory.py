"""SPADE's theorems and remarks, on graphs whose answers are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anharmonic.errors import InputError
from anharmonic.measures.spectral import SpadeScores, pair_distortion, spade
from studies.spade_theory.exact import exact, slope, spectrum
from studies.spade_theory.measuring import Size, keep, merge
from studies.spade_theory.moving import along_edges, node_slopes
from studies.spade_theory.study import spade_theory


@pytest.fixture(scope="module")
def scores() -> SpadeScores:
    points = np.random.default_rng(0).normal(size=(120, 3))
    return spade(points, np.sin(3 * points[:, :2]), neighbours=6, rank=10, blocks=0)


def test_one_eigenproblem_gives_distances_and_scores(scores: SpadeScores) -> None:
    values, vectors, rows = spectrum(scores)
    np.testing.assert_allclose(values[::-1][:10], scores.eigenvalues, rtol=1e-8)
    edges = np.searchsorted(rows, scores.edges)
    bends = np.square(vectors[edges[:, 0]] - vectors[edges[:, 1]])
    ratios = bends.sum(axis=1) / (bends @ (1 / values))
    np.testing.assert_allclose(ratios, pair_distortion(scores, scores.edges), rtol=1e-6)
    whole = bends[:, -10:] @ values[-10:]
    np.testing.assert_allclose(whole, scores.edge_values, rtol=1e-6, atol=1e-12)


def test_the_bound_is_above_all_pairs_and_tight_where_it_must_be() -> None:
    points = np.random.default_rng(1).normal(size=(100, 3))
    found = exact(points, np.sin(3 * points[:, :2]), 6)
    assert found.score >= found.largest >= found.largest_edge > 0
    assert found.looseness >= 1
    assert 0 < found.alignment_mean <= found.alignment <= 1


def test_slopes_are_powers() -> None:
    across = np.random.default_rng(0).uniform(1, 5, 50)
    assert slope(across, 7 * across**3) == pytest.approx(3)


def linear(weights: Any) -> Any:
    module = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(weights.shape[1], len(weights))
    )
    with torch.no_grad():
        module[1].weight.copy_(torch.as_tensor(weights))
        module[1].bias.zero_()
    return module.eval()


def test_slopes_of_a_linear_model_are_exact(scores: SpadeScores) -> None:
    random = np.random.default_rng(2)
    weights = random.normal(size=(4, 12)).astype(np.float32)
    images = random.uniform(size=(120, 3, 2, 2)).astype(np.float32)
    module = linear(weights)
    found = node_slopes(module, images)
    np.testing.assert_allclose(found.jacobian, np.linalg.norm(weights), rtol=1e-5)
    logits = images.reshape(120, -1) @ weights.T
    order = np.sort(logits, axis=1)
    np.testing.assert_allclose(found.margin, order[:, -1] - order[:, -2], rtol=1e-4, atol=1e-5)
    best = np.argsort(logits, axis=1)[:, -2:]
    gaps = weights[best[:, 1]] - weights[best[:, 0]]
    np.testing.assert_allclose(found.gradient, np.linalg.norm(gaps, axis=1), rtol=1e-5)
    steps = along_edges(module, images, scores, 10)["top edges"]
    top = scores.edges[np.argsort(-scores.edge_values, kind="stable")[:10]]
    ways = (images[top[:, 1]] - images[top[:, 0]]).reshape(10, -1)
    expected = np.linalg.norm(ways @ weights.T, axis=1) / np.linalg.norm(ways, axis=1)
    np.testing.assert_allclose(steps.slopes["its edge"][:10], expected, rtol=1e-3)
    assert np.mean(steps.changed["gradient"]) >= np.mean(steps.changed["random"])


def test_measurements_are_kept_and_gone_on_with(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    images = random.uniform(size=(150, 1, 4, 4)).astype(np.float32)
    labels = random.integers(0, 4, 150)
    weights = random.normal(size=(4, 16)).astype(np.float32)
    module = torch.nn.Sequential(linear(weights), torch.nn.Tanh(), torch.nn.Linear(4, 4)).eval()
    made: list[str] = []

    def make(name: str) -> Any:
        made.append(name)
        return module, images, labels

    size = Size(tested=150, exact=60, blocks=2, edges=5, nodes=40, random=50, neighbours=5)
    out = tmp_path / "theory.json"
    keep(out, {"one": lambda: make("one")}, size, 0)
    keep(out, {"one": lambda: make("one"), "two": lambda: make("two")}, size, 0)
    assert made == ["one", "two"]
    other = tmp_path / "other.json"
    keep(other, {"MNIST, MLP of 1 hidden layers, seed 0": lambda: make("three")}, size, 0)
    whole = tmp_path / "spade-theory.json"
    merge([out, other], whole)
    page = spade_theory(tmp_path)
    assert page.rows()["How tight the bound is (Theorem 1): one: score over it"].queries > 150
    assert "Held" in page.verdict[0]
    keep(other, {"four": lambda: make("four")}, replace(size, edges=4), 0)
    with pytest.raises(InputError, match="different"):
        merge([out, other], whole)
