"""Tests where some extras are not installed: `python -m pytest -p tests.partial tests`.

A file that imports a library which is not here is left out and counted. A test that stops because
a library is missing is skipped; anything else that goes wrong fails as ever.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT: dict[str, set[str]] = {}


@cache
def absent(module: str) -> bool:
    """Whether a top-level module is not installed."""
    return find_spec(module) is None


@cache
def needed(path: Path) -> frozenset[str]:
    """Modules that a file imports, and those that helpers in `tests` import for it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    helpers = [ROOT / f"{name.replace('.', '/')}.py" for name in names if name.startswith("tests.")]
    inner = [needed(helper) for helper in helpers if helper.is_file() and helper != path]
    return frozenset({name.partition(".")[0] for name in names}).union(*inner)


def missing(path: Path) -> set[str]:
    """What a file needs and is not installed."""
    return {name for name in needed(path) - {"tests", "studies", "benchmarks"} if absent(name)}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        lacking = missing(collection_path)
        if lacking:
            LEFT_OUT[collection_path.relative_to(ROOT).as_posix()] = lacking
            return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    report = yield
    problem = call.excinfo.value if call.excinfo else None
    if isinstance(problem, ImportError) and _of_an_extra(problem):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"without an extra: {problem}")
    return report


def _of_an_extra(problem: ImportError) -> bool:
    from anharmonic.errors import MissingExtra

    name = (problem.name or "").partition(".")[0]
    return isinstance(problem, MissingExtra) or (bool(name) and absent(name))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    libraries = sorted({name for lacking in LEFT_OUT.values() for name in lacking})
    told = (
        f"{len(LEFT_OUT)} files left out, which import {', '.join(libraries) or 'nothing absent'}"
    )
    terminalreporter.write_line(told)
