"""Every example runs as it is, and is listed."""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path

import pytest

from tests.project.programs import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path.stem != "wine_picture"], ids=lambda path: path.stem
)
def test_an_example_runs(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    with warnings.catch_warnings(action="ignore"):
        runpy.run_path(str(path), run_name="__main__")
    assert len(capfd.readouterr().out.splitlines()) >= 3
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


def test_examples_are_listed_and_say_what_they_need() -> None:
    listed = (ROOT / "examples" / "README.md").read_text()
    assert len(EXAMPLES) >= 9
    for path in EXAMPLES:
        assert f"`{path.name}`" in listed
        assert f"python examples/{path.name}" in path.read_text()
        assert "pip install 'anharmonic[" in path.read_text()
        assert len(path.read_text().splitlines()) <= 125, path.name
