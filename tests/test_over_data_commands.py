"""Gamma over the data on the command line: tables with categories and missing cells."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import AnharmonicError
from anharmonic.measures.remeasure import measured_like
from anharmonic.report.recipe import recipe
from tests.stores import mlflow_store

FEATURES = ["age", "income", "colour", "city"]


def customers(rows: int, seed: int) -> pd.DataFrame:
    """Numbers and categories with missing cells, an id, and a label that is wrong in a tenth."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": random.integers(18, 80, rows).astype(float),
            "income": random.lognormal(3, 0.5, rows).round(2),
            "colour": random.choice(["red", "green", "blue"], rows),
            "city": random.choice(["Ulm", "Bonn", "Kiel"], rows),
            "customer_id": np.arange(rows),
        }
    )
    wrong = random.random(rows) < 0.1
    table["label"] = np.where((table["age"] > 45) ^ wrong, "yes", "no")
    table.loc[random.random(rows) < 0.1, "age"] = np.nan
    table.loc[random.random(rows) < 0.1, "colour"] = np.nan
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("over-data")
    train, new = customers(120, 0), customers(160, 1)
    train.to_csv(path / "train.csv", index=False)
    new.to_csv(path / "new.csv", index=False)
    # As the commands read them: fitted to the file, not to the frame.
    train = pd.read_csv(path / "train.csv")
    for name, model in {
        "tree": DecisionTreeClassifier(random_state=0),
        "linear": LogisticRegression(max_iter=2000),
    }.items():
        encoder = make_column_transformer(
            (SimpleImputer(), ["age", "income"]),
            (OneHotEncoder(handle_unknown="ignore"), ["colour", "city"]),
        )
        fitted = make_pipeline(encoder, model).fit(train[FEATURES], train["label"])
        joblib.dump(fitted, path / f"{name}.joblib")
    tree = joblib.load(path / "tree.joblib")
    for name in ("new", "train"):
        table = pd.read_csv(path / f"{name}.csv")
        answers = pd.DataFrame(tree.predict_proba(table[FEATURES]), columns=["p0", "p1"])
        answers.to_csv(path / f"{name}-answers.csv", index=False)
        said = tree.predict(table[FEATURES])
        table.join(answers).assign(said=said).to_csv(path / f"{name}-both.csv", index=False)
    # No column is a number here, so nothing could ever move.
    words = train[["colour", "city"]].fillna("none")
    named = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(words, train["label"])
    joblib.dump(named, path / "words.joblib")
    words.to_csv(path / "words.csv", index=False)
    ah.gamma(tree, pd.read_csv(path / "new.csv"), ball="data").save(path / "old.parquet")
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")


def run(*words: str, code: int = 0) -> str:
    """What a command prints, run inside this process."""
    done = CliRunner().invoke(app, list(words))
    if isinstance(done.exception, AnharmonicError):
        assert code == 1, done.exception
        return str(done.exception)
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def tree_on(data: str) -> list[str]:
    return ["tree.joblib", "--trust", "--data", data]


def test_a_table_says_what_is_true_of_rows_that_are_compared():
    shown = run("gamma", *tree_on("new.csv"), "--ball", "data")
    for words in (
        "mean gamma over data",
        "weights of other rows",
        "data forest",
        "rows compared by",
        "age, income, colour, city",
        "left out",
        "customer_id, label",
        "other rows say",
        "160 (1.0 per point)",
    ):
        assert words in shown
    for nonsense in ("radius", "rotations", "nan", "│ moved", "│ held"):
        assert nonsense not in shown


def test_a_file_and_json_hold_what_a_direct_call_gives(folder, tmp_path):
    out = tmp_path / "scores.parquet"
    found = json.loads(
        run(
            *("gamma", *tree_on("new.csv"), "--ball", "data neighbours"),
            *("--reference", "train.csv", "--out", str(out), "--json"),
        )
    )
    model = joblib.load("tree.joblib")
    new, train = pd.read_csv("new.csv"), pd.read_csv("train.csv")
    direct = ah.gamma(model, new, ball="data neighbours", reference=train)
    again = ah.Scores.load(out)
    np.testing.assert_array_equal(again.values, direct.values)
    assert found["mean"] == direct.mean
    assert found["queries"] == 280
    assert again.settings.referenced
    assert again.others.shape == (160, 2)


