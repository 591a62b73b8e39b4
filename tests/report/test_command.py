"""`anharmonic report`, `sweep` and `compare --report`, as a user runs them."""

from __future__ import annotations

import json

import joblib
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah
from tests.command import run

MODELS = ["tree=tree.joblib", "[b]linear[/b]=linear.joblib"]
COMMON = ["--data", "points.csv", "--drop", "target", "--trust"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("command")
    data = load_iris(as_frame=True)
    tree = DecisionTreeClassifier(random_state=0).fit(data.data, data.target)
    joblib.dump(tree, place / "tree.joblib")
    linear = LogisticRegression(max_iter=500).fit(data.data, data.target)
    joblib.dump(linear, place / "linear.joblib")
    data.frame.to_csv(place / "points.csv", index=False)
    for name, model in {"tree": tree, "linear": linear}.items():
        ah.gamma(model, data.data, ball="auto pairs").save(place / f"{name}.parquet")
    return place


def test_a_report_of_models(folder):
    done = run(folder, "report", *MODELS, *COMMON, "--sweep", "--out", "page.html")
    assert "page.html is written" in done.stderr
    page = (folder / "page.html").read_text()
    for words in (
        "[b]linear[/b] is the most harmonic of 2 models",
        "Gamma against the radius",
        "Where gamma is large",
        "features behind it",
        "petal width (cm)",
        "anharmonic report tree=tree.joblib &#39;[b]linear[/b]=linear.joblib&#39;",
    ):
        assert words in page.replace("&#34;", '"'), words


def test_a_report_of_saved_scores(folder):
    run(
        folder,
        "report",
        "tree.parquet",
        "line=linear.parquet",
        "--title",
        "A & B",
        "--out",
        "s.html",
    )
    page = (folder / "s.html").read_text()
    assert "line is the most harmonic of 2 models" in page
    assert "<h1>A &amp; B</h1>" in page
    assert "Where gamma is large" not in page
    run(folder, "report", "tree.parquet", *COMMON[:4], "--out", "d.html")
    assert "Where gamma is large" in (folder / "d.html").read_text()


def test_compare_writes_one_too(folder):
    done = run(folder, "compare", *MODELS, *COMMON, "--report", "c.html")
    assert "[b]linear[/b]" in done.stdout
    assert "features behind it" in (folder / "c.html").read_text()


def test_a_sweep(folder):
    shown = run(folder, "sweep", *MODELS, *COMMON, "--radii", "0.2,0.1").stdout
    assert "Recommended radius: 0." in shown
    assert "one nearest-neighbour distance" in shown
    assert "[b]linear[/b]" in shown
    found = json.loads(run(folder, "sweep", MODELS[0], *COMMON, "--json").stdout)
    assert len(found["radii"]) == len(found["models"]["tree"]["mean"]) == 6
    assert found["recommended"]["radius"] in found["radii"]


def test_a_report_without_data_is_mistyped(folder):
    assert "--data" in run(folder, "report", "tree=tree.joblib", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "tree.joblib", *COMMON], "give each a name"),
        (["report", "tree.parquet", "tree=tree.joblib"], "no models"),
        (["report", "none.parquet"], "no file"),
        (["report", "tree.parquet", "tree.parquet"], "two scores"),
        (["report", "points=points.csv.parquet"], "no file"),
        (["sweep", MODELS[0], *COMMON, "--radii", "a"], "--radii a"),
        (["compare", MODELS[0], MODELS[0], *COMMON], "the same name"),
    ],
)
def test_mistakes_end_in_one_line(folder, arguments, words):
    done = run(folder, *arguments, code=1)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
