"""Pages: cells, Markdown, pictures, and the command that writes them."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from anharmonic._core.estimate import Estimate
from anharmonic.cli import app
from studies.command import STUDIES
from studies.page import Page, Row, Section
from studies.pictures import Curve, Panel, Picture, curves, maps

DOCS = Path(__file__).parents[2] / "docs" / "reproduce"
PROGRAM = Path(sys.executable).with_name("anharmonic")


def cell(row, heading):
    headings, cells = Section("s", "t", (row,)).table()
    return cells[0][headings.index(heading)]


def test_exact_answers_are_called_exact():
    row = Row("a", Estimate(1 + 2e-16, 1e-17), truth=1.0)
    assert row.exact
    assert cell(row, "measured") == "1, exactly"
    assert cell(row, "off by") == "+2e-16"


def test_what_is_certain_and_wrong_is_not():
    row = Row("a", Estimate(1.0, 0.0), truth=0.0)
    assert not row.exact
    assert cell(row, "measured") == "1"
    assert cell(row, "off by") == "+1"


def test_what_is_measured_has_its_error_and_its_distance():
    row = Row("a", Estimate(0.52, 0.01), truth=0.5)
    assert cell(row, "measured") == "0.520 ± 0.010"
    assert cell(row, "off by") == "+2.0 errors"


def test_an_agreement_by_chance_is_not_exact():
    assert cell(Row("a", Estimate(0.5, 0.1), truth=0.5), "measured") == "0.50 ± 0.10"


def test_empty_columns_are_left_out():
    headings, _ = Section("s", "t", (Row("a", Estimate(1, 0.1)),)).table()
    assert headings == ["case", "measured"]


@pytest.fixture
def page():
    grid = [[Panel("one", np.eye(3), [(0, 1), (0, 1)], "values")]]
    pictures = (
        Picture("line", "A line.", curves([Curve("a", [1, 2], [1, 4], [0.1, 0.1])], "x", "y", "x")),
        Picture("map", "A map.", maps(grid)),
    )
    rows = (Row("a | b", Estimate(0.5, 0.1), "½", 0.5, 10), Row("c", Estimate(1, math.nan)))
    section = Section("Things", "Some\n   words.", rows, pictures)
    return Page("study", "A study", "It\n is so.", (section,), ("It is.",), 3)


def test_markdown_holds_seed_command_and_paper_beside_measured(page):
    text = page.markdown()
    assert "anharmonic reproduce study --seed 3 --out docs/reproduce" in text
    assert r"| a \| b | ½ | 0.5 | 0.50 ± 0.10 | +0.0 errors | 10 |" in text
    assert "Some words." in text
    assert "10 model queries" in text


def test_a_page_is_written_with_its_pictures_and_again_the_same(page, tmp_path):
    path, again = page.write(tmp_path / "deep" / "one"), page.write(tmp_path / "two")
    assert path.read_text() == page.markdown()
    targets = re.findall(r"\]\((pictures/[^)]+)\)", path.read_text())
    assert len(targets) == 2
    for target in targets:
        drawn = (path.parent / target).read_text()
        assert drawn.startswith("<svg")
        assert len(drawn) < 150_000
        assert drawn == (again.parent / target).read_text()


def test_no_line_begins_like_a_list():
    for mark in ("0.", "3)", "+", "-", "*", "#", ">"):
        claim = " ".join(f"It rose. {mark} 3 more. Word." for _ in range(20))
        text = Page("n", "t", claim, (), (), 0).markdown().split("**The paper says.**")[1]
        assert len(text.splitlines()) > 10
        assert not [line for line in text.splitlines() if line.lstrip().startswith(f"{mark} ")]


def test_json_has_no_nan(page):
    plain = json.loads(json.dumps(page.plain(), allow_nan=False))
    assert plain["sections"][0]["rows"][1]["error"] is None
    assert plain["paper_says"] == "It is so."


def test_the_command_prints_json_and_writes_a_page(tmp_path):
    done = subprocess.run(
        [PROGRAM, "reproduce", "functions", "--json", "--seed", "1", "--out", tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["seed"] == 1
    cases = {row["case"]: row for each in found["sections"] for row in each["rows"]}
    assert cases["f₂, simplex, 100 terms"]["measured"] == pytest.approx(1)
    assert str(tmp_path / "functions.md") in done.stderr.replace("\n", "")
    assert f"{found['queries']:,} model queries" in (tmp_path / "functions.md").read_text()


def test_the_command_shows_tables_and_a_verdict():
    done = CliRunner().invoke(app, ["reproduce", "functions"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    for words in ("The paper says", "exactly", "errors", "Corrected", "queries, seed 0"):
        assert words in done.output


def test_every_study_has_its_page_in_the_documentation():
    index = (DOCS / "index.md").read_text()
    nav = (DOCS.parents[1] / "mkdocs.yml").read_text()
    for name in STUDIES:
        text = (DOCS / f"{name}.md").read_text()
        assert f"anharmonic reproduce {name} --seed" in text
        assert f"({name}.md)" in index
        assert f"reproduce/{name}.md" in nav
        for target in re.findall(r"\]\((pictures/[^)]+)\)", text):
            assert (DOCS / target).stat().st_size < 150_000


def test_a_page_has_a_sentence_per_line_and_abbreviations_end_none():
    words = "See Fig. 3 and eq. 4 (Cheng et al. 2021). “So it is.” 20 more.\n It rose."
    section = Section("s", words)
    text = Page("p", "P", "A. B?", (section,), ("It is so. Or not.",), 0).markdown()
    lines = ["See Fig. 3 and eq. 4 (Cheng et al. 2021).", "“So it is.”", "20 more.", "It rose."]
    assert "\n".join(lines) in text
    assert "- It is so.\n  Or not." in text
