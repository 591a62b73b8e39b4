"""`anharmonic check` as CI runs it: exit codes, JUnit XML, JSON, and a baseline's settings."""

from __future__ import annotations

import json
import stat
from xml.etree import ElementTree

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import anharmonic as ah
from anharmonic.cli.junit import write_error
from tests.command import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A smooth model and a rough one, their data with a label, and the smooth one's scores."""
    path = tmp_path_factory.mktemp("check")
    data = load_iris(as_frame=True)
    table = data.data.assign(site=np.ones(150), target=data.target)
    table.to_csv(path / "points.csv", index=False)
    features = table.drop(columns="target")
    smooth = LogisticRegression(max_iter=500).fit(features, data.target)
    rough = HistGradientBoostingClassifier(max_iter=30).fit(features, data.target)
    joblib.dump(smooth, path / "smooth.joblib")
    joblib.dump(rough, path / "rough.joblib")
    (path / "mine.py").write_text(
        "def broken(x):\n    raise RuntimeError('out of \\x1b[31mmemory\\x1b[0m <&>')\n"
    )
    old = ah.gamma(smooth, features, radius=0.4, seed=5, ball="auto singles", output="logit")
    old.save(path / "logit.parquet")
    ah.gamma(smooth, features, radius=0.4, seed=5, rotations=6).save(path / "old.parquet")
    return path


def check(folder, model, *arguments, code=0):
    asked = ["--model", model, "--trust"] if model else []
    return run(folder, "check", *asked, *arguments, code=code)


DATA = ("--data", "points.csv", "--drop", "target")


def test_a_limit_passes_and_fails(folder):
    passed = check(folder, "smooth.joblib", *DATA, "--max-gamma", "0.05")
    assert passed.stdout.startswith("passed mean gamma at most 0.05: mean gamma 0.0")
    assert "surely below 0.05" in passed.stdout
    assert "queries" in passed.stdout
    failed = check(folder, "rough.joblib", *DATA, "--max-gamma", "0.001", code=100)
    assert "failed mean gamma at most 0.001" in failed.stdout
    assert "surely above" in failed.stdout


def test_the_model_may_stand_without_its_option(folder):
    run(folder, "check", "smooth.joblib", "--trust", *DATA, "--max-gamma", "0.05")


def test_a_baseline_lends_its_settings(folder, tmp_path):
    out = tmp_path / "new.parquet"
    done = check(
        folder,
        "smooth.joblib",
        *("--data", "points.csv", "--baseline", "old.parquet", "--out", str(out), "--json"),
    )
    old, new = ah.Scores.load(folder / "old.parquet"), ah.Scores.load(out)
    np.testing.assert_array_equal(new.values, old.values)
    names = ("radius", "scale", "ball", "seed", "columns", "rotations", "fingerprint")
    assert new.settings.differing(old.settings, names) == []
    found = json.loads(done.stdout)
    assert found["passed"] is True
    assert found["verdicts"][0]["estimate"] == 0.0
    assert "paired" in found["verdicts"][0]["statistic"]
    worse = ["--data", "points.csv", "--baseline", "old.parquet"]
    assert "paired" in check(folder, "rough.joblib", *worse, code=100).stdout
    assert "surely below the baseline" not in check(folder, "smooth.joblib", *worse).stdout


def test_a_baseline_lends_its_output(folder, tmp_path):
    out = tmp_path / "new.parquet"
    arguments = ["--data", "points.csv", "--baseline", "logit.parquet", "--out", str(out)]
    check(folder, "smooth.joblib", *arguments)
    assert ah.Scores.load(out).settings.kind == "logit"


def test_saved_scores_need_no_model(folder, tmp_path):
    rough = joblib.load(folder / "rough.joblib")
    table = pd.read_csv(folder / "points.csv").drop(columns="target")
    old = ah.Scores.load(folder / "old.parquet")
    ah.measured_like(old, rough, table).save(tmp_path / "new.parquet")
    saved = ["--scores", str(tmp_path / "new.parquet")]
    found = check(
        folder, None, *saved, "--baseline", "old.parquet", "--max-gamma", "9", "--json", code=100
    )
    verdicts = json.loads(found.stdout)["verdicts"]
    assert [each["passed"] for each in verdicts] == [True, False]
    check(folder, None, *saved, "--baseline", "old.parquet", "--margin", "1")


