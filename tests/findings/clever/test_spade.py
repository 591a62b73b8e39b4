"""What SPADE says beside its score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import PointsError

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(400, 4))
OUTPUTS = np.stack([np.sin(3 * POINTS[:, 0]), POINTS[:, 1]], axis=1)


@pytest.mark.finding("numbers A15: SPADE under permuted rows with ties")
def test_ties_that_the_order_of_rows_decides_are_told() -> None:
    """An integer table scores otherwise when its rows are permuted; `tied` said 0."""
    whole = RANDOM.integers(0, 6, size=(500, 5)).astype(float)
    outputs = np.stack([np.sin(whole[:, 0] + 0.3 * whole[:, 1]), whole[:, 2] * 0.7], axis=1)
    scores = ah.spade(whole, outputs, blocks=0)
    order = RANDOM.permutation(500)
    other = ah.spade(whole[order], outputs[order], blocks=0)
    assert scores.score != pytest.approx(other.score, rel=1e-6)
    assert scores.settings.ties["inputs"] > 0.5
    assert "others are as near" in scores.facts()["last neighbour chosen by row order"]
    mixed = RANDOM.permutation(400)
    plain, again = (
        ah.spade(POINTS[rows], OUTPUTS[rows], blocks=0) for rows in (slice(None), mixed)
    )
    assert plain.settings.ties == {"inputs": 0.0, "outputs": 0.0}
    assert again.score == pytest.approx(plain.score, rel=1e-9)


@pytest.mark.finding("newcomer B18")
def test_outputs_that_are_the_inputs_are_told() -> None:
    same = ah.spade(POINTS, POINTS)
    assert same.score == pytest.approx(1)
    assert "the inputs themselves" in same.facts()["outputs"]
    assert same.facts()["grows with points to the power"] == "0 ± 0"
    assert "outputs" not in ah.spade(POINTS, OUTPUTS).facts()


@pytest.mark.finding("newcomer B18")
def test_seconds_of_stages_stand_under_their_sum() -> None:
    names = list(ah.spade(POINTS, OUTPUTS).facts())
    assert names[-1] == "seconds"
    assert "grows with points to the power" in names


@pytest.mark.finding("newcomer B18", "newcomer job 5")
def test_one_file_holds_inputs_and_outputs(tmp_path: Path) -> None:
    file = tmp_path / "traffic.csv"
    table = np.concatenate([POINTS, OUTPUTS], axis=1)
    np.savetxt(file, table, delimiter=",", header="a,b,c,d,up,down", comments="")
    line = ["spade", "--inputs", str(file), "--outputs", str(file)]
    refused = CliRunner().invoke(app, line)
    assert "--output-columns" in str(refused.exception or refused.output)
    kept = tmp_path / "scores.parquet"
    chosen = [*line, "--columns", "a,b,c,d", "--output-columns", "up,down", "--out", str(kept)]
    told = CliRunner().invoke(app, chosen, catch_exceptions=False)
    assert told.exit_code == 0
    expected = ah.spade(POINTS, OUTPUTS)
    assert ah.SpadeScores.load(kept).score == pytest.approx(expected.score, rel=1e-6)


@pytest.mark.finding("newcomer job 5")
def test_coarse_probabilities_are_not_called_labels() -> None:
    """A forest's probabilities in steps were refused with the advice to give probabilities."""
    coarse = np.round(1 / (1 + np.exp(-8 * POINTS[:, 0])) * 60) / 60
    with pytest.raises(PointsError, match="Probabilities of trees come in steps"):
        ah.spade(POINTS, np.stack([coarse, 1 - coarse], axis=1), neighbours=4)
    with pytest.raises(PointsError, match="rather than labels"):
        ah.spade(POINTS, (POINTS[:, :1] > 0).astype(float))