def test_tables_without_a_number_are_measured_too():
    found = json.loads(
        run("gamma", "words.joblib", "--trust", "--data", "words.csv", "--ball", "data", "--json")
    )
    assert found["settings"]["columns"] == ["colour", "city"]
    assert found["measured"] == 120


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gamma", "--radius", "0.1"], "--radius: nothing moves with --ball data"),
        (["gamma", "--resume", "x.parquet"], "--resume: nothing moves"),
        (["gamma", "--budget", "9", "--threads", "2"], "--threads, --budget: nothing moves"),
        (["gamma", "--rotations", "4", "--noise", "refuse"], "leave them out"),
        (["gamma", "--scale", "raw", "--bounds", "0,1"], "--scale, --bounds: nothing moves"),
        (["check", "--max-gamma", "1", "--radius", "1"], "--radius: nothing moves"),
    ],
)
def test_options_of_spheres_are_refused_before_any_work(words, message):
    command, *options = words
    # Neither the model nor the data are there: nothing is opened before.
    told = run(command, "none.onnx", "--data", "none.csv", "--ball", "data", *options, code=1)
    assert message in told
    assert "\n" not in told


@pytest.mark.parametrize("option", [["--keep", "x"], ["--resume", "x"], ["--directions", "3"]])
def test_compare_and_report_refuse_them_too(option):
    shared = ("a=none.onnx", "--data", "none.csv", "--ball", "data")
    assert "nothing moves" in run("compare", *shared, *option, code=1)
    told = run("report", *shared, "--sweep", code=1)
    assert told.startswith("--sweep: nothing moves")


def test_weights_and_columns_that_are_not_there_are_named():
    assert "no weights 'trees'" in run("gamma", "m", "--ball", "data trees", code=1)
    told = run("gamma", *tree_on("new.csv"), "--ball", "data", "--moving", "agee", code=1)
    assert "no column agee" in told


@pytest.mark.parametrize("way", ["columns", "file"])
def test_recorded_answers_give_what_the_model_gives(way):
    both = ["--data", "new-both.csv", "--outputs", "p0,p1", "--drop", "label,said"]
    apart = ["--data", "new.csv", "--answers", "new-answers.csv", "--drop", "label"]
    words = both if way == "columns" else apart
    found = json.loads(run("gamma", "recorded", *words, "--kind", "probability", "--json"))
    old = ah.Scores.load("old.parquet")
    assert found["mean"] == pytest.approx(old.mean, abs=1e-12)
    assert found["queries"] == 0
    assert found["settings"]["columns"] == FEATURES


@pytest.mark.parametrize("way", ["columns", "file"])
def test_answers_at_a_reference_are_read_too(way, tmp_path):
    out = tmp_path / "scores.parquet"
    both = ["--data", "new-both.csv", "--reference", "train-both.csv", "--outputs", "p0,p1"]
    apart = [
        *("--data", "new-both.csv", "--reference", "train.csv"),
        *("--answers", "new-answers.csv", "--reference-answers", "train-answers.csv"),
    ]
    words = both if way == "columns" else apart
    run("gamma", "recorded", *words, "--drop", "label,said", "--out", str(out))
    scores = ah.Scores.load(out)
    assert scores.settings.columns == tuple(FEATURES)
    assert scores.settings.referenced
    assert scores.settings.reference_rows == 120


def test_classes_by_name_have_the_same_column_in_both_files(tmp_path):
    few = pd.read_csv("new-both.csv")
    few.loc[few["said"] == "no"].to_csv(tmp_path / "no.csv", index=False)
    found = json.loads(
        run(
            *("gamma", "recorded", "--data", str(tmp_path / "no.csv"), "--outputs", "said"),
            *("--reference", "train-both.csv", "--drop", "label,p0,p1", "--json"),
        )
    )
    assert found["settings"]["classes"] == ["no", "yes"]
    assert found["settings"]["kind"] == "onehot"
    assert 0 < found["mean"] < 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Give --outputs COLUMNS, or --answers FILE"),
        (["--outputs", "p0,p7"], "no column p7"),
        (["--answers", "new-answers.csv", "--reference", "train.csv"], "--reference-answers"),
        (["--outputs", "p0", "--reference-answers", "x.csv"], "at --reference: give that too"),
        (["--outputs", "p0", "--moving", "p0"], "--moving p0 is no column to compare"),
        (["--answers", "train-answers.csv"], "give one answer per row"),
    ],
)
def test_answers_that_are_not_there_are_named(words, message):
    assert message in run("gamma", "recorded", "--data", "new-both.csv", *words, code=1)


