"""`anharmonic clever` from a shell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app

MODULE = """
import numpy as np
WEIGHTS = np.array([[3.0, 4.0], [0.0, 0.0]])
def model(points):
    return np.asarray(points) @ WEIGHTS.T
"""
RUNNER = CliRunner()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "straight.py").write_text(MODULE, encoding="utf-8")
    np.save(tmp_path / "points.npy", np.array([[1.0, 0.5], [2.0, 1.0], [0.1, 0.0]]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_prints_bounds_and_keeps_them(folder: Path) -> None:
    line = ["clever", "straight:model", "--data", "points.npy", "--radius", "5", "--scale", "raw"]
    shown = RUNNER.invoke(app, [*line, "--out", "bounds.parquet"], catch_exceptions=False)
    assert shown.exit_code == 0
    assert "nearest to an attack" in shown.output
    np.testing.assert_allclose(
        ah.Scores.load(folder / "bounds.parquet").values, [1.0, 2.0, 0.06], rtol=1e-6
    )
    told = RUNNER.invoke(app, [*line, "--norm", "inf", "--json"], catch_exceptions=False)
    summary = json.loads(told.stdout)
    assert summary["mean"] == pytest.approx((5 / 7 + 10 / 7 + 0.3 / 7) / 3)
    assert summary["fits"]["exact"] == 3


def test_a_guide_from_a_file_is_followed(folder: Path) -> None:
    ah.gamma(lambda x: np.sin(9 * x[:, 0]), np.load("points.npy"), radius=0.1, scale=None).save(
        "guide.parquet"
    )
    line = ["clever", "straight:model", "--data", "points.npy", "--radius", "5", "--scale", "raw"]
    told = RUNNER.invoke(
        app, [*line, "--guide", "guide.parquet", "--count", "1", "--json"], catch_exceptions=False
    )
    assert json.loads(told.stdout)["measured"] == 1
