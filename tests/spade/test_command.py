"""`anharmonic spade` on files and on a model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import SettingsError

POINTS = np.random.default_rng(0).normal(size=(200, 4))


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", POINTS)
    np.save(tmp_path / "y.npy", np.sin(3 * POINTS[:, :2]))
    return ["spade", "--inputs", str(tmp_path / "x.npy"), "--outputs", str(tmp_path / "y.npy")]


def run(arguments):
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_recorded_outputs_to_json_and_parquet(files, tmp_path):
    out = tmp_path / "s.parquet"
    result = run([*files, "--json", "--neighbours", "8", "--rank", "3", "--out", str(out)])
    found = json.loads(result.stdout)
    expected = ah.spade(POINTS, np.sin(3 * POINTS[:, :2]), neighbours=8, rank=3)
    assert found["score"] == expected.score
    assert len(found["eigenvalues"]) == 3
    assert found["settings"]["output_parts"] == 1
    np.testing.assert_array_equal(ah.SpadeScores.load(out).values, expected.values)


def test_a_table_with_facts_and_stages(files):
    shown = run(files).stdout
    for words in ("SPADE score", "95% interval", "recall", "eigenvalues", "most fragile"):
        assert words in shown
    worst = ah.spade(POINTS, np.sin(3 * POINTS[:, :2])).worst(1)[0]
    assert f" {worst} " in shown


def test_a_model_and_data(tmp_path, monkeypatch):
    (tmp_path / "waves.py").write_text("import numpy as np\ndef f(x): return np.sin(3 * x)\n")
    np.save(tmp_path / "x.npy", POINTS)
    monkeypatch.chdir(tmp_path)
    result = run(["spade", "--model", "waves:f", "--data", "x.npy", "--json", "--blocks", "0"])
    found = json.loads(result.stdout)
    assert found["queries"] == 200
    assert found["error"] is None  # no blocks, no interval
    assert found["score"] == pytest.approx(ah.spade(POINTS, np.sin(3 * POINTS)).score)


def test_half_of_what_is_needed(files):
    with pytest.raises(SettingsError, match="--inputs and --outputs, or MODEL and --data"):
        run(files[:3])
    with pytest.raises(SettingsError, match="refuse"):
        run([*files, "--components", "glue"])


def test_a_page_with_images(files, tmp_path):
    page = tmp_path / "page.html"
    result = run([*files, "--html", str(page), "--shape", "2x2"])
    assert "is written" in result.stderr
    assert page.read_text().count("data:image/png") == 24
    with pytest.raises(SettingsError, match="28x28"):
        run([*files, "--html", str(page), "--shape", "2 by 2"])
