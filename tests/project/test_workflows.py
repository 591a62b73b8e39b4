"""Workflows, templates and habits: they parse, and name only what is there."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project.programs import ROOT

FORGE = ROOT / ".github"
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
PAGES = ("CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "README.md", "CHANGELOG.md")


def targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M))


def jobs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from yaml.safe_load(path.read_text())["jobs"].items()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_targets_that_exist(path: Path) -> None:
    called = set()
    for _, job in jobs(path):
        for step in job["steps"]:
            named = re.findall(r"\bmake ([\w-]+)", step.get("run", ""))
            matrix = job.get("strategy", {}).get("matrix", {})
            called |= {*named, *(matrix.get("target", []) if "matrix.target" in str(step) else [])}
    assert called
    assert called <= targets(), called - targets()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_only_read_and_end(path: Path) -> None:
    told = yaml.safe_load(path.read_text())
    assert told["permissions"] == {"contents": "read"}
    for name, job in jobs(path):
        assert job["timeout-minutes"] <= 180, name
        for step in job["steps"]:
            assert "uses" in step or "run" in step
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_second_index_adds_versions_and_hides_none(path: Path) -> None:
    variables = yaml.safe_load(path.read_text())["env"]
    if "UV_EXTRA_INDEX_URL" in variables:
        assert variables["UV_INDEX_STRATEGY"] == "unsafe-best-match"


def test_the_pythons_that_are_promised_are_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = {
        line.rpartition(" ")[2]
        for line in project["classifiers"]
        if re.search(r"Python :: 3\.\d+$", line)
    }
    (tried,) = (dict(jobs(path)) for path in WORKFLOWS if path.name == "ci.yml")
    matrix = tried["pythons"]["strategy"]["matrix"]
    assert set(matrix["python"]) == promised
    extras = project["optional-dependencies"]
    for names in matrix["extras"]:
        assert set(names.split(",")) <= {*extras, ""}


def test_every_extra_for_users_has_a_feature_that_is_tried_alone() -> None:
    folder = ROOT / ".ci" / "extras"
    trying = ast.parse((folder / "alone.py").read_text())
    (others,) = (
        ast.literal_eval(node.value)
        for node in trying.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NOT_FOR_USERS"
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {*project["optional-dependencies"]} - {*others, "all"}
    features = ast.parse((folder / "features.py").read_text())
    tried = {node.name for node in features.body if isinstance(node, ast.FunctionDef)}
    assert extras <= tried, f"no feature in .ci/extras/features.py: {sorted(extras - tried)}"


def test_templates_are_forms_with_questions() -> None:
    forms = [path for path in (FORGE / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert len(forms) >= 2
    for path in forms:
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= set(form)
        assert all({"id", "type", "attributes"} <= set(part) for part in form["body"])
    assert "make test" in (FORGE / "pull_request_template.md").read_text()


def test_hooks_run_the_tools_of_make_lint() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    for hook in local["hooks"]:
        tool = hook["entry"].split()[0].rpartition("/")[2]
        assert tool in lint or "pytest" in hook["entry"], tool


def test_the_citation_has_what_readers_of_it_need() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "title", "message", "authors", "version", "license"} <= set(cited)
    for paper in cited["references"]:
        assert {"type", "title", "authors", "year"} <= set(paper)


def test_recipes_name_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for kind in ("ball", "neighbourhood", "adapter", "measure", "channel", "study"):
        assert re.search(rf"^## How to add an? {kind}$", text, flags=re.M)
    named = set(re.findall(r"`((?:src|tests|docs|studies|\.ci|requirements)/[\w./-]+)`", text))
    assert len(named) > 12
    for path in named:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", PAGES)
def test_links_of_pages_outside_the_docs_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / name).read_text()):
        if not target.startswith("https://"):
            assert (ROOT / target).exists(), f"{name}: {target}"
