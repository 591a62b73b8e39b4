"""The command line: what it prints, writes and ends with."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import anharmonic as ah
from anharmonic.cli.show import complain
from tests.command import run, run_program


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    data = load_iris(as_frame=True)
    joblib.dump(
        HistGradientBoostingClassifier(max_iter=10).fit(data.data, data.target),
        folder / "model.joblib",
    )
    smooth = LogisticRegression(max_iter=500).fit(data.data.to_numpy(), data.target)
    one = data.data.to_numpy()[:1].astype(np.float32)
    graph = to_onnx(smooth, one, options={"zipmap": False})
    (folder / "model.onnx").write_bytes(graph.SerializeToString())
    data.frame.to_csv(folder / "points.csv", index=False)
    np.save(folder / "points.npy", data.data.to_numpy())
    (folder / "mine.py").write_text(
        "import numpy as np\n"
        "calls = 0\n"
        "def total(x):\n    return np.tanh(np.asarray(x)).sum(axis=1)\n"
        "def fragile(x):\n"
        "    global calls\n    calls += 1\n"
        "    if calls > 6:\n        raise RuntimeError('the server is gone')\n"
        "    return total(x)\n"
    )
    return folder


def test_a_table_for_people(files):
    done = run_program(files, "gamma", "--model", "model.onnx", "--data", "points.npy")
    for words in ("mean gamma", "±", "queries", "distance between neighbours", "95% interval"):
        assert words in done.stdout
    assert "queries/s" in done.stderr


def test_json_for_machines_and_a_file_for_later(files, tmp_path):
    out = tmp_path / "scores.parquet"
    done = run_program(
        files,
        "gamma",
        "--model",
        "model.joblib",
        "--trust",
        "--data",
        "points.csv",
        "--drop",
        "target",
        "--radius",
        "0.5",
        "--output",
        "onehot",
        "--out",
        str(out),
        "--json",
    )
    found = json.loads(done.stdout)
    scores = ah.Scores.load(out)
    assert found["mean"] == scores.mean
    assert found["queries"] == scores.queries
    assert found["settings"]["kind"] == "onehot"
    frame = pd.read_csv(files / "points.csv").drop(columns="target")
    direct = ah.gamma(joblib.load(files / "model.joblib"), frame, radius=0.5, output="onehot")
    np.testing.assert_array_equal(scores.values, direct.values)


def test_a_function_by_name_with_workers(files):
    common = ["gamma", "--model", "mine:total", "--data", "points.npy", "--json"]
    ways = ([], ["--threads", "2"], ["--processes", "2"])
    alone, *shared = (json.loads(run_program(files, *common, *way).stdout) for way in ways)
    assert alone["mean"] > 0
    for other in shared:
        assert other == alone


def test_a_pickle_is_not_opened_without_trust(files):
    done = run(files, "gamma", "--model", "model.joblib", "--data", "points.npy", code=1)
    assert "--trust" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "model.onnx", "--data", "none.csv"], "no file"),
        (["--model", "points.csv", "--data", "points.npy"], "Accepted"),
        (["--model", "model.onnx", "--data", "points.npy", "--radius", "big"], "number"),
        (["--model", "model.onnx", "--data", "points.npy", "--bounds", "7"], "two numbers"),
        (["--model", "model.onnx", "--data", "points.npy", "--drop", "x"], "named columns"),
        (["--model", "model.onnx", "--data", "points.csv", "--drop", "x"], "no column x"),
        (["--model", "http://127.0.0.1:9/v2/models/m", "--data", "points.npy"], "127.0.0.1"),
    ],
)
def test_mistakes_end_in_one_line_and_code_1(files, arguments, words):
    done = run(files, "gamma", *arguments, code=1)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_what_is_missing_is_named_with_code_2(files):
    assert "MODEL" in run_program(files, "gamma", code=2).stderr
    assert "--data" in run_program(files, "gamma", "mine:total", code=2).stderr


def test_what_was_finished_is_kept_and_resumed(files, tmp_path):
    out = tmp_path / "scores.parquet"
    common = ["--data", "points.npy", "--batch-size", "200", "--out", str(out)]
    done = run_program(files, "gamma", "--model", "mine:fragile", *common, code=1)
    assert "the server is gone" in done.stderr
    kept = tmp_path / "scores.partial.parquet"
    assert not out.exists()
    assert str(kept) in done.stderr
    run_program(files, "gamma", "--model", "mine:total", *common, "--resume", str(kept))
    run_program(
        files, "gamma", "--model", "mine:total", *common[:-1], str(tmp_path / "whole.parquet")
    )
    whole = ah.Scores.load(tmp_path / "whole.parquet")
    np.testing.assert_array_equal(ah.Scores.load(out).values, whole.values)


def test_plan_and_collect(files, tmp_path):
    queries, answers = tmp_path / "q.parquet", tmp_path / "a.parquet"
    done = run(
        files, "gamma", "plan", "--data", "points.csv", "--drop", "target", "--out", str(queries)
    )
    assert "collect" in done.stderr
    asked = pd.read_parquet(queries)
    model = joblib.load(files / "model.joblib")
    outputs = model.predict_proba(asked.drop(columns="query"))
    pd.DataFrame(outputs, columns=["a", "b", "c"]).to_parquet(answers)
    collected = json.loads(
        run(files, "gamma", "collect", str(queries), str(answers), "--json").stdout
    )
    direct = json.loads(
        run(
            files,
            "gamma",
            "--model",
            "model.joblib",
            "--trust",
            "--data",
            "points.csv",
            "--drop",
            "target",
            "--ball",
            "auto pairs",
            "--json",
        ).stdout
    )
    assert collected["mean"] == direct["mean"]
    assert collected["error"] == direct["error"]


def test_compare_ranks_and_says_what_is_real(files):
    common = ["--data", "points.csv", "--drop", "target", "--trust"]
    models = ["boosted=model.joblib", "linear=model.onnx"]
    done = json.loads(run(files, "compare", *models, *common, "--json").stdout)
    assert done["ranking"] == ["linear", "boosted"]
    assert done["differences"][0]["real"]
    assert done["queries"] == sum(each["queries"] for each in done["models"].values())
    shown = run(files, "compare", *models, *common).stdout
    assert "boosted > linear by" in shown
    assert "±" in shown
    assert "a name" in run(files, "compare", "model.onnx", *common, code=1).stderr


def test_the_demo_tells_the_overfit_models_apart(files):
    page = files / "demo.html"
    done = run(files, "demo", "--json", "--out", str(page))
    rows = {row["model"]: row for row in json.loads(done.stdout)}
    assert "Accuracy against gamma" in page.read_text()
    assert rows["GBDT-2"]["gamma"] > 2 * rows["GBDT-1"]["gamma"]
    assert rows["MLP-2"]["gamma"] > 1.2 * rows["MLP-1"]["gamma"]
    for row in rows.values():
        assert row["gamma"] == pytest.approx(row["paper"], rel=0.35)


def test_a_warning_is_one_line_without_a_place_in_the_code(files, tmp_path):
    """One column wanders, so that nothing can be promised of the columns together."""
    random = np.random.default_rng(0)
    slow = pd.DataFrame(random.normal(size=(600, 4)), columns=list("abcd"))
    slow["a"] += np.cumsum(random.normal(size=600)) / 2
    slow.to_csv(tmp_path / "slow.csv", index=False)
    shutil.copy(files / "mine.py", tmp_path)
    done = run(
        *(tmp_path, "monitor", "replay", "mine:total"),
        *(
            "--data",
            "slow.csv",
            "--reference",
            "slow.csv",
            "--watch",
            "inputs",
            "--watch",
            "prediction",
        ),
    )
    assert "anharmonic: all columns together are not watched: " in done.stderr
    assert "Warning" not in done.stderr
    assert ".py" not in done.stderr


def test_an_extra_to_install_is_shown_whole(capsys):
    complain(ah.errors.MissingExtra("onnxruntime", "onnx"))
    assert "pip install 'anharmonic[onnx]'" in capsys.readouterr().err


def test_help_needs_no_framework():
    code = (
        "import sys, anharmonic.cli\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'xgboost', 'lightgbm', 'catboost', 'onnxruntime',"
        " 'httpx', 'pyarrow', 'plotly', 'kaleido', 'jinja2'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
