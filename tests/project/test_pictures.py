"""Pictures in the docs show what users get: the same words as when they were taken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.project.pictures import FOLDER, PICTURES, kept_words, take, without_numbers

AGAIN = "The page has changed: look at it, then `make pictures`."


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_what_a_page_says(chromium: Any, tmp_path: Path, name: str) -> None:
    _, _, words = take(chromium, PICTURES[name], tmp_path)
    kept = kept_words(name)
    assert len(kept) > 500
    assert words[: len(kept)] == kept, AGAIN


def test_every_picture_of_a_page_is_taken_by_this() -> None:
    drawn = {"wine", "spade-growth"}  # by examples/wine_picture.py and benchmarks.spade_growth
    assert {path.stem for path in FOLDER.iterdir()} == drawn | set(PICTURES)
    shown = "".join(path.read_text() for path in FOLDER.parent.glob("*.md"))
    shown += (FOLDER.parents[1] / "README.md").read_text()
    assert set(re.findall(r"pictures/([a-z-]+)\.\w+\)", shown)) == drawn | set(PICTURES)


def test_numbers_do_not_count() -> None:
    assert without_numbers("0.0258 ± 0.0024  of 1,024 rows, 2026-11-18.") == "# ± # of # rows, #."
