"""What a run over a source leaves: its numbers are those of the rows, however it is asked."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic.errors import InputError, MeasurementStopped, SettingsError
from anharmonic.measures.compare import over_sources
from anharmonic.measures.streaming import running
from anharmonic.sources import files
from tests.scale.generated import moody, parquet_folder, table, wavy

GIVEN = {"radius": 0.3, "scale": [1.0] * 4}


@pytest.fixture
def source(tmp_path):
    parquet_folder(tmp_path / "in", files=2, rows=300)
    return files(tmp_path / "in", drop=["id"])


def test_summaries_are_those_of_the_rows(tmp_path, source, monkeypatch):
    monkeypatch.setattr(running, "rows_per_shard", lambda block, *_: block)
    stored = ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    whole = stored.to_scores()
    close = {"rel": 1e-12, "abs": 1e-15}
    for name in ("mean", "error", "ball_error"):
        assert getattr(stored, name) == pytest.approx(getattr(whole, name), **close)
    assert tuple(stored.rms) == pytest.approx(tuple(whole.rms), **close)
    assert tuple(stored.relative) == pytest.approx(tuple(whole.relative), **close)
    assert stored.interval(0.9) == pytest.approx(whole.interval(0.9), **close)
    assert stored.share_of_spread == whole.share_of_spread
    assert stored.fragile == whole.fragile == "large"
    assert stored.about.name == whole.about.name == "gamma"
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert told["mean"] == stored.mean
    assert told["scores"] == f"{stored.path}/scores"
    page = stored._repr_html_()
    assert stored.path in page
    assert "600" in page
    low = np.sort(whole.intervals()[0])[::-1][:5]
    np.testing.assert_allclose(stored.worst(5)["safe_end"], low)


def test_where_small_is_fragile_the_smallest_come_first(tmp_path, source):
    stored = ah.clever(wavy, source, blocks=10, block_size=4, radius=0.5, scale=[1.0] * 4)
    assert stored.fragile == "small"
    ends = stored.worst(10)["safe_end"].to_numpy()
    assert (np.diff(ends) >= 0).all()


def test_folders_that_are_no_finished_run_are_refused(tmp_path, source):
    with pytest.raises(InputError, match="holds no run"):
        ah.load(tmp_path / "in")

    def stopped(function, items):
        yield function(next(iter(items)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ah.gamma(wavy, source, engine=stopped, out=tmp_path / "out", **GIVEN)
    with pytest.raises(InputError, match="has not come to its end: start it again"):
        ah.load(tmp_path / "out")
    with pytest.raises(InputError, match="there is no file"):
        ah.load(tmp_path / "nowhere")


def test_workers_that_write_elsewhere_are_noticed(tmp_path, source):
    def elsewhere(function, items):
        for item in items:
            report = function(item)
            (tmp_path / "out" / "scores" / f"{item.name}.parquet").unlink()
            yield report

    with pytest.raises(SettingsError, match="workers must write to the same folder"):
        ah.gamma(wavy, source, engine=elsewhere, out=tmp_path / "out", **GIVEN)


def test_a_reference_may_be_a_source(tmp_path, source):
    known = pd.concat([table(300, seed).to_pandas() for seed in (8, 9)], ignore_index=True)
    known.to_parquet(tmp_path / "known.parquet")
    told = {"reference": files(tmp_path / "known.parquet"), "ball": "auto pairs"}
    stored = ah.gamma(wavy, source, **told)
    here = ah.gamma(wavy, source, reference=known, ball="auto pairs")
    assert stored.settings.radius == pytest.approx(here.settings.radius, rel=1e-12)
    assert stored.mean == pytest.approx(here.mean, rel=1e-9)
    compared = ah.compare({"a": wavy, "b": lambda x: 2 * wavy(x)}, source, **told)
    assert compared.scores["a"].settings.radius == pytest.approx(here.settings.radius, rel=1e-12)
    assert set(compared.places("a")) == {"points", "reference"}


def test_a_tolerance_leaves_out_rows_without_a_number(tmp_path):
    rows = table(400).to_pandas().clip(-2, 2)
    rows.loc[[5, 200], "f0"] = -4.0
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet")
    source = files(tmp_path / "rows.parquet")
    stored = ah.gamma(moody, source, tolerance=0.001, noise="ignore", ball="auto pairs", **GIVEN)
    assert sorted(stored.set_aside_rows()["row"]) == [5, 200]
    turns = pa.concat_tables(list(stored.batches()))["turns"].to_numpy()
    assert turns.min() == 4 < turns.max()


def test_what_cannot_be_measured_row_by_row_is_refused(source):
    with pytest.raises(SettingsError, match='ball="data" compares each row with all others'):
        ah.gamma(wavy, source, ball="data")
    with pytest.raises(SettingsError, match="labels= is for points in memory"):
        ah.compare({"a": wavy}, source, labels=[1, 2])
    with pytest.raises(MeasurementStopped, match="no licence"):
        ah.gamma(_never, source, **GIVEN)


def _never(rows):
    raise RuntimeError("no licence")


def test_runs_that_are_cut_in_different_places_are_not_compared(tmp_path, source, monkeypatch):
    models = {"a": wavy, "b": lambda x: 2 * wavy(x)}
    given = {"out": tmp_path / "out", **GIVEN}
    ah.compare({"a": wavy}, source, **given)
    monkeypatch.setattr(over_sources, "SHARD", 64)
    with pytest.raises(SettingsError, match="cut in different places"):
        repr(ah.compare(models, source, **given))
