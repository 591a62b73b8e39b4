"""The study of the grid's size, with models that are not trained."""

from __future__ import annotations

from types import SimpleNamespace

from studies.grid import grid_size
from studies.page import prose


def read(split, steps, rotations):
    """Four models whose gamma is read too small by a grid of few cells, twice so by the first."""
    for number, name in enumerate(("GBDT-1", "GBDT-2", "MLP-1", "MLP-2"), start=1):
        mean = number * (1 - (2 if number == 1 else 1) / steps)
        yield SimpleNamespace(name=name, scores=SimpleNamespace(mean=mean, queries=steps**2))


def test_a_finer_grid_is_held_against_the_finest(monkeypatch):
    monkeypatch.setattr("studies.grid.wine", read)
    page = grid_size(splits=2)
    rows = page.rows()
    assert len(rows) == 16
    assert rows["Four models on four grids: MLP-1, 80 × 80"].remark == ""
    assert rows["Four models on four grids: MLP-1, 10 × 10"].remark.startswith("0.91 to 0.91")
    assert "0.82 to 0.91 times on 10 × 10 points" in prose(page.verdict[0])
    assert "4 of 4 on 80 × 80" in prose(page.verdict[1])
    assert page.queries == 2 * 4 * (100 + 400 + 1600 + 6400)
