"""The approximate inverse is one: symmetric, positive and near, however few nodes are left."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.measures.spectral import multigrid
from anharmonic.measures.spectral.graph import Graph


def chance(size: int, degree: int) -> Graph:
    """A graph in which everything is a few steps from everything."""
    random = np.random.default_rng(0)
    ends = random.integers(size, size=(size * degree // 2, 2))
    ring = np.stack([np.arange(size - 1), np.arange(1, size)], axis=1)
    edges = np.sort(np.concatenate([ring, ends[ends[:, 0] != ends[:, 1]]]), axis=1)
    return Graph(size, np.unique(edges, axis=0))


@pytest.mark.parametrize("direct", [0, 4000])
@pytest.mark.parametrize("degree", [2, 12, 80])
def test_it_is_symmetric_positive_and_near(monkeypatch, degree, direct):
    monkeypatch.setattr(multigrid, "DIRECT", direct)  # 0: down to a single node
    size = 900
    laplacian = chance(size, degree).laplacian
    found = multigrid.multigrid(laplacian, seed=0)(np.eye(size))
    assert np.abs(found - found.T).max() <= 1e-6 * np.abs(found).max()
    whole = np.linalg.cholesky(laplacian.toarray() + 1 / size)
    values = np.linalg.eigvalsh(whole.T @ ((found + found.T) / 2 + 1 / size) @ whole)
    assert values[0] > 0.05
    assert values[-1] < 1 + 1e-5
