"""Scores: frozen, saved and loaded whole, readable by people and machines."""

from __future__ import annotations

import dataclasses
import json
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anharmonic as ah
from anharmonic._core.estimate import Estimate
from anharmonic.errors import InputError, SettingsError

POINTS = np.random.default_rng(0).normal(size=(30, 4))


@pytest.fixture(params=["number", "vector"])
def scores(request):
    if request.param == "number":
        return ah.gamma(lambda x: (x**2).sum(axis=1), POINTS)
    return ah.gamma(lambda x: np.sin(x), POINTS)


def test_a_round_trip_keeps_everything(scores, tmp_path):
    loaded = ah.Scores.load(scores.save(tmp_path / "scores.parquet"))
    for field in dataclasses.fields(ah.Scores):
        np.testing.assert_equal(getattr(loaded, field.name), getattr(scores, field.name))


def test_a_failed_save_leaves_the_old_file(scores, tmp_path, monkeypatch):
    path = scores.save(tmp_path / "scores.parquet")
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        scores.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["scores.parquet"]


@pytest.mark.parametrize("content", [b"", b"PAR1 nonsense PAR1"])
def test_a_file_that_holds_no_scores_is_refused(tmp_path, content):
    path = tmp_path / "other.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"Scores\.save"):
        ah.Scores.load(path)
    pd.DataFrame({"a": [1]}).to_parquet(path)
    with pytest.raises(InputError, match="holds no scores"):
        ah.Scores.load(path)


def test_frames(scores):
    assert isinstance(scores.to_frame(), pd.DataFrame)
    assert isinstance(scores.to_frame("polars"), pl.DataFrame)
    assert scores.to_frame("pyarrow").num_rows == 30
    assert list(scores.to_frame()["value"]) == list(scores.values)


def test_they_are_frozen(scores):
    with pytest.raises(dataclasses.FrozenInstanceError):
        scores.queries = 0


def test_they_show_themselves(scores):
    assert f"{scores.queries:,} queries" in repr(scores)
    assert "±" in repr(scores)
    assert "<table>" in scores._repr_html_()
    assert json.loads(json.dumps(scores.summary()))["points"] == 30


def test_html_is_escaped():
    def model(x):
        return x.sum(axis=1)

    model.__name__ = "<script>"
    assert "<script>" not in ah.gamma(model, POINTS)._repr_html_()


def test_the_worst_are_those_the_noise_cannot_explain():
    values = np.array([1.0, 5.0, 3.0, np.nan])
    errors = np.array([0.01, 5.0, 0.01, np.nan])
    zeros = np.zeros(4)
    scores = ah.Scores("gamma", values, errors, zeros, zeros, zeros, np.full(4, 4), 1)
    assert scores.worst(2).tolist() == [2, 0]
    assert not scores.complete
    assert scores.mean == 3.0


def test_boundary_needs_labels_and_a_volume():
    with pytest.raises(SettingsError, match="onehot"):
        _ = ah.gamma(lambda x: x[:, 0], POINTS).boundary_density
    model = ah.as_model(lambda x: (x[:, 0] > 0).astype(int), output="onehot", classes=[0, 1])
    labels = ah.gamma(model, POINTS)
    assert labels.boundary_density.value >= 0
    with pytest.raises(SettingsError, match="no volume"):
        _ = labels.boundary_area


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (0.01416, 0.00023, "0.01416 ± 0.00023"),
        (12.3, 0.0, "12.3 ± 0"),
        (1.5, float("nan"), "1.5"),
        (float("nan"), 1.0, "–"),
        (1e9, 1e7, "1e+09 ± 1e+07"),
        (2_345_678.4, 1.2, "2.346e+06 ± 1.2"),
        (123.4, 25.0, "123 ± 25"),
    ],
)
def test_estimates_print_as_many_digits_as_they_have(value, error, shown):
    assert str(Estimate(value, error)) == shown
