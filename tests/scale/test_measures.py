"""Other measures over sources: what they give in memory, row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures.compare import over_sources
from anharmonic.sources import files
from tests.scale.generated import table, wavy

ROWS = 700


@pytest.fixture
def rows(tmp_path):
    content = table(ROWS)
    pq.write_table(content, tmp_path / "rows.parquet", row_group_size=150)
    return content.to_pandas()


@pytest.fixture
def source(tmp_path, rows):
    return files(tmp_path / "rows.parquet")


@pytest.mark.parametrize("kind", ["walks", "sway", "drift", "paper"])
def test_nstep_robustness(rows, source, tmp_path, kind):
    stored = ah.nstep_robustness(wavy, source, steps=5, kind=kind, out=tmp_path / "out")
    here = ah.nstep_robustness(wavy, rows, steps=5, kind=kind)
    scores = stored.to_scores()
    for name in ("values", "errors", "signed", "outputs"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(here, name))
    assert (stored.metric, stored.settings.steps) == (here.metric, 5)
    assert stored.worst(3)["row"].tolist() == here.worst(3).tolist()


@pytest.mark.parametrize("climb", ["margin", "gamma", "random"])
def test_adversarial_search(rows, source, tmp_path, climb):
    stored = ah.adversarial_search(
        wavy, source, steps=4, directions=6, climb=climb, out=tmp_path / "o"
    )
    here = ah.adversarial_search(wavy, rows, steps=4, directions=6, climb=climb)
    found = pa.concat_tables(list(stored.batches()))
    assert found["first_flip"].to_pylist() == here.flips.tolist()
    assert found["label"].to_pylist() == here.labels[:, 0].tolist()
    assert stored.mean == pytest.approx(here.rate.value)


def test_clever_pools_within_blocks_and_keeps_bounds(rows, source, tmp_path):
    given = {"blocks": 10, "block_size": 4, "radius": 0.5, "scale": [1.0] * 4}
    some = files(source.paths[0], sample=40)
    stored = ah.clever(wavy, some, out=tmp_path / "out", **given)
    chosen = pa.concat_tables(list(stored.batches()))
    here = ah.clever(wavy, rows, **given)
    theirs = here.values[chosen["row"].to_numpy()]
    known = np.isfinite(theirs) & np.isfinite(chosen["value"].to_numpy())
    assert known.mean() > 0.9
    # Samples are the same; the shape of the law is shared by other rows.
    np.testing.assert_allclose(
        [slopes[0] for slopes in chosen["steepest"].to_pylist()],
        here.columns["steepest"][chosen["row"].to_numpy(), 0],
        rtol=1e-9,
    )


def test_what_needs_all_rows_is_refused(source):
    with pytest.raises(SettingsError, match="budget"):
        ah.adversarial_search(wavy, source, budget=10)
    with pytest.raises(SettingsError, match="count= is not for sources: give sample="):
        ah.clever(wavy, source, count=5)
    with pytest.raises(SettingsError, match="engine= is for sources"):
        ah.nstep_robustness(wavy, np.zeros((3, 4)), engine=ah.workers.threads(2))


@pytest.mark.parametrize("reference", [False, True])
def test_compare(rows, source, tmp_path, reference, monkeypatch):
    monkeypatch.setattr(over_sources, "SHARD", 128)
    models = {"wavy": wavy, "calm": _calm, "also wavy": _also_wavy}
    known = {"reference": table(500, seed=5).to_pandas()} if reference else {}
    stored = ah.compare(models, source, out=tmp_path / "out", **known)
    here = ah.compare(models, rows, **known)
    assert stored.ranking == here.ranking
    assert (str(stored), stored.queries) == (str(here), here.queries)
    for mine, its in zip(stored.differences, here.differences, strict=True):
        assert (mine.larger, mine.smaller, mine.verdict) == (its.larger, its.smaller, its.verdict)
        np.testing.assert_allclose(mine.interval, its.interval, rtol=1e-9, atol=1e-15)
    again = ah.compare(models, source, out=tmp_path / "out", **known)
    assert str(again) == str(stored)


def test_models_that_fail_at_different_rows_are_compared_where_both_answer(source, rows):
    models = {"wavy": wavy, "picky": _picky}
    compared = ah.compare(models, source, radius=0.1, scale=[1.0] * 4)
    assert compared.scores["picky"].set_aside > 0
    assert compared.scores["wavy"].set_aside == 0
    # Where both answer, they answer alike.
    assert abs(compared.differences[0].estimate.value) < 1e-15


def _calm(frame):
    return wavy(frame) / 3


def _also_wavy(frame):
    return wavy(frame) * 1.001


def _picky(frame):
    return np.where(np.asarray(frame)[:, :1] > 2, np.nan, wavy(frame))


def _near(rows):
    """Decided by the first column's sign."""
    chance = 1 / (1 + np.exp(-np.asarray(rows, dtype=float)[:, 0]))
    return np.stack([chance, 1 - chance], axis=1)


@pytest.mark.parametrize(
    ("measure", "own"),
    [
        (ah.adversarial_search, {"steps": 6, "directions": 6}),
        (ah.nstep_robustness, {"steps": 5, "kind": "drift"}),
    ],
    ids=["search", "drift"],
)
def test_the_worst_of_measures_that_know_no_intervals(tmp_path, measure, own):
    """The fragile rows come last, in other parts than the first rows."""
    far = np.linspace(5, 0.05, 9000)
    content = pa.table({"x": far, "y": np.random.default_rng(0).normal(size=9000)})
    pq.write_table(content, tmp_path / "rows.parquet")
    given = {"radius": 0.3, "scale": [1.0, 1.0], **own}
    stored = measure(_near, files(tmp_path / "rows.parquet"), out=tmp_path / "out", **given)
    assert len(stored.folder.parts()) > 1
    whole = stored.to_scores()
    for opened in (stored, ah.load(tmp_path / "out")):
        worst = opened.worst(5)
        assert worst["row"].tolist() == whole.worst(5).tolist()
        assert (worst["value"] == whole.values[whole.worst(5)]).all()
