"""Gamma of sources: the bits of a run in memory, on any worker, through any stop."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic import workers
from anharmonic.errors import MeasurementStopped, SettingsError
from anharmonic.measures.streaming import running
from anharmonic.sources import files
from tests.scale.generated import moody, parquet_folder, table, wavy

GIVEN = {"radius": 0.3, "scale": [1.0, 1.0, 1.0, 1.0]}


def small(monkeypatch, rows_per_shard=1024):
    """Blocks and shards so small that a few thousand rows have many."""
    monkeypatch.setattr(
        running, "rows_per_shard", lambda block, *_: max(1, rows_per_shard // block) * block
    )


def of(stored):
    return pa.concat_tables(list(stored.batches())).sort_by(
        [("file", "ascending"), ("row", "ascending")]
    )


def test_a_file_gives_the_bits_of_the_table_it_holds(tmp_path):
    rows = table(3000)
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=700)
    stored = ah.gamma(wavy, files(tmp_path / "rows.parquet"), out=tmp_path / "out")
    here = ah.gamma(wavy, rows.to_pandas())
    scores = stored.to_scores()
    for name in ("values", "errors", "squared", "signed", "outputs", "turns"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(here, name))
    assert stored.queries == here.queries
    assert stored.mean == pytest.approx(here.mean, rel=1e-14)
    assert stored.error == pytest.approx(here.error, rel=1e-12)
    assert stored.worst(5)["row"].tolist() == here.worst(5).tolist()


@pytest.mark.parametrize(
    "engine", [workers.threads(2), workers.processes(2)], ids=["threads", "processes"]
)
def test_workers_do_not_change_a_bit(tmp_path, engine, monkeypatch):
    small(monkeypatch)
    parquet_folder(tmp_path / "in", rows=2000)
    source = files(tmp_path / "in", drop=["id"])
    one = ah.gamma(wavy, source, out=tmp_path / "one")
    two = ah.gamma(wavy, source, engine=engine, out=tmp_path / "two")
    assert of(one).equals(of(two))
    assert (one.mean, one.error, one.queries) == (two.mean, two.error, two.queries)


def test_shards_do_not_change_a_bit(tmp_path, monkeypatch):
    parquet_folder(tmp_path / "in", rows=5000)
    source = files(tmp_path / "in", drop=["id"])
    small(monkeypatch, 1)
    one = ah.gamma(wavy, source, out=tmp_path / "one")
    small(monkeypatch, 10**6)
    two = ah.gamma(wavy, source, out=tmp_path / "two")
    assert of(one).equals(of(two))
    assert (one.mean, one.error, one.worst_rows) == (two.mean, two.error, two.worst_rows)


def test_a_key_makes_scores_independent_of_files_and_order(tmp_path):
    tables = parquet_folder(tmp_path / "in", rows=500)
    one = ah.gamma(wavy, files(tmp_path / "in", key="id"), out=tmp_path / "one", **GIVEN)
    shuffled = pa.concat_tables(tables).take(np.random.default_rng(1).permutation(1500))
    pq.write_table(shuffled, tmp_path / "other.parquet")
    two = ah.gamma(wavy, files(tmp_path / "other.parquet", key="id"), out=tmp_path / "two", **GIVEN)
    columns = ["key", "value", "error", "signed"]
    first, second = (of(each).sort_by("key").select(columns) for each in (one, two))
    assert first.equals(second)


def test_a_run_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    small(monkeypatch)
    parquet_folder(tmp_path / "in", rows=3000)
    source = files(tmp_path / "in", drop=["id"])
    whole = ah.gamma(wavy, source, out=tmp_path / "whole")

    def stopped(function, items):
        for number, item in enumerate(items):
            if number == 2:
                raise KeyboardInterrupt
            yield function(item)

    with pytest.raises(KeyboardInterrupt):
        ah.gamma(wavy, source, engine=stopped, out=tmp_path / "out")
    parts = list((tmp_path / "out" / "scores").iterdir())
    times = {part: part.stat().st_mtime_ns for part in parts}
    assert len(parts) == 2
    again = ah.gamma(wavy, source, out=tmp_path / "out")
    assert {part: part.stat().st_mtime_ns for part in parts} == times
    assert of(again).equals(of(whole))
    assert (again.mean, again.queries) == (whole.mean, whole.queries)
    assert repr(ah.load(tmp_path / "out")) == repr(again)


@pytest.mark.parametrize(
    ("change", "word"),
    [({"radius": 0.2}, "radius"), ({"seed": 1}, "seed"), ({"rotations": 3}, "rotations")],
)
def test_other_settings_are_refused_and_fresh_starts_over(tmp_path, change, word):
    parquet_folder(tmp_path / "in", rows=200)
    source = files(tmp_path / "in", drop=["id"])
    ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    with pytest.raises(SettingsError, match=f"another .*{word}.*--fresh"):
        ah.gamma(wavy, source, out=tmp_path / "out", **{**GIVEN, **change})
    ah.gamma(wavy, source, out=tmp_path / "out", fresh=True, **{**GIVEN, **change})


def test_another_model_or_other_data_are_refused(tmp_path):
    parquet_folder(tmp_path / "in", rows=200)
    source = files(tmp_path / "in", drop=["id"])
    ah.gamma(wavy, source, out=tmp_path / "out", ball="auto pairs", **GIVEN)
    with pytest.raises(SettingsError, match="model"):
        ah.gamma(lambda x: 2 * wavy(x), source, out=tmp_path / "out", ball="auto pairs", **GIVEN)
    # The same answers to all that is asked do not make other code the same model.
    with pytest.raises(SettingsError, match=r"model \(its file, code or weights"):
        ah.gamma(lambda x: wavy(x), source, out=tmp_path / "out", ball="auto pairs", **GIVEN)
    pq.write_table(table(9, id=np.arange(9)), tmp_path / "in" / "z.parquet")
    with pytest.raises(SettingsError, match="source"):
        ah.gamma(wavy, source, out=tmp_path / "out", ball="auto pairs", **GIVEN)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    parquet_folder(tmp_path / "in", rows=10)
    with pytest.raises(SettingsError, match="no run of ours"):
        ah.gamma(wavy, files(tmp_path / "in", drop=["id"]), out=tmp_path / "in", **GIVEN)
    with pytest.raises(SettingsError, match="no run of ours"):
        ah.gamma(
            wavy, files(tmp_path / "in", drop=["id"]), out=tmp_path / "in", fresh=True, **GIVEN
        )
    assert len(list((tmp_path / "in").iterdir())) == 3


def test_rows_that_fail_are_set_aside_with_reasons_and_the_rest_is_measured(tmp_path):
    rows = table(3000).to_pandas()
    rows.loc[17, "f1"] = np.nan
    rows.loc[18, "f1"] = np.inf
    rows.loc[19, "f0"] = 4.0
    rows.loc[20, "f0"] = -4.0
    calm = rows["f0"].abs().between(0, 2.4) | rows.index.isin([17, 18, 19, 20])
    rows = rows[calm].reset_index(drop=True)
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet")
    stored = ah.gamma(moody, files(tmp_path / "rows.parquet"), out=tmp_path / "out", **GIVEN)
    aside = stored.set_aside_rows().set_index("row")
    assert len(stored) == len(rows) - 4
    assert stored.set_aside == len(aside) == 4
    odd = rows.index[rows["f1"].isna() | ~np.isfinite(rows["f1"]) | (rows["f0"].abs() > 3)]
    assert sorted(aside.index) == odd.tolist()
    assert aside.loc[odd[0], "reason"] == "NaN or infinity in a column that moves"
    assert "RuntimeError: no rows beyond 2.9" in aside.loc[odd[2], "reason"]
    assert "NaN or infinity at or near" in aside.loc[odd[3], "reason"]
    good = rows.drop(odd)
    calm_scores = ah.gamma(wavy, rows.drop(odd), **GIVEN)
    assert len(calm_scores) == len(stored)
    # A row keeps its directions when others are set aside: those before the first are the same.
    np.testing.assert_array_equal(
        of(stored)["value"].to_numpy()[: odd[0]], calm_scores.values[: odd[0]]
    )
    assert set(of(stored)["row"].to_pylist()) == set(good.index)


def test_a_model_that_takes_missing_cells_is_measured_with_them(tmp_path):
    pytest.importorskip("sklearn")
    from sklearn.ensemble import HistGradientBoostingRegressor

    rows = table(2000).to_pandas()
    rows.loc[::7, "f1"] = np.nan
    model = HistGradientBoostingRegressor(max_iter=5).fit(rows, rows["f0"])
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet")
    stored = ah.gamma(model, files(tmp_path / "rows.parquet"), out=tmp_path / "out")
    assert (len(stored), stored.set_aside) == (2000, 0)
    here = ah.gamma(model, rows)
    np.testing.assert_allclose(stored.to_scores().values, here.values, rtol=1e-12, atol=1e-14)


def test_a_damaged_file_costs_its_rows_and_no_others(tmp_path):
    parquet_folder(tmp_path / "in", rows=1000, group=500)
    path = tmp_path / "in" / "part-1.parquet"
    content = bytearray(path.read_bytes())
    second = pq.ParquetFile(path).metadata.row_group(1).column(0)
    start = second.dictionary_page_offset or second.data_page_offset
    content[start : start + 64] = b"\xff" * 64
    path.write_bytes(bytes(content))
    source = files(tmp_path / "in", columns=["f0", "f1", "f2", "f3"])
    stored = ah.gamma(
        wavy, source, out=tmp_path / "out", reference=table(500), **{"ball": "auto pairs"}
    )
    assert len(stored) + stored.set_aside == 3000
    assert stored.set_aside <= 1000
    assert "cannot be read" in stored.set_aside_rows()["reason"][0]


def test_a_broken_model_stops_the_run_instead_of_setting_all_rows_aside(tmp_path):
    parquet_folder(tmp_path / "in", rows=1000)

    def broken(rows):
        if len(rows) > 100:
            raise RuntimeError("no licence")
        return wavy(rows)

    def never(rows):
        raise RuntimeError("no licence")

    source = files(tmp_path / "in", drop=["id"])
    with pytest.raises(MeasurementStopped, match="no licence"):
        ah.gamma(never, source, out=tmp_path / "a", noise="ignore", ball="auto pairs", **GIVEN)
    assert len(ah.gamma(broken, source, out=tmp_path / "b", batch_size=100, **GIVEN)) == 3000


def test_without_out_the_folder_goes_with_the_result(tmp_path):
    parquet_folder(tmp_path / "in", rows=100)
    stored = ah.gamma(wavy, files(tmp_path / "in", drop=["id"]), **GIVEN)
    path = Path(stored.path)
    assert len(stored.to_scores()) == 300
    assert path.is_dir()
    del stored
    assert not path.exists()


def test_text_files_are_measured_and_what_was_staged_is_gone(tmp_path):
    rows = table(400)
    rows.to_pandas().to_csv(tmp_path / "rows.csv.gz", index=False)
    stored = ah.gamma(wavy, files(tmp_path / "rows.csv.gz"), out=tmp_path / "out", **GIVEN)
    here = ah.gamma(wavy, rows.to_pandas(), **GIVEN)
    np.testing.assert_array_equal(stored.to_scores().values, here.values)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "run.json",
        "scores",
        "summary.json",
    ]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["points"] == 400


def test_a_tolerance_and_noise_stream_too(tmp_path):
    parquet_folder(tmp_path / "in", rows=300)
    source = files(tmp_path / "in", drop=["id"])
    stored = ah.gamma(wavy, source, out=tmp_path / "out", tolerance=0.0005, **GIVEN)
    turns = of(stored)["turns"].to_numpy()
    assert turns.min() == 4 < turns.max()


@pytest.mark.parametrize("name", ["budget", "resume", "checkpoint"])
def test_what_takes_all_rows_is_refused(tmp_path, name):
    parquet_folder(tmp_path / "in", rows=10)
    with pytest.raises(SettingsError, match=f"{name}= is not for sources"):
        ah.gamma(wavy, files(tmp_path / "in"), **{name: 5})
    with pytest.raises(SettingsError, match="for sources"):
        ah.gamma(wavy, np.zeros((3, 4)), out=tmp_path / "x")


def test_mixed_tables_stream_with_the_law_of_the_sample(tmp_path):
    rows = table(1500).to_pandas()
    rows["colour"] = np.random.default_rng(0).choice(["red", "green", "blue"], 1500)
    rows["rooms"] = np.random.default_rng(1).integers(1, 9, 1500)
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet", row_group_size=300)
    stored = ah.gamma(_mixed, files(tmp_path / "rows.parquet"), out=tmp_path / "out")
    here = ah.gamma(_mixed, rows)
    np.testing.assert_array_equal(stored.to_scores().values, here.values)
    two = ah.gamma(
        _mixed, files(tmp_path / "rows.parquet"), engine=workers.processes(2), out=tmp_path / "two"
    )
    assert of(two).equals(of(stored))


def _mixed(frame):
    return np.sin(3 * frame["f0"]) + (frame["colour"] == "red") * frame["rooms"] / 4
