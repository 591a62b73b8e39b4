"""`anharmonic monitor replay` on files, and the page it writes."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app

MODULE = """
import numpy as np

def bent(x):
    x = np.asarray(x)
    return np.sin(3 * x[:, 0]) * (x[:, 0] > 0)
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "watched_model.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    random = np.random.default_rng(0)
    points = random.normal(size=(2600, 2)) + np.array([-1, 0])
    points[2000:, 0] += 1.5
    table = pd.DataFrame(points, columns=["a", "b<i>"])
    table["label"] = 0
    table["when"] = np.arange(len(table))
    table[:1000].drop(columns="when").to_csv("reference.csv", index=False)
    table[1000:].to_parquet("stream.parquet")
    return tmp_path


def run(*words):
    given = ("--reference", "reference.csv", "--drop", "label", "--time", "when")
    line = ["monitor", "replay", "stream.parquet", "--model", "watched_model:bent", *given, *words]
    return CliRunner().invoke(app, line)


def test_json_says_what_when_and_which(files):
    found = run("--json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    first = told["alarms"][0]
    assert (first["watched"], first["direction"]) == ("gamma", "up")
    assert 1000 <= first["at"] < 1200
    assert first["time"] == str(1000 + first["at"])
    assert first["culprits"]
    assert told["blocks"] == {"gamma": 1}
    assert next(iter(first["features"])) == "a"


def test_people_get_a_table_and_a_page(files):
    found = run("--out", "replay.html", "--watch", "gamma", "--no-restart")
    assert found.exit_code == 0, found.output
    assert "gamma up" in found.output
    assert "features that bend more: a" in found.output
    page = (files / "replay.html").read_text()
    assert "What would have been raised" in page
    assert "b<i>" not in page.split('id="figures"')[0]


def test_wrong_words_are_told(files):
    assert "no column never" in str(run("--time", "never").exception)
    assert "score=" in str(run("--score", "some").exception)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_the_page_draws_in_a_browser(files):
    from playwright.sync_api import sync_playwright

    random = np.random.default_rng(1)
    reference = random.normal(size=(800, 2)) - 1
    watch = ah.Monitor(lambda x: np.sin(3 * x[:, 0]) * (x[:, 0] > 0), reference, radius=0.3)
    stream = np.concatenate([reference[:300], random.normal(size=(300, 2)) + 1])
    path = ah.report.write_replay("page.html", ah.monitor.replay(watch, stream), title="A <b>")
    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 420, "height": 900})
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-drawn=all]", timeout=30_000)
        assert page.locator(".panel .main-svg").count() >= 2
        assert page.locator("h1").inner_text() == "A <b>"
        wide = page.evaluate("document.documentElement.scrollWidth")
        page.screenshot(path="phone.png", full_page=True)
        browser.close()
    assert wide <= 420
    assert problems == []
