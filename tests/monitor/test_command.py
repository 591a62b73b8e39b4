"""`anharmonic monitor replay` on files, and the page it writes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from anharmonic.cli import app

MODULE = """
import numpy as np

def bent(x):
    x = np.asarray(x)
    return np.sin(3 * x[:, 0]) * (x[:, 0] > 0)
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "watched_model.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    random = np.random.default_rng(0)
    points = random.normal(size=(2600, 2)) + np.array([-1, 0])
    points[2000:, 0] += 1.5
    table = pd.DataFrame(points, columns=["a", "b<i>"])
    table["label"] = 0
    table["when"] = np.arange(len(table))
    table[:1000].drop(columns="when").to_csv("reference.csv", index=False)
    table[1000:].to_parquet("stream.parquet")
    return tmp_path


def run(*words):
    given = ("--reference", "reference.csv", "--drop", "label", "--time", "when")
    line = ["monitor", "replay", "stream.parquet", "--model", "watched_model:bent", *given, *words]
    return CliRunner().invoke(app, line)


def test_json_says_what_when_and_which(files):
    found = run("--json", "--watch", "gamma")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    first = told["alarms"][0]
    assert (first["watched"], first["direction"]) == ("gamma", "up")
    assert 1000 <= first["at"] < 1200
    assert first["time"] == str(1000 + first["at"])
    assert first["culprits"]
    assert told["blocks"] == {"gamma": 1}
    assert next(iter(first["features"])) == "a"


def test_several_are_watched_with_commas_or_one_by_one(files):
    told = [
        json.loads(run("--json", *words).stdout)["blocks"]
        for words in (
            ("--watch", "inputs,prediction"),
            ("--watch", "inputs", "--watch", "prediction"),
        )
    ]
    assert told[0] == told[1] == {"inputs": 1, "prediction": 1}


def test_inputs_are_watched_unless_told_otherwise(files):
    told = json.loads(run("--json").stdout)
    first = next(alarm for alarm in told["alarms"] if alarm["watched"] == "inputs")
    assert first["carriers"][0].startswith("a rose")
    assert 1000 <= first["at"] < 1100
    assert set(told["blocks"]) == {"gamma", "inputs", "prediction"}


def test_people_get_a_table_and_a_page(files):
    found = run("--out", "replay.html", "--watch", "gamma", "--no-restart")
    assert found.exit_code == 0, found.output
    assert "gamma rose" in found.output
    assert "features that bend more: a" in found.output
    page = (files / "replay.html").read_text()
    assert "What would have been raised" in page
    assert "b<i>" not in page.split('id="figures"')[0]


def test_wrong_words_are_told(files):
    assert "no column never" in str(run("--time", "never").exception)
    assert "score=" in str(run("--score", "some").exception)
