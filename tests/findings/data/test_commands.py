"""Commands that pages show can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.commands import command_named

PAGES = sorted((Path(__file__).parents[3] / "docs" / "reproduce").glob("*.md"))


@pytest.mark.finding("coverage slips: electricity")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_pages_own_command_lacks_nothing(page: Path) -> None:
    for command in re.findall(r"Written by `anharmonic (.*?)`", page.read_text(encoding="utf-8")):
        found, words = command_named(shlex.split(command))
        required = [each for each in found.params if each.required]
        missing = [each.name for each in required if not set(each.opts) & set(words)]
        assert missing == []
