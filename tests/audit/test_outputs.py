"""What an audit becomes: a page, SARIF, JUnit, a card, MLflow, a command with exit codes."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import anharmonic as ah
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.cli.junit import write_audit as write_junit
from anharmonic.plots.inline import draw
from anharmonic.report.audit import audit_page
from anharmonic.report.audit_sarif import sarif_of
from tests.audit.cases import numbers
from tests.command import run
from tests.stores import mlflow_store

EVIL = "<img src=x onerror=alert(1)></script>{{ 7*7 }}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with clean and with drifted rows, in files."""
    path = tmp_path_factory.mktemp("audit")
    rows = pd.DataFrame(numbers(500), columns=["age", EVIL, "rate"])
    rows["label"] = np.where(rows["age"] + 0.3 * numbers(500, 1, seed=2)[:, 0] > 0, "yes", "no")
    model = LogisticRegression().fit(rows[:300][["age", EVIL, "rate"]], rows["label"][:300])
    joblib.dump(model, path / "model.joblib")
    rows[:300].to_csv(path / "train.csv", index=False)
    rows[300:].to_csv(path / "new.csv", index=False)
    drifted = rows[300:].drop(columns="label")
    drifted.assign(**{EVIL: drifted[EVIL] + 2}).to_csv(path / "drifted.csv", index=False)
    return path


@pytest.fixture(scope="module")
def drifted(folder):
    train = pd.read_csv(folder / "train.csv").drop(columns="label")
    return ah.audit(
        joblib.load(folder / "model.joblib"),
        pd.read_csv(folder / "drifted.csv"),
        reference=train,
        budget=1_500,
    )


COMMON = ("audit", "model.joblib", "--trust", "--reference", "train.csv", "--budget", "1500")


def test_exit_codes_say_what_was_found(folder):
    found = run(folder, *COMMON, "--data", "drifted.csv", "--drop", "label", code=100)
    assert "Drifted column" in found.stdout
    assert "queries at" in found.stderr
    never = (*COMMON, "--data", "drifted.csv", "--drop", "label", "--fail-on", "never")
    run(folder, *never, code=0)
    clean = run(folder, *COMMON, "--data", "new.csv", "--drop", "label", code=0)
    assert "Nothing wrong was found" in clean.stdout
    assert "Drift of inputs and answers:" in clean.stdout
    wrong = run(folder, *COMMON, "--data", "new.csv", "--labels", "colour", code=1)
    assert "mend --labels" in wrong.stderr
    assert run(folder, "audit", "model.joblib", "--trust", code=2).returncode == 2


def test_a_folder_of_files_is_drawn_from(folder, tmp_path):
    rows = pd.read_csv(folder / "new.csv")
    (tmp_path / "new").mkdir()
    for part in (0, 1):
        rows[part::2].to_parquet(tmp_path / "new" / f"{part}.parquet", index=False)
    done = run(folder, *COMMON, "--data", tmp_path / "new", "--labels", "label", "--json")
    told = json.loads(done.stdout)["settings"]
    assert (told["new rows in all"], told["labels"], told["new labels"]) == (200, True, True)
    wrong = run(folder, *COMMON, "--data", tmp_path / "new", "--labels", "colour", code=1)
    assert "neither file has a column colour" in wrong.stderr


def test_the_command_writes_all_files(folder):
    outs = ("--out", "audit.html", "--sarif", "a.sarif", "--junit", "a.xml", "--json")
    done = run(folder, *COMMON, "--data", "new.csv", "--labels", "label", *outs)
    told = json.loads(done.stdout)
    assert told["clean"]
    assert told["settings"]["new labels"]
    page = (folder / "audit.html").read_text()
    assert "Nothing wrong was found" in page
    assert len(page) < 3_000_000
    assert json.loads((folder / "a.sarif").read_text())["version"] == "2.1.0"
    assert ElementTree.parse(folder / "a.xml").getroot().get("failures") == "0"
    run(folder, *COMMON, "--data", "new.csv", "--labels", "label", "--out", "audit.json")
    assert ah.Audit.load(folder / "audit.json").clean


def test_a_name_cannot_break_the_page(drifted):
    page = audit_page(drifted, title=EVIL, command=EVIL)
    assert "<img src=x" not in page
    assert "<script" not in page
    assert "{{ 7*7 }}" in page.replace("&#39;", "'")
    # Nothing is fetched: no address but those of namespaces.
    assert not re.search(r"(src|href)=", page.replace("&lt;img src=x", ""))
    assert "default-src 'none'" in page.replace("&#39;", "'")


def test_only_facts_are_called_facts():
    def ask(points):
        return np.where(np.abs(points[:, 0]) > 2, np.nan, points[:, 0] / 2)

    rows = numbers(2000)
    audit = ah.audit(ask, rows[1000:] * [1, 1, 0] + 9 * np.eye(3)[2], reference=rows[:1000])
    # So far apart that the chance is 0 in double precision, and a test all the same.
    assert {finding.chance for finding in audit.findings if finding.check == "drift"} >= {0.0}
    facts = sum(finding.check == "failures" for finding in audit.findings)
    assert audit_page(audit).count("a fact about the rows") == facts > 0


