"""Code in README, docs and CONTRIBUTING runs, and the commands in them are commands."""

from __future__ import annotations

import itertools
import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import command_named

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LAST_OF_A_LINE = ("|", ";", "&&", "&", ">", "2>", "NAME", "COMMAND")
"""Where a command ends before its line does, or where the reader puts a name."""


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Python of a page, each with the reason why it is not run, empty where it is."""
    yield from re.findall(
        r"(?:<!-- not run: (.+?) -->\n)?```python\n(.*?)```", page.read_text(), flags=re.S
    )


def is_end(word: str) -> bool:
    """Whether a command ends before this word."""
    return word in LAST_OF_A_LINE or "…" in word


def commands(page: Path) -> Iterator[str]:
    """Lines that call `anharmonic`, the ones in running text included."""
    text = re.sub(r"\\\n\s*", " ", page.read_text())
    yield from re.findall(r"^(?: {4}|```\n)(anharmonic [^`\n]+)$", text, flags=re.M)
    yield from re.findall(r"`(anharmonic [^`\n]+)`", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for reason, block in blocks(page):
        code = compile(block, page.name, "exec")
        if not reason:
            with warnings.catch_warnings():
                if page.stem == "mlflow":
                    # It calls libraries in ways that these mean to give up.
                    warnings.simplefilter("ignore")
                exec(code, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_their_options_exist(page):
    for line in commands(page):
        words = shlex.split(line, comments=True)[1:]
        words = list(itertools.takewhile(lambda word: not is_end(word), words))
        if not words:
            continue
        command, left = command_named(words)
        assert command is not None, line
        known = {option for parameter in command.params for option in parameter.opts}
        known |= {option for parameter in command.params for option in parameter.secondary_opts}
        given = {word.partition("=")[0] for word in left if re.match(r"--[a-z]", word)}
        assert given <= known | {"--help", "--version"}, line


def test_pictures_and_links_are_there():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_number_that_is_explained_is_the_one_that_is_printed(capsys):
    text = (ROOT / "docs" / "reading.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    exec(compile(block, "reading.md", "exec"), {})
    assert f"    {capsys.readouterr().out.strip()}\n" in text
