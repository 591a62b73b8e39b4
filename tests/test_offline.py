"""A model that cannot be called from here: plan, answer anywhere, collect."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import anharmonic as ah
from anharmonic.errors import InputError, OutputError

RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RANDOM.integers(18, 90, 40),
        "city": RANDOM.choice(["Rome", "Oslo"], 40),
        "income": RANDOM.lognormal(10, 1, 40),
        "unit": np.ones(40),
    }
)
LABELS = np.where((TABLE["age"] > 50) ^ (TABLE["city"] == "Rome"), "yes", "no")
MODEL = make_pipeline(
    make_column_transformer(
        (StandardScaler(), ["age", "income", "unit"]), (OneHotEncoder(), ["city"])
    ),
    LogisticRegression(C=100),
).fit(TABLE, LABELS)


def planned(path, data, **arguments):
    ah.plan(data, path, **arguments)
    return pd.read_parquet(path)


def same(one, other):
    np.testing.assert_allclose(one.values, other.values, rtol=0, atol=1e-14)
    np.testing.assert_allclose(one.errors, other.errors, rtol=0, atol=1e-14)
    assert one.settings.radius == other.settings.radius
    assert one.settings.ball == other.settings.ball
    assert one.settings.fingerprint == other.settings.fingerprint


@pytest.mark.parametrize("arguments", [{}, {"radius": 0.3, "rotations": 2}, {"ball": "simplex"}])
def test_collecting_gives_the_scores_of_a_direct_run(tmp_path, arguments):
    queries = planned(tmp_path / "queries.parquet", TABLE, **arguments)
    assert list(queries.columns) == ["query", *TABLE.columns]
    answers = pd.DataFrame(MODEL.predict_proba(queries[TABLE.columns]))
    answers.columns = ["no", "yes"]
    answers["query"] = queries["query"]
    answers.sample(frac=1, random_state=0).to_parquet(tmp_path / "answers.parquet")
    collected = ah.collect(tmp_path / "queries.parquet", tmp_path / "answers.parquet")
    same(collected, ah.gamma(MODEL, TABLE, **{"ball": "auto pairs", **arguments}))
    assert list(collected.settings.still) == ["unit"]
    assert collected.settings.kinds == ("whole", "category", "number")
    assert collected.queries == len(queries)


def test_a_large_ball_is_planned_in_pieces(tmp_path):
    data = RANDOM.normal(size=(3, 600))
    queries = planned(tmp_path / "q.parquet", data, ball="simplex", rotations=1, radius=0.5)
    outputs = np.sin(queries.drop(columns="query").to_numpy()).sum(axis=1)
    direct = ah.gamma(
        lambda x: np.sin(x).sum(axis=1), data, ball="simplex", rotations=1, radius=0.5
    )
    collected = ah.collect(tmp_path / "q.parquet", outputs)
    np.testing.assert_allclose(collected.values, direct.values, atol=1e-12)


def test_columns_that_stay_are_asked_for_too(tmp_path):
    data = np.column_stack((RANDOM.normal(size=(20, 2)), np.ones(20)))
    queries = planned(tmp_path / "q.parquet", data, radius=0.5)
    assert list(queries.columns) == ["query", "0", "1", "2"]
    outputs = np.exp(queries[["0", "1", "2"]].to_numpy()).sum(axis=1)
    direct = ah.gamma(lambda x: np.exp(x).sum(axis=1), data, radius=0.5)
    np.testing.assert_allclose(
        ah.collect(tmp_path / "q.parquet", outputs).values, direct.values, atol=1e-13
    )


def test_text_answers_are_labels(tmp_path):
    queries = planned(tmp_path / "q.parquet", TABLE)
    pd.DataFrame({"answer": MODEL.predict(queries[TABLE.columns])}).to_csv(
        tmp_path / "a.csv", index=False
    )
    collected = ah.collect(tmp_path / "q.parquet", tmp_path / "a.csv")
    direct = ah.gamma(MODEL, TABLE, output="onehot", ball="auto pairs")
    np.testing.assert_allclose(collected.values, direct.values, atol=1e-14)
    assert collected.settings.kind == "onehot"


def test_answers_that_do_not_fit_are_refused(tmp_path):
    queries = planned(tmp_path / "q.parquet", TABLE)
    with pytest.raises(OutputError, match="one row for each query"):
        ah.collect(tmp_path / "q.parquet", np.zeros(len(queries) - 1))
    twice = pd.DataFrame({"query": np.zeros(len(queries), dtype=int), "answer": 0.0})
    with pytest.raises(OutputError, match="answer each one once"):
        ah.collect(tmp_path / "q.parquet", twice)
    missing = np.where(np.arange(len(queries)) == 3, np.nan, 0.0)
    with pytest.raises(OutputError, match="rows 0:"):
        ah.collect(tmp_path / "q.parquet", missing)
    with pytest.raises(InputError, match="no plan"):
        ah.collect(tmp_path / "nothing.parquet", np.zeros(3))


def test_a_plan_that_fails_leaves_nothing_behind(tmp_path):
    with pytest.raises(InputError):
        ah.plan(TABLE, tmp_path / "q.parquet", radius=-1)
    assert list(tmp_path.iterdir()) == []


def test_the_file_says_what_it_is(tmp_path):
    ah.plan(TABLE, tmp_path / "q.parquet")
    assert b"anharmonic" in pq.read_metadata(tmp_path / "q.parquet").metadata
