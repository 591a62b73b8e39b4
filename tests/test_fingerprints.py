"""The same points have the same fingerprint, wherever and however they are kept; others do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from anharmonic.measures.setup.fingerprints import fingerprint
from anharmonic.regions import points

POINTS = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32).astype(np.float64)


def of(values):
    return fingerprint(points(values), np.ones(np.shape(values)[1]))


@pytest.mark.parametrize(
    "same",
    [
        POINTS.copy(),
        POINTS.astype(np.float32),
        np.asfortranarray(POINTS),
        torch.from_numpy(POINTS),
        torch.from_numpy(POINTS).float(),
    ],
    ids=["copy", "single", "columns", "torch", "torch single"],
)
def test_the_same_points(same):
    assert of(same) == of(POINTS)


def test_any_change_shows():
    known = {of(POINTS)}
    for change in range(200):
        random = np.random.default_rng(change)
        other = POINTS.copy()
        row, column = random.integers(300), random.integers(7)
        other[row, column] = np.nextafter(other[row, column], np.inf)
        known.add(of(other))
    known.add(of(POINTS[::-1]))
    known.add(of(np.ascontiguousarray(POINTS[:, ::-1])))
    known.add(of(POINTS[:299]))
    known.add(of(POINTS[[1, 0, *range(2, 300)]]))
    # Two draws in two hundred may hit the same place.
    assert len(known) >= 195 + 5


def test_whole_numbers_and_zeros():
    tables = [
        np.random.default_rng(k).integers(0, 3, size=(4, 3)).astype(float) for k in range(999)
    ]
    different = {table.tobytes() for table in tables}
    assert len({of(table) for table in tables}) == len(different)
    assert of(np.array([[0.0, 1.0]])) == of(np.array([[-0.0, 1.0]]))
