"""Extras that messages name are there to be installed."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import anharmonic as ah
from anharmonic._core.extras import LIBRARIES

HOME = Path(ah.__file__).parent
PROJECT = HOME.parents[1] / "pyproject.toml"
EXTRAS = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
NAMED = re.compile(r"anharmonic\[([a-z0-9_,]+)\]")


def named_in(file):
    """Extras that a file's errors and texts name."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in NAMED.findall(node.value):
                yield from found.split(",")
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        naming = called and node.func.id in ("MissingExtra", "needs")
        if naming and isinstance(node.args[1], ast.Constant):
            yield node.args[1].value
        if called and node.func.id == "filled":
            yield from (each.value.value for each in node.keywords if each.arg == "extra")


@pytest.mark.finding("code 0.4")
def test_every_extra_a_message_names_exists():
    named = {name: file.name for file in HOME.rglob("*.py") for name in named_in(file)}
    assert len(named) > 12
    assert {name: file for name, file in named.items() if name not in EXTRAS} == {}


@pytest.mark.finding("code 0.4")
def test_an_extra_brings_what_is_required_of_it():
    for extra, libraries in LIBRARIES.items():
        assert set(libraries) <= brought(extra)


def brought(extra):
    """The libraries an extra installs, those of the extras it names included."""
    found = set()
    for line in EXTRAS[extra]:
        inner = NAMED.match(line)
        if inner:
            for each in inner.group(1).split(","):
                found |= brought(each)
        else:
            found.add(re.split(r"[^\w-]", line)[0])
    return found


NOT_FOR_USERS = {"test", "docs", "release", "studies"}


@pytest.mark.finding("newcomer 1: anharmonic[all]")
def test_all_is_all():
    named = {name for line in EXTRAS["all"] for name in NAMED.match(line).group(1).split(",")}
    assert NOT_FOR_USERS & named == set()
    assert brought("all") >= set().union(
        *(brought(extra) for extra in EXTRAS if extra not in (*NOT_FOR_USERS, "all"))
    )
