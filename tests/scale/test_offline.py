"""Plans of sources: a warehouse answers, and the scores are those of a direct run."""

from __future__ import annotations

import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic.errors import InputError, OutputError, SettingsError
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
    with pytest.raises(InputError, match=r"holds a plan already.*fresh=True"):
        ah.plan(planned, tmp_path / "plan")
    ah.plan(planned, tmp_path / "plan", fresh=True)
    assert (
        len(ds.dataset(tmp_path / "plan" / "queries").to_table().group_by("part").aggregate([]))
        == 5
    )


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


def _answered(plan, target, factor=1.0, **beside):
    pd = pytest.importorskip("pandas")
    asked = pd.read_parquet(plan / "queries")
    outputs = factor * wavy(asked[FEATURES])
    kept = asked[["part", "query", *beside.pop("keep", [])]]
    answers = kept.assign(a=outputs[:, 0], b=outputs[:, 1], **beside)
    answers.to_parquet(target)
    return answers


def test_answers_that_were_mended_are_not_mixed_with_those_of_before(tmp_path, planned):
    target = tmp_path / "answers.parquet"
    _answered(tmp_path / "plan", target)
    wrong = ah.collect(tmp_path / "plan", target)
    assert ah.collect(tmp_path / "plan", target).mean == wrong.mean
    _answered(tmp_path / "plan", target, factor=9.0)
    with pytest.raises(SettingsError, match="another set of answers"):
        ah.collect(tmp_path / "plan", target)
    right = ah.collect(tmp_path / "plan", target, fresh=True)
    assert right.mean == pytest.approx(9 * wrong.mean)
    # A table in memory is known by what it holds.
    table = pq.read_table(target)
    ah.collect(tmp_path / "plan", table, out=tmp_path / "other")
    ah.collect(tmp_path / "plan", table, out=tmp_path / "other")
    other = table.set_column(2, "a", table["b"])
    with pytest.raises(SettingsError, match="another set of answers"):
        ah.collect(tmp_path / "plan", other, out=tmp_path / "other")


def test_what_stands_beside_the_answers_is_no_output(tmp_path, planned):
    plan = tmp_path / "plan"
    bare = _answered(plan, tmp_path / "bare.parquet")
    alone = ah.collect(plan, tmp_path / "bare.parquet", out=tmp_path / "one")
    full = _answered(plan, tmp_path / "full.parquet", keep=FEATURES)
    full.sample(frac=1, random_state=0).to_parquet(tmp_path / "full.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "full.parquet").names
    beside = ah.collect(plan, tmp_path / "full.parquet", out=tmp_path / "two")
    one, two = (pa.concat_tables(list(each.batches())) for each in (alone, beside))
    assert one.equals(two)
    full.assign(f1=0.0).to_parquet(tmp_path / "odd.parquet")
    with pytest.raises(OutputError, match="column f1 of the answers is called as a feature is"):
        ah.collect(plan, tmp_path / "odd.parquet", out=tmp_path / "three")
    bare[["part", "query"]].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="keep the model's outputs"):
        ah.collect(plan, tmp_path / "none.parquet", out=tmp_path / "four")


def test_labels_may_be_categories(tmp_path, planned):
    pd = pytest.importorskip("pandas")
    asked = pd.read_parquet(tmp_path / "plan" / "queries")
    label = np.where(asked["f0"] > 0, "up", "down")
    answers = asked[["part", "query"]].assign(label=label)
    found = []
    for kind in (str, "category"):
        answers.astype({"label": kind}).to_parquet(tmp_path / "answers.parquet")
        found.append(ah.collect(tmp_path / "plan", tmp_path / "answers.parquet", fresh=True))
    assert found[0].settings.classes == found[1].settings.classes == ("down", "up")
    assert found[0].mean == found[1].mean > 0


