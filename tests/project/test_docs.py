"""The docs: pages are in the navigation, links lead somewhere, names are documented."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import pytest
import yaml

import anharmonic as ah
from anharmonic.measures.setup.docstrings import parameter_entries
from tests.project.programs import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.S)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")


class _Loader(yaml.SafeLoader):
    """mkdocs.yml may hold tags of plugins."""


_Loader.add_multi_constructor("tag:", lambda loader, suffix, node: None)


def navigation(entries: Any) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, str):
            yield entry
        else:
            for part in entry.values():
                yield from navigation(part)


def anchors(path: Path) -> set[str]:
    """Headings as the site names them."""
    headings = re.findall(
        r"^#+ (.+)$", CODE.sub(lambda code: code[0].strip("`"), path.read_text()), re.M
    )
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    return {re.sub(r"[\s-]+", "-", heading) for heading in plain}


def test_every_page_is_in_the_navigation() -> None:
    told = yaml.load((ROOT / "mkdocs.yml").read_text(), _Loader)
    listed = set(navigation(told["nav"]))
    assert listed == {path.relative_to(DOCS).as_posix() for path in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"https?://", target):
            assert target.startswith("https://"), target
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{target} in {page.name}"
        if anchor:
            assert anchor in anchors(goal), f"{target} in {page.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_block_of_python_is_run(page: Path) -> None:
    """Blocks of Python are marked as such: `test_readme` runs them, or they say why not."""
    text = page.read_text()
    plain = re.findall(r"(?:^ {4,}\S.*\n)+", FENCED.sub("", text), flags=re.M)
    for language, block in FENCED.findall(text):
        assert language in ("python", "", "json", "yaml", "css"), language
        if language == "":
            plain.append(block)
    for block in plain:
        assert not is_python(block), block


def is_python(block: str) -> bool:
    """Whether it parses and does something: a word alone, or words with minus signs, do not."""
    try:
        statements = ast.parse(inspect.cleandoc(block)).body
    except SyntaxError:
        return False
    return any(
        isinstance(part, ast.Call | ast.Assign | ast.Import | ast.ImportFrom | ast.FunctionDef)
        for statement in statements
        for part in ast.walk(statement)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_pictures_have_a_text_and_are_small(page: Path) -> None:
    for text, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", page.read_text()):
        assert len(text) > 10, target
        assert (page.parent / target).stat().st_size < 250_000, target


def public_names() -> Iterator[tuple[str, Any]]:
    for name in ah.__all__:
        part = getattr(ah, name)
        if isinstance(part, ModuleType):
            yield from ((f"{name}.{member}", getattr(part, member)) for member in part.__all__)
        else:
            yield name, part


@pytest.mark.parametrize(("name", "part"), list(public_names()), ids=lambda part: str(part)[:40])
def test_every_public_name_says_what_its_parameters_mean(name: str, part: Any) -> None:
    if not (inspect.isfunction(part) or inspect.isclass(part)):
        return  # a constant or a type: the line below it says what it is
    assert inspect.getdoc(part), name
    if inspect.isclass(part) and (issubclass(part, BaseException) or Protocol in part.__mro__):
        return
    if part.__module__ == "builtins":
        return
    wanted = set(inspect.signature(part).parameters) - {"self"}
    described = set(parameter_entries(inspect.getdoc(part) or ""))
    assert wanted <= described, name
    # Prose behind the section would stand in the reference as a parameter without a description.
    assert all(word.lstrip("*").isidentifier() for word in described), described - wanted


def test_the_reference_lists_every_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mkdocs", reason="make docs installs it")
    from tests.project.programs import program

    pages = program("docs_hook", monkeypatch).pages()
    for name, _ in public_names():
        module, _, member = name.rpartition(".")
        text = pages[f"reference/{module or 'anharmonic'}.md"]
        assert f"::: anharmonic.{name}\n" in text or f"\n        - {member}\n" in text, name


GENERATED = sorted(
    page for page in PAGES if page.read_text().partition("\n\n")[2][:10] == "Written by"
)
PROSE = [
    *(page for page in PAGES if page not in GENERATED and page.name != "glossary.md"),
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
    ),
]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_prose_has_one_sentence_per_line(page: Path) -> None:
    """But for a sentence behind a bold beginning, and in tables."""
    prose = CODE.sub("code", page.read_text())
    for line in prose.splitlines():
        sentences = re.sub(r"^[\s\d.*-]*\*\*.+?\*\*\s*|^[\s\d.*-]+", "", line)
        if not line.startswith(("|", "#", "!", "    ")):
            assert not re.search(r"[a-z)][.?!] [A-Z]", sentences), f"{page.name}: {line[:120]}"
