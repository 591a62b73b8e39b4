"""Plans of sources: a warehouse answers, and the scores are those of a direct run."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic.errors import InputError, OutputError
from anharmonic.measures.offline_parts import planning
from anharmonic.sources import files
from tests.scale.generated import parquet_folder, table, wavy

FEATURES = ["f0", "f1", "f2", "f3"]


@pytest.fixture
def planned(tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "ROWS", 256)
    parquet_folder(tmp_path / "in", files=2, rows=500)
    source = files(tmp_path / "in", drop=["id"])
    ah.plan(source, tmp_path / "plan")
    return source


def answer(plan, target, cut=lambda table: table):
    """What a warehouse does: outputs beside part and query, partitioned by part."""
    asked = ds.dataset(plan / "queries").to_table()
    outputs = wavy(asked.select(FEATURES).to_pandas())
    answers = pa.table(
        {"part": asked["part"], "query": asked["query"], "a": outputs[:, 0], "b": outputs[:, 1]}
    )
    shuffled = cut(answers.take(np.random.default_rng(0).permutation(len(answers))))
    parts = ds.partitioning(pa.schema([("part", pa.string())]), flavor="hive")
    ds.write_dataset(shuffled, target, format="parquet", partitioning=parts)


def test_answers_in_any_order_give_the_scores_of_a_direct_run(tmp_path, planned):
    answer(tmp_path / "plan", tmp_path / "answers")
    collected = ah.collect(tmp_path / "plan", tmp_path / "answers", out=tmp_path / "scores")
    direct = ah.gamma(wavy, planned, ball="auto pairs", noise="ignore")
    one, two = (pa.concat_tables(list(each.batches())) for each in (collected, direct))
    assert one.select(["file", "row", "value", "error", "signed"]).equals(
        two.select(["file", "row", "value", "error", "signed"])
    )
    assert (collected.mean, collected.queries) == (direct.mean, direct.queries)


def test_answers_as_pandas_writes_them(tmp_path, planned):
    """One file or several by a pattern, texts of 64 bits, probabilities or names of classes."""
    pd = pytest.importorskip("pandas")
    asked = pd.read_parquet(tmp_path / "plan" / "queries")
    outputs = wavy(asked[FEATURES])
    answers = asked[["part", "query"]].assign(a=outputs[:, 0], b=outputs[:, 1])
    answers.to_parquet(tmp_path / "answers.parquet")
    one = ah.collect(tmp_path / "plan", tmp_path / "answers.parquet", out=tmp_path / "one")
    for place in (0, 1):
        answers[place::2].to_parquet(tmp_path / f"half-{place}.parquet")
    two = ah.collect(tmp_path / "plan", f"{tmp_path}/half-*.parquet", out=tmp_path / "two")
    direct = ah.gamma(wavy, planned, ball="auto pairs", noise="ignore")
    assert one.mean == two.mean == direct.mean
    named = asked[["part"]].astype(pd.ArrowDtype(pa.large_string()))
    named = named.assign(query=asked["query"], label=np.where(outputs[:, 0] > 0, "up", "down"))
    named.to_parquet(tmp_path / "named.parquet")
    labels = ah.collect(tmp_path / "plan", tmp_path / "named.parquet", out=tmp_path / "names")
    assert labels.settings.classes == ("down", "up")


def test_duckdb_answers(tmp_path, planned):
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "answers").mkdir()
    duckdb.sql(
        f"copy (select part, query, sin(3 * f0) + f1 * f1 as a, f2 * f3 as b "
        f"from read_parquet('{tmp_path}/plan/queries/*.parquet')) "
        f"to '{tmp_path}/answers' (format parquet, partition_by (part), overwrite_or_ignore)"
    )
    collected = ah.collect(tmp_path / "plan", tmp_path / "answers")
    direct = ah.gamma(wavy, planned, ball="auto pairs", noise="ignore")
    assert collected.mean == pytest.approx(direct.mean, rel=1e-9)


def test_answers_that_are_missing_or_doubled_are_refused(tmp_path, planned):
    answer(tmp_path / "plan", tmp_path / "few", lambda answers: answers.slice(5))
    with pytest.raises(OutputError, match="repeat or are missing"):
        ah.collect(tmp_path / "plan", tmp_path / "few")
    answer(
        tmp_path / "plan",
        tmp_path / "many",
        lambda answers: pa.concat_tables([answers, answers.slice(0, 1)]),
    )
    with pytest.raises(OutputError, match="repeat or are missing"):
        ah.collect(tmp_path / "plan", tmp_path / "many", out=tmp_path / "other")


def test_a_source_that_changed_is_refused(tmp_path, planned):
    pq.write_table(table(5, id=np.arange(5)), tmp_path / "in" / "z.parquet")
    with pytest.raises(InputError, match="has changed"):
        ah.collect(tmp_path / "plan", tmp_path)
    with pytest.raises(InputError, match="holds a plan already"):
        ah.plan(planned, tmp_path / "plan")


def test_labels_and_mixed_tables(tmp_path):
    rows = table(300).to_pandas()
    rows["colour"] = np.random.default_rng(0).choice(["red", "green"], 300)
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet")
    source = files(tmp_path / "rows.parquet")
    ah.plan(source, tmp_path / "plan")
    asked = ds.dataset(tmp_path / "plan" / "queries").to_table()
    labels = np.where(asked["f0"].to_numpy() > 0, asked["colour"].to_pylist(), "none")
    (tmp_path / "answers").mkdir()
    pq.write_table(
        pa.table({"part": asked["part"], "query": asked["query"], "label": labels.astype(str)}),
        tmp_path / "answers" / "a.parquet",
    )
    collected = ah.collect(tmp_path / "plan", tmp_path / "answers", reduction="norm")
    direct = ah.gamma(_label, rows, ball="auto pairs", noise="ignore", reduction="norm")
    np.testing.assert_allclose(collected.to_scores().values, direct.values, atol=1e-12)


def _label(frame):
    kinds = np.where(frame["f0"] > 0, frame["colour"], "none")
    return (np.asarray(kinds)[:, None] == np.array(["green", "none", "red"])).astype(float)