def test_suspects_are_listed_with_what_other_rows_say(tmp_path):
    out = tmp_path / "suspects.parquet"
    words = ("suspects", *tree_on("train.csv"), "--labels", "label")
    shown = run(*words, "--count", "7", "--out", str(out))
    for word in ("answer", "other rows say", "label", "suspicion", "rows compared by age"):
        assert word in shown
    scores = ah.Scores.load(out)
    assert scores.metric == "suspicion"
    assert "label" not in (*scores.settings.columns, *scores.settings.still)
    found = json.loads(run(*words, "--count", "3", "--json"))
    assert [row["row"] for row in found["rows"]] == scores.worst(3).tolist()
    first = found["rows"][0]
    assert {first["answer"], first["others"], first["label"]} <= {"yes", "no"}
    assert first["suspicion"] == scores.values[first["row"]]


def test_suspects_without_labels_and_with_a_label_that_is_not_there():
    found = json.loads(run("suspects", *tree_on("train.csv"), "--count", "1", "--json"))
    assert found["rows"][0]["label"] is None
    assert "label" in found["settings"]["still"]
    told = run("suspects", *tree_on("train.csv"), "--labels", "lable", code=1)
    assert "no column lable" in told


def test_support_names_rows_for_and_against():
    words = ("support", *tree_on("train.csv"), "--row", "5", "--weights", "neighbours")
    shown = run(*words)
    assert "Row 5: the model says" in shown
    found = json.loads(run(*words, "--json"))
    assert found["queries"] == 120
    assert sum(other["weight"] for other in found["supporters"]) == pytest.approx(1)
    assert "give a number from 0 on" in run(
        "support", *tree_on("train.csv"), "--row", "999", code=1
    )


def test_compare_ranks_the_overfit_model_last():
    words = ("tree=tree.joblib", "linear=linear.joblib", "--trust", "--ball", "data")
    # So few rows tell models apart by their probabilities, not yet by their decisions.
    words = (*words, "--output", "probability")
    shown = run("compare", *words, "--data", "new.csv", "--reference", "train.csv")
    assert "tree > linear" in shown
    assert "rows compared by age, income, colour, city; left out customer_id, label" in shown
    found = json.loads(run("compare", *words, "--data", "new.csv", "--json"))
    assert found["ranking"] == ["linear", "tree"]


def test_models_that_read_different_columns_are_compared_by_all_of_them():
    train = pd.read_csv("train.csv")
    numbers = make_pipeline(SimpleImputer(), LogisticRegression())
    numbers.fit(train[["age", "income"]], train["label"])
    models = {"numbers": numbers, "tree": joblib.load("tree.joblib")}
    found = ah.compare(models, pd.read_csv("new.csv"), ball="data")
    assert {scores.settings.columns for scores in found.scores.values()} == {tuple(FEATURES)}


def test_the_gate_passes_and_fails_over_data(tmp_path):
    words = ("--data", "new.csv", "--trust")
    passed = run("check", "linear.joblib", *words, "--ball", "data", "--max-gamma", "0.3")
    assert "passed mean gamma over data at most 0.3" in passed
    assert "rows compared by" in passed
    run("check", "tree.joblib", *words, "--ball", "data", "--max-gamma", "0.01", code=100)
    same = run("check", "tree.joblib", *words, "--baseline", "old.parquet")
    assert "paired" in same
    smooth, table = tmp_path / "smooth.parquet", pd.read_csv("new.csv")
    linear = joblib.load("linear.joblib")
    ah.gamma(linear, table, ball="data", output="probability").save(smooth)
    words = (*words, "--output", "probability")
    worse = run("check", "tree.joblib", *words, "--baseline", str(smooth), code=100)
    assert "surely above the baseline" in worse


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ball", "cross"], "ball 'data forest', which 'cross' cannot be compared with"),
        (["--ball", "data neighbours"], "measured with Forest(trees=100"),
        (["--radius", "1"], "--radius: nothing moves"),
        (["--reference", "train.csv"], "weighs its own rows"),
    ],
)
def test_a_baseline_that_cannot_be_compared_with_is_named(words, message):
    told = run("check", *tree_on("new.csv"), "--baseline", "old.parquet", *words, code=1)
    assert message in told