def test_a_label_that_is_missing_costs_its_row(tmp_path, planned):
    pd = pytest.importorskip("pandas")
    asked = pd.read_parquet(tmp_path / "plan" / "queries")
    answers = asked[["part", "query"]].assign(label=np.where(asked["f0"] > 0, "up", "down"))
    answers.to_parquet(tmp_path / "whole.parquet")
    answers.loc[len(answers) // 2, "label"] = None
    answers.to_parquet(tmp_path / "gap.parquet")
    whole, gap = (
        ah.collect(tmp_path / "plan", tmp_path / f"{name}.parquet", out=tmp_path / name)
        for name in ("whole", "gap")
    )
    assert (len(gap), gap.set_aside, gap.unreadable) == (len(whole) - 1, 1, 0)
    rows = [pa.concat_tables(list(each.batches(["file", "row", "value"]))) for each in (whole, gap)]
    kept = [{tuple(row.values()) for row in each.to_pylist()} for each in rows]
    assert kept[1] < kept[0]


def test_a_label_that_is_missing_in_memory_is_said(tmp_path):
    pd = pytest.importorskip("pandas")
    ah.plan(table(20).to_pandas(), tmp_path / "plan.parquet", radius=0.3)
    asked = pd.read_parquet(tmp_path / "plan.parquet")
    answers = asked[["query"]].assign(label=np.where(asked["f0"] > 0, "up", "down"))
    for place in (0, 7):
        answers["label"] = answers["label"].fillna("up").astype(object)
        answers.loc[place, "label"] = None
        with pytest.raises(OutputError, match=f"the first that to query {place}"):
            ah.collect(tmp_path / "plan.parquet", answers)


@pytest.mark.parametrize("name", ["query", "part"])
def test_a_feature_called_as_the_plans_own_columns_is_refused(tmp_path, name):
    frame = table(40).to_pandas().rename(columns={"f2": name})
    frame.to_parquet(tmp_path / "rows.parquet")
    source = files(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=f"column {name} is called as one of the plan's own"):
        ah.plan(source, tmp_path / "plan", radius=0.3)
    if name == "query":
        with pytest.raises(InputError, match="column query is called as one of the plan's own"):
            ah.plan(frame, tmp_path / "plan.parquet", radius=0.3)


def test_too_many_answers_leave_no_part_behind(tmp_path, planned):
    target = tmp_path / "answers.parquet"
    answers = _answered(tmp_path / "plan", target)
    part = answers["part"].iloc[0]
    more = answers[answers["part"] == part].tail(3)
    more = more.assign(query=more["query"] + 3)
    pd = pytest.importorskip("pandas")
    pd.concat([answers, more]).to_parquet(target)
    with pytest.raises(InputError, match="answers to"):
        ah.collect(tmp_path / "plan", target)
    assert not (tmp_path / "plan" / "collected" / "scores").exists()


def test_a_plan_that_was_stopped_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "ROWS", 256)
    parquet_folder(tmp_path / "in", files=2, rows=500)
    source = files(tmp_path / "in", drop=["id"])
    whole = ah.plan(source, tmp_path / "whole")

    def stopped(function, items):
        for number, item in enumerate(items):
            if number == 2:
                raise KeyboardInterrupt
            yield function(item)

    with pytest.raises(KeyboardInterrupt):
        ah.plan(source, tmp_path / "plan", engine=stopped)
    queries = tmp_path / "plan" / "queries"
    times = {path.name: path.stat().st_mtime_ns for path in queries.iterdir()}
    assert len(times) == 2
    with pytest.raises(InputError, match="has not come to its end: plan it again"):
        ah.collect(tmp_path / "plan", tmp_path)
    with pytest.raises(InputError, match="holds a plan already"):
        ah.plan(source, tmp_path / "plan", rotations=2)
    ah.plan(source, tmp_path / "plan", engine=ah.workers.threads(2))
    assert {name: (queries / name).stat().st_mtime_ns for name in times} == times
    one, two = (ds.dataset(path / "queries").to_table() for path in (whole, tmp_path / "plan"))
    assert one.sort_by([("part", "ascending"), ("query", "ascending")]).equals(
        two.sort_by([("part", "ascending"), ("query", "ascending")])
    )
    # There is nothing left to do.
    ah.plan(source, tmp_path / "plan", engine=stopped)


def test_a_plan_is_collected_from_any_folder(tmp_path, monkeypatch):
    parquet_folder(tmp_path / "in", files=1, rows=60)
    monkeypatch.chdir(tmp_path)
    ah.plan(files("in/*.parquet", drop=["id"]), "plan", radius=0.3)
    _answered(tmp_path / "plan", tmp_path / "answers.parquet")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(ah.collect("../plan", "../answers.parquet")) == 60


def test_a_plan_of_standard_input_keeps_it(tmp_path, monkeypatch):
    rows = table(50)
    text = rows.to_pandas().to_csv(index=False).encode()

    def pipe():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))

    pipe()
    ah.plan(files("-"), tmp_path / "plan", radius=0.3)
    _answered(tmp_path / "plan", tmp_path / "answers.parquet")
    collected = ah.collect(tmp_path / "plan", tmp_path / "answers.parquet")
    direct = ah.gamma(wavy, rows.to_pandas(), radius=0.3, ball="auto pairs", noise="ignore")
    np.testing.assert_array_equal(collected.to_scores().values, direct.values)
    pipe()
    with pytest.raises(InputError, match="standard input cannot be held against it"):
        ah.plan(files("-"), tmp_path / "plan", radius=0.3)
    ah.plan(files("-"), tmp_path / "plan", radius=0.2, fresh=True)


def test_categories_of_a_plan_mean_the_same_when_it_is_collected(tmp_path):
    pd = pytest.importorskip("pandas")
    (tmp_path / "in").mkdir()
    for number, levels in enumerate((["red", "green"], ["green", "blue"])):
        frame = table(80, number).to_pandas()
        frame["colour"] = pd.Categorical(
            np.random.default_rng(number).choice(levels, 80), categories=levels
        )
        frame.to_parquet(tmp_path / "in" / f"{number}.parquet")
    source = files(tmp_path / "in")
    ah.plan(source, tmp_path / "plan")

    def model(frame):
        return np.sin(3 * frame["f0"]) + (frame["colour"] == "green") * frame["f1"]

    asked = pd.read_parquet(tmp_path / "plan" / "queries")
    answers = asked[["part", "query"]].assign(y=model(asked))
    answers.to_parquet(tmp_path / "answers.parquet")
    collected = ah.collect(tmp_path / "plan", tmp_path / "answers.parquet")
    direct = ah.gamma(model, source, ball="auto pairs", noise="ignore")
    np.testing.assert_allclose(
        collected.to_scores().values, direct.to_scores().values, rtol=0, atol=1e-14
    )


def test_arguments_of_sources_are_refused_for_what_is_in_memory(tmp_path):
    rows = table(20).to_pandas()
    with pytest.raises(SettingsError, match="engine= and fresh= are for sources"):
        ah.plan(rows, tmp_path / "plan.parquet", fresh=True)
    ah.plan(rows, tmp_path / "plan.parquet", radius=0.3)
    with pytest.raises(SettingsError, match="are for the plan of a source"):
        ah.collect(tmp_path / "plan.parquet", np.zeros(3), out=tmp_path / "out")
    rows.to_parquet(tmp_path / "rows.parquet")
    ah.gamma(wavy, files(tmp_path / "rows.parquet"), radius=0.3, out=tmp_path / "run")
    with pytest.raises(InputError, match="no plan of a source"):
        ah.collect(tmp_path / "run", tmp_path)