def test_junit_has_a_case_a_criterion(folder, tmp_path):
    report = tmp_path / "reports" / "out.xml"
    arguments = ["--max-gamma", "0.9", "--baseline", "old.parquet", "--junit", str(report)]
    check(folder, "rough.joblib", "--data", "points.csv", *arguments, code=100)
    root = valid_junit(report)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "0")
    passed, failed = root.findall("testsuite/testcase")
    assert passed.get("name") == "mean gamma at most 0.9"
    assert passed.find("failure") is None
    message = failed.find("failure").get("message")
    assert "surely above the baseline" in message
    for suite in root:
        values = {each.get("name"): each.get("value") for each in suite.find("properties")}
        assert float(values["estimate"]) > 0
        assert float(values["error"]) > 0
        assert int(values["queries"]) > 150
    assert stat.S_IMODE(report.stat().st_mode) & 0o044  # whoever collects artifacts can read it


@pytest.mark.parametrize(
    ("model", "arguments", "words"),
    [
        ("smooth.joblib", [*DATA], "--max-gamma"),
        ("smooth.joblib", ["--max-gamma", "1"], "--data"),
        (None, [*DATA, "--max-gamma", "1"], "one model"),
        ("smooth.joblib", [*DATA, "--max-gamma", "1", "--scores", "old.parquet"], "not both"),
        ("smooth.joblib", [*DATA, "--baseline", "none.parquet"], "there is no file none.parquet"),
        ("smooth.joblib", [*DATA, "--max-gamma", "-1"], "finite"),
        ("mine:broken", [*DATA, "--max-gamma", "1"], "memory"),
        ("smooth.joblib", [*DATA, "--baseline", "old.parquet", "--radius", "1"], "another radius"),
    ],
)
def test_an_error_of_the_tool_is_code_1_and_an_error_element(
    folder, tmp_path, model, arguments, words
):
    report = tmp_path / "out.xml"
    done = check(folder, model, *arguments, "--junit", str(report), code=1)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    root = valid_junit(report)
    assert root.get("errors") == "1"
    assert words in root.find("testsuite/testcase/error").get("message")


def test_any_message_makes_valid_xml(tmp_path):
    every = "".join(map(chr, range(1, 0x300))) + "\ud800 ]]> \ufffe 😀"
    write_error(tmp_path / "out.xml", RuntimeError(every), 0.1)
    assert "😀" in valid_junit(tmp_path / "out.xml").find("testsuite/testcase/error").text


def valid_junit(path):
    """The structure every dialect shares: elements, their order, required attributes, counts."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites"
    allowed = {"testsuite": ["properties", "testcase", "system-out", "system-err"]}
    for suite in root:
        assert suite.tag == "testsuite"
        for name in ("name", "tests", "failures", "errors", "skipped", "time", "timestamp"):
            assert suite.get(name) is not None
        assert float(suite.get("time")) >= 0
        assert len(suite.get("timestamp")) == len("2026-01-01T00:00:00")
        places = [allowed["testsuite"].index(child.tag) for child in suite]
        assert places == sorted(places)
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases)
        for kind in ("failure", "error"):
            assert int(suite.get(f"{kind}s")) == len(suite.findall(f"testcase/{kind}"))
        for case in cases:
            assert case.get("name")
            assert case.get("classname")
            assert float(case.get("time")) >= 0
            assert {child.tag for child in case} <= {"failure", "error", "system-out"}
            for child in case:
                assert child.tag == "system-out" or (child.get("message") and child.get("type"))
    for kind in ("tests", "failures", "errors"):
        assert int(root.get(kind)) == sum(int(suite.get(kind)) for suite in root)
    return root