def test_a_baselines_weights_come_back_with_their_settings(folder, tmp_path):
    model, new = joblib.load("tree.joblib"), pd.read_csv("new.csv")
    for weights in (
        ah.over_data.Forest(trees=24, leaf=2, features=0.5),
        ah.over_data.Neighbours(4),
        ah.over_data.Boosted(fits=4, rounds=5),
    ):
        old = ah.gamma(model, new, ball=weights, seed=3, output="onehot")
        again = measured_like(ah.load(old.save(tmp_path / "old.parquet")), model, new)
        np.testing.assert_array_equal(again.values, old.values)
        assert ah.gate.no_worse(again, old).passed
        assert repr(weights) in recipe({"model": old}, alike=True)
    with pytest.raises(AnharmonicError, match="holds suspicion"):
        measured_like(ah.suspects(model, new), model, new)
    given = ah.gamma(model, new, ball=ah.over_data.Given(np.ones((160, 160))))
    with pytest.raises(AnharmonicError, match="a matrix, which scores do not keep"):
        measured_like(given, model, new)


def test_reports_open_alone_and_in_comparisons(tmp_path):
    page = tmp_path / "both.html"
    words = ("tree=tree.joblib", "linear=linear.joblib", "--trust", "--ball", "data")
    words = (*words, "--output", "probability")
    run("report", *words, "--data", "new.csv", "--reference", "train.csv", "--out", str(page))
    both = page.read_text()
    for text in (
        "linear is the most harmonic over the data of 2 models",
        "It sees memorising and unsteadiness, not bias or underfitting",
        "other rows say",
        "ball=ah.over_data.Forest(trees=100",
        "rows compared by",
        "missing",
    ):
        assert text in both
    for nonsense in ("held still", "features that move", "radius, in units", "nan ±"):
        assert nonsense not in both
    run("report", "old.parquet", "--data", "new.csv", "--out", str(page))
    assert "Gamma over data of old" in page.read_text()
    run("compare", *words, "--data", "new.csv", "--report", str(page))
    assert "weighed alike" in page.read_text()
    out = tmp_path / "suspects.parquet"
    run("suspects", *tree_on("train.csv"), "--labels", "label", "--out", str(out))
    run("report", str(out), "--data", "train.csv", "--out", str(page))
    suspicious = page.read_text()
    assert "not proof of a wrong label" in suspicious
    assert '<th scope="col">label</th>' in suspicious
    assert "scores = ah.suspects(" in suspicious


def test_scores_over_data_go_into_a_card(tmp_path):
    card = tmp_path / "README.md"
    run("card", str(card), "new=old.parquet")
    text = card.read_text()
    assert "| data set | mean gamma over data |" in text
    assert "does not see bias or underfitting" in " ".join(text.split())
    assert "--ball 'data forest' --seed 0 --out new.parquet" in text
    assert "nan" not in text


def test_scores_over_data_are_logged_to_mlflow(tmp_path):
    scores = ah.Scores.load("old.parquet")
    with mlflow_store(tmp_path) as mlflow:
        with mlflow.start_run():
            run_id = ah.tracking.log_scores(scores, name="rows")
        data = mlflow.get_run(run_id).data
        assert data.metrics["rows/mean"] == scores.mean
        assert data.params["rows/ball"] == "data forest"
        table = mlflow.load_table("rows/worst.json", run_ids=[run_id])
    np.testing.assert_allclose(table["other rows say"][0], scores.others[scores.worst(1)[0]])


def test_results_say_what_is_true_of_them():
    scores = ah.Scores.load("old.parquet")
    for shown in (repr(scores), scores._repr_html_()):
        assert "rows compared by" in shown
        assert "moved" not in shown
        assert "radius" not in shown
    found = ah.compare({"a": joblib.load("tree.joblib")}, pd.read_csv("new.csv"), ball="data")
    assert "rows compared by age" in repr(found)
