"""A file remembers what kind of result it holds: as it was, so it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic._core import tables
from anharmonic.cli import app
from anharmonic.errors import InputError

POINTS = np.random.default_rng(0).normal(size=(40, 3))
AROUND: dict[str, Any] = {"radius": 0.8, "scale": None}


def curved(points: Any) -> Any:
    return np.stack([np.sin(points[:, 0]) + points[:, 1], points[:, 2] ** 2 - 0.2], axis=1)


RESULTS: dict[str, Callable[[], Any]] = {
    "gamma": lambda: ah.gamma(curved, POINTS, **AROUND),
    "labels": lambda: ah.gamma(curved, POINTS, output="onehot", **AROUND),
    "clever": lambda: ah.clever(curved, POINTS, blocks=12, block_size=8, **AROUND),
    "flip rate": lambda: ah.baselines.flip_rate(curved, POINTS, **AROUND),
    "margin": lambda: ah.baselines.margin(curved, POINTS),
    "flip chance": lambda: ah.nstep_robustness(curved, POINTS, steps=4, **AROUND),
    "spade": lambda: ah.spade(POINTS, curved(POINTS)),
    "search": lambda: ah.adversarial_search(curved, POINTS, steps=3, **AROUND),
}


@pytest.mark.finding("code 0.1", "code 0.3")
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_comes_back_from_its_file(name: str, tmp_path: Path) -> None:
    made = RESULTS[name]()
    file = made.save(tmp_path / "kept.parquet")
    reader = ah.Scores if isinstance(made, ah.Scores) else type(made)
    for load in {reader.load, type(made).load}:
        again = load(file)
        assert type(again) is type(made)
        assert repr(again) == repr(made)
        assert again._repr_html_() == made._repr_html_()
        np.testing.assert_equal(again.summary(), made.summary())
        if isinstance(made, ah.Scores):
            np.testing.assert_array_equal(again.intervals(), made.intervals())
            np.testing.assert_array_equal(again.worst(), made.worst())
        if isinstance(made, ah.SpadeScores):
            np.testing.assert_equal(again.interval(), made.interval())


@pytest.mark.finding("code 0.1")
def test_bounds_of_version_0_1_0_still_open(tmp_path: Path) -> None:
    """Its files hold no steepest slopes; intervals then come from the fit alone."""
    made = RESULTS["clever"]()
    table = made.to_arrow().drop_columns(["steepest"])
    again = ah.CleverScores.load(tables.save(table, tmp_path / "old.parquet"))
    assert repr(again) == repr(made)
    low, high = again.intervals()
    assert ((low <= again.values) & (again.values <= high)).all()


@pytest.mark.finding("code 0.1")
def test_results_of_another_kind_are_refused_in_words(tmp_path: Path) -> None:
    file = RESULTS["gamma"]().save(tmp_path / "gamma.parquet")
    with pytest.raises(InputError, match="holds scores: give a file written by Search"):
        ah.Search.load(file)
    with pytest.raises(InputError, match="holds scores: give a file written by Spade"):
        ah.SpadeScores.load(file)


MODULE = """
import numpy as np
def model(points):
    return np.asarray(points) @ np.array([[3.0, 0.0], [4.0, 0.0], [1.0, 0.0]])
"""


@pytest.mark.finding("code 0.2")
@pytest.mark.parametrize("name", ["spade", "gamma"])
def test_clever_takes_a_guide_of_spade_and_of_gamma(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guided.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", POINTS)
    guide = RESULTS[name]()
    guide.save("guide.parquet")
    line = ["clever", "guided:model", "--data", "points.npy", "--radius", "5", "--scale", "raw"]
    told = CliRunner().invoke(
        app, [*line, "--guide", "guide.parquet", "--count", "2", "--out", "bounds.parquet"]
    )
    assert told.exit_code == 0, told.output
    measured = np.flatnonzero(ah.Scores.load("bounds.parquet").turns)
    assert set(measured) == set(np.argsort(-guide.values, kind="stable")[:2])


def test_a_guide_that_holds_no_scores_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guided.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", POINTS)
    line = ["clever", "guided:model", "--data", "points.npy", "--guide", "points.npy"]
    told = CliRunner().invoke(app, line)
    assert "give a file written by spade --out or gamma --out" in str(told.exception or told.output)