def test_sarif_has_what_the_standard_asks_for(drifted):
    log = sarif_of(drifted, data="drifted.csv", reference="train.csv")
    (only,) = log["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(
        {r["id"] for r in rules}, key=[r["id"] for r in rules].index
    )
    assert len(only["results"]) == len(drifted.findings) > 0
    for result, finding in zip(only["results"], drifted.findings, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == {"high": "error", "medium": "warning"}[finding.severity]
        assert finding.what in result["message"]["text"]
        where = result["locations"][0]["physicalLocation"]
        assert where["artifactLocation"]["uri"] in ("drifted.csv", "train.csv")
        assert re.fullmatch("[0-9a-f]{32}", result["partialFingerprints"]["finding/v1"])
    json.dumps(log, allow_nan=False)


def test_junit_fails_where_a_finding_is_bad_enough(drifted, tmp_path):
    for limit, failures in (("high", True), (None, False)):
        write_junit(tmp_path / "a.xml", drifted, limit)
        root = ElementTree.parse(tmp_path / "a.xml").getroot()
        assert (int(root.get("failures")) > 0) is failures
        assert int(root.get("tests")) == len(drifted.checks)


def test_a_card_has_one_section_however_often_it_is_written(drifted, tmp_path):
    card = tmp_path / "README.md"
    card.write_text("---\nlicense: mit\n---\n# Mine\n\nText.\n")
    first = ah.card.add_audit_to_card(card, drifted)
    assert ah.card.add_audit_to_card(card, drifted) == first
    assert first.startswith("---\nlicense: mit\n---\n# Mine\n\nText.\n")
    assert first.count("## Audit") == 1
    assert "Drifted column" in first
    assert "<img" not in first


def test_it_is_logged_to_mlflow(drifted, tmp_path):
    with mlflow_store(tmp_path) as mlflow:
        page = ah.report.write_audit(tmp_path / "audit.html", drifted)
        name = ah.tracking.log_audit(drifted, page=page)
        data = mlflow.get_run(name).data
        assert data.metrics["audit/findings"] == len(drifted.findings)
        files = {entry.path for entry in mlflow.MlflowClient().list_artifacts(name, "audit")}
        assert files == {"audit/audit.json", "audit/audit.html"}
        mlflow.end_run()


def test_pictures_are_drawn_to_scale():
    picture = Picture(
        "dots",
        "Shares",
        unit="share",
        bars=(Bar("all", 0.5, 0.4, 0.6, "subject"), Bar("none", 0.0), Bar("far", 0.2, 0.1, np.inf)),
    )
    drawn = draw(picture)
    # The largest end is 0.6 of 1.05 times that.
    assert f'x1="{100 * 0.5 / 0.63:.2f}"' in drawn
    assert "50.0%" in drawn
    assert "inf" not in drawn
    assert "nan" not in drawn
    for kind in ("histograms", "levels"):
        sides = (("old", (0.5, 0.5)), ("new", (0.1, 0.9)))
        drawn = draw(Picture(kind, "Shares", bins=("a & b", "c"), sides=sides))
        assert drawn.count("<rect") == 4
        assert "a &amp; b" in drawn


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_in_a_browser(drifted, tmp_path, chromium, width, scheme):
    path = ah.report.write_audit(tmp_path / "audit.html", drifted)
    size = {"width": width, "height": 844}
    page = chromium.new_context(viewport=size, color_scheme=scheme).new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    assert asked == [path.as_uri()]
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".finding").count() == len(drifted.findings)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) < 200
    assert dark is (scheme == "dark")


def test_rows_are_called_what_the_user_calls_them(tmp_path):
    rows = pd.DataFrame(numbers(300), columns=["a", "b", "c"])
    new = pd.DataFrame(numbers(200, seed=1), columns=["a", "b", "c"])
    new.index = [f"loan <{row}>" for row in range(200)]
    new.iloc[7:40, 0] = 9.0
    audit = ah.audit(lambda frame: frame["b"].to_numpy(), new, reference=rows, budget=1_000)
    found = next(finding for finding in audit.findings if finding.check == "range")
    assert found.rows[:2] == (7, 8)
    assert found.row_names[:2] == ("loan <7>", "loan <8>")
    assert "Rows to look at first among the new ones: loan <7>, loan <8>," in found.listed
    assert found.listed in str(found)
    assert "loan &lt;7&gt;" in audit_page(audit)
    assert "loan &lt;7&gt;" in audit._repr_html_()
    assert ah.Audit.load(audit.save(tmp_path / "audit.json")).findings == audit.findings
    (result,) = [r for r in sarif_of(audit)["runs"][0]["results"] if "range" in r["ruleId"]]
    assert result["properties"]["rowNames"][0] == "loan <7>"


@pytest.mark.parametrize(
    ("data", "uri", "line"),
    [
        ("my data/new.csv", "my%20data/new.csv", 9),
        ("s3://shop/new rows.csv", "s3://shop/new%20rows.csv", 9),
        ("parts/*.csv", "parts/%2A.csv", None),
        ("rows.parquet", "rows.parquet", None),
    ],
)
def test_sarif_points_to_addresses_that_are_valid(data, uri, line):
    new = numbers(200, seed=1)
    new[7:40, 0] = 9.0
    audit = ah.audit(lambda x: x[:, 1], new, reference=numbers(300), budget=1_000)
    results = sarif_of(audit, data=data, reference="train.csv")["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    (place,) = [each for each in places if "region" in each or line is None][:1]
    assert place["artifactLocation"]["uri"] == uri
    assert place.get("region", {}).get("startLine") == line
