"""Claim by claim: no row is silent, and no figure stands there that its page does not have."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from studies.claims.checking import missing_numbers, problems, unknown_command
from studies.claims.page import ROOT, claims_page, read_pages
from studies.claims.rows import PAPERS, read_claims, written

CLAIMS = read_claims()
PAGES = read_pages()
MADE = written(PAGES)


def text_of(claim):
    """What a row's page and its second page say, or a test's source."""
    named = [page for page in (claim.page, claim.also) if page]
    return " ".join(
        PAGES[page] if page in PAGES else (ROOT / page).read_text(encoding="utf-8")
        for page in named
    )


def test_all_188_rows_are_there_once():
    counts = {paper: sum(claim.paper == paper for claim in CLAIMS) for paper in PAPERS}
    assert counts == {"main": 87, "supplement": 20, "language": 33, "spade": 48}
    letters = dict(zip(PAPERS, "MSLP", strict=True))
    expected = [
        f"{letters[paper]}{number:02}" for paper in PAPERS for number in range(1, counts[paper] + 1)
    ]
    assert [claim.id for claim in CLAIMS] == expected


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_row_says_what_its_page_says(claim):
    assert problems(claim, text_of(claim), claim.page in MADE) == []


PACKAGES = {"anharmonic", "ah", "performance", "training", "llm", "regions", "spectral", "Scores"}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_what_a_row_names_occurs_in_the_test_that_shows_it(claim):
    if not claim.page.startswith("tests/"):
        return
    source = text_of(claim)
    named = {
        name
        for code in re.findall(r"`([^`]+)`", claim.found)
        for name in re.findall(r"[A-Za-z_]\w+", code)
    }
    assert {name for name in named - PACKAGES if name not in source} == set()


def test_every_command_can_be_run():
    commands = {claim.command for claim in CLAIMS if claim.command}
    commands |= {MADE[claim.page].command for claim in CLAIMS if claim.page in MADE}
    commands |= {f"pytest {claim.page}" for claim in CLAIMS if claim.page.startswith("tests/")}
    assert len(commands) > 30
    wrong = {command: unknown_command(command, ROOT) for command in commands}
    assert {command: why for command, why in wrong.items() if why} == {}


def test_the_page_is_what_the_rows_say():
    kept = (ROOT / "docs" / "reproduce" / "claims.md").read_text(encoding="utf-8")
    assert kept == claims_page(CLAIMS, PAGES)


def test_wrong_rows_are_found():
    row = next(claim for claim in CLAIMS if claim.id == "M30")
    text = text_of(row)
    assert missing_numbers(row, text) == []
    invented = replace(row, found="The nearest has 1.0486 ± 0.0025 times as much.")
    assert missing_numbers(invented, text) == ["1.0486", "1.0486 ± 0.0025"]
    swapped = replace(row, found="The nearest has 1.0485 ± 0.045 times as much.")
    assert missing_numbers(swapped, text) == ["1.0485 ± 0.045"]
    assert "it is silent" in problems(replace(row, found=""), text, made=True)
    bare = replace(row, found="The nearest has 1.0485 times as much.")
    assert problems(bare, text, made=True) == ["a figure without an interval, and no word why"]
    unmeasured = replace(row, verdict="left out", needs="")
    assert "it does not say what it would need" in problems(unmeasured, text, made=True)
    assert unknown_command("python -m studies.nothing_of_that_name", ROOT)
    assert unknown_command("anharmonic reproduce soap", ROOT)
    assert unknown_command("pytest tests/test_soap.py", ROOT)
