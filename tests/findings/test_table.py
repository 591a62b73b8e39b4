"""Every finding of the audits stands in README.md beside its tests, and those are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROW = re.compile(r"^\| ([a-z]+ [^|]+?) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
EXPECTED = {
    *(f"numbers A{number}" for number in range(1, 16)),
    *(f"security A{number}" for number in range(1, 16)),
    *(f"newcomer B{number}" for number in range(1, 21)),
    *(f"code 0.{number}" for number in range(1, 9)),
}


@cache
def marked():
    """Which tests name which findings, by reading the files."""
    found: dict[str, set[str]] = {}
    for path in sorted(HERE.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for each in node.decorator_list:
                    if isinstance(each, ast.Call) and ast.unparse(each.func).endswith(".finding"):
                        for name in each.args:
                            where = f"{path.relative_to(HERE)}::{node.name}"
                            found.setdefault(ast.literal_eval(name), set()).add(where)
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                for each in ast.walk(node.value):
                    if isinstance(each, ast.Call) and ast.unparse(each.func).endswith(".finding"):
                        for name in each.args:
                            where = f"{path.relative_to(HERE)}"
                            found.setdefault(ast.literal_eval(name), set()).add(where)
    return found


def files_of(finding):
    """Files whose tests name the finding, or a part of it ("numbers A15: floor")."""
    return {
        where.split("::")[0]
        for name, places in marked().items()
        for where in places
        if re.fullmatch(rf"{re.escape(finding)}(\b.*)?", name)
    }


def rows():
    return {found[0].strip(): found[2] for found in ROW.findall((HERE / "README.md").read_text())}


def test_every_finding_is_in_the_table():
    missing = {name for name in EXPECTED if name not in rows()}
    assert not missing


def test_every_row_names_the_files_that_hold_it():
    for finding, told in rows().items():
        listed = set(re.findall(r"`([^`]+\.py)`", told))
        assert listed == files_of(finding), finding
        assert all((HERE / file).is_file() for file in listed)


@pytest.mark.finding("code 0.8")
def test_only_one_place_makes_generators():
    """Code 0.8: a random stream that has no address of its own may be another's."""
    source = HERE.parents[1] / "src" / "anharmonic"
    makers = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("default_rng")
    }
    # Fingerprints are kept in files, so their constants stay; the demo makes up its own traffic,
    # and known answers are held at points of their own.
    assert makers <= {
        "_core/randomness.py",
        "measures/setup/fingerprints.py",
        "demos/stream.py",
        "cli/doctor/known_answers.py",
    }
