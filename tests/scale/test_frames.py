"""A plain function from frame to frame: any library, any cut, the same scores."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures.scoring import _content_addresses
from tests.scale.generated import moody, table, wavy

GIVEN = {"radius": 0.3, "scale": [1.0] * 4}


@pytest.fixture(scope="module")
def rows():
    return table(500, id=np.arange(500)).to_pandas()


def test_a_row_keeps_its_score_however_frames_are_cut(rows):
    score = ah.scorer(wavy, rows, key="id", **GIVEN)
    whole = score(rows)
    assert list(whole) == ["id", "value", "error", "reason"]
    pieces = pd.concat([score(rows[start : start + 77]) for start in range(0, 500, 77)])
    pd.testing.assert_frame_equal(whole, pieces)
    shuffled = rows.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(score(shuffled).sort_index(), whole)
    # Keys are the numbers of the rows here, so that these are the bits of a run in memory.
    here = ah.gamma(wavy, rows.drop(columns="id"), **GIVEN)
    np.testing.assert_array_equal(whole["value"], here.values)
    np.testing.assert_array_equal(whole["error"], here.errors)


def test_without_a_key_a_row_is_what_is_in_it(rows):
    cells = rows.drop(columns="id")
    score = ah.scorer(wavy, cells, **GIVEN)
    whole = score(cells)
    np.testing.assert_array_equal(score(cells[::-1])["value"][::-1], whole["value"])
    twice = score(pd.concat([cells[:5], cells[:5]]))["value"].to_numpy()
    np.testing.assert_array_equal(twice[:5], twice[5:])
    assert whole["value"].mean() == pytest.approx(ah.gamma(wavy, cells, **GIVEN).mean, rel=0.05)


def test_whole_numbers_beyond_fractions_tell_rows_apart(rows):
    cells = rows.drop(columns="id").assign(n=(1 << 60) + np.arange(500))

    def model(frame):
        return np.sin(3 * np.asarray(frame["f0"], dtype=float))

    score = ah.scorer(model, cells)
    whole = score(cells)
    assert whole["reason"].isna().all()
    np.testing.assert_array_equal(score(cells[100:])["value"], whole["value"][100:])
    alike = pd.concat([cells[:1]] * 2, ignore_index=True)
    alike.loc[1, "n"] += 1
    assert len(set(_content_addresses(pa.Table.from_pandas(alike)).tolist())) == 2
    small = cells[:5].assign(n=[1, 2, 3, 4, 5])
    one, other = (
        _content_addresses(pa.Table.from_pandas(frame))
        for frame in (small, small.astype({"n": float}))
    )
    np.testing.assert_array_equal(one, other)


def test_a_key_that_is_a_fraction_costs_its_row(rows):
    score = ah.scorer(wavy, rows, key="id", **GIVEN)
    odd = rows[:5].astype({"id": float})
    odd.loc[[1, 2], "id"] = 0.5, np.nan
    scored = score(odd)
    assert scored["reason"].tolist()[1:3] == ["the row's key is a fraction", "the row has no key"]
    np.testing.assert_array_equal(scored["value"][3:], score(rows[3:5])["value"])


@pytest.mark.parametrize("key", ["id", None])
def test_a_frame_that_lacks_a_column_is_refused(rows, key):
    cells = rows if key else rows.drop(columns="id")
    score = ah.scorer(wavy, cells, key=key, **GIVEN)
    with pytest.raises(SettingsError, match="the frame has no column f1"):
        score(cells.drop(columns="f1"))
    if key:
        with pytest.raises(SettingsError, match="the frame has no column id"):
            score(cells.drop(columns="id"))


@pytest.mark.parametrize("library", [pa.Table.from_pandas, pl.from_pandas], ids=["arrow", "polars"])
def test_frames_of_any_library(rows, library):
    score = ah.scorer(wavy, rows, key="id", **GIVEN)
    given = library(rows)
    scored = score(given)
    assert type(scored) is type(given)
    np.testing.assert_array_equal(np.asarray(scored["value"]), score(rows)["value"])


def test_it_travels(rows):
    score = pickle.loads(pickle.dumps(ah.scorer(wavy, rows, key="id", **GIVEN)))
    assert score(rows[:3])["value"].notna().all()
    assert len(pickle.dumps(score)) < 20_000, "no sample goes along"


def test_rows_that_fail_say_why(rows):
    odd = rows.clip(-2, 2).assign(id=rows["id"])
    odd.loc[3, "f1"] = np.nan
    odd.loc[4, "f0"] = 4.0
    score = ah.scorer(moody, odd.drop([3, 4]), key="id", **GIVEN)
    scored = score(odd)
    assert scored["value"].isna().sum() == 2
    assert "RuntimeError" in scored.loc[4, "reason"]
    assert scored["reason"].notna().sum() == 2


def test_other_measures(rows):
    score = ah.scorer(wavy, rows, key="id", measure=ah.nstep_robustness, steps=5, **GIVEN)
    here = ah.nstep_robustness(wavy, rows.drop(columns="id"), steps=5, **GIVEN)
    np.testing.assert_array_equal(score(rows)["value"], here.values)
    with pytest.raises(SettingsError, match="nstep_robustness"):
        ah.scorer(wavy, rows, measure=ah.spade)


def test_duckdb_reads_and_writes_what_is_scored(rows):
    duckdb = pytest.importorskip("duckdb")
    score = ah.scorer(wavy, rows, key="id", **GIVEN)
    connection = duckdb.connect()
    connection.register("rows", rows)
    reader = connection.sql("select * from rows order by id").to_arrow_reader(100)
    scored = pa.concat_tables([score(pa.Table.from_batches([batch])) for batch in reader])
    connection.register("scored", scored)
    mean = connection.sql("select avg(value) from scored").fetchall()[0][0]
    assert mean == pytest.approx(score(rows)["value"].mean())
