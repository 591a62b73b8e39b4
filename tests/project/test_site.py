"""The site as it is built: `make site-check`. It reads from a disk, without a network.

Every page is held to its width and its links; axe-core looks at some of each kind, since it takes
a minute for the longest page of the reference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.project.page_checks import problems, unreached
from tests.project.programs import ROOT

SITE = Path(os.environ.get("SITE", ROOT / "site"))
LOOKED_AT = (
    *("index", "first-steps", "which-number", "reading", "other-tools", "limits", "monitoring"),
    *("how-to/watching", "how-to/choosing", "glossary", "benchmarks", "reproduce/claims"),
    *("reference/index", "reference/gate", "reference/monitor"),
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Path:
    if not (SITE / "index.html").exists():
        pytest.skip("no site: make docs builds it")
    return SITE


@pytest.fixture(scope="module", params=[("light", 1280), ("dark", 390)], ids=str)
def page(request: pytest.FixtureRequest, chromium: Any) -> Any:
    scheme, width = request.param
    size = {"width": width, "height": 844}
    context = chromium.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.foreign = []
    page.on(
        "request",
        lambda asked: asked.url.startswith(("file:", "data:")) or page.foreign.append(asked.url),
    )
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    yield page
    context.close()


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_of_the_site_is_for_every_reader(site: Path, page: Any, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    page.wait_for_load_state("load")
    assert [*problems(page), *unreached(page, most=12)] == []


def test_no_page_is_wider_than_a_window_or_asks_elsewhere(site: Path, page: Any) -> None:
    wide = []
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":
            continue  # served from anywhere, so its links are absolute
        page.goto(path.as_uri())
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(path.name)
    assert wide == []
    assert page.foreign == []
    assert page.said == []


def test_links_lead_to_files_and_anchors(site: Path, chromium: Any) -> None:
    """Those of the finished pages, generated ones included."""
    from html.parser import HTMLParser

    class Parts(HTMLParser):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.links: set[str] = set()
            self.anchors: set[str] = set()
            self.feed(text)

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            found = dict(attributes)
            self.anchors |= {found.get("id") or "", found.get("name") or ""}
            self.links |= {found.get("href") or "", found.get("src") or ""}

    parts = {path.resolve(): Parts(path.read_text()) for path in site.rglob("*.html")}
    broken = []
    for path, part in parts.items():
        if path.name == "404.html":
            continue  # served from anywhere, so its links are absolute
        for link in part.links:
            if not link or link.startswith(("https:", "http:", "data:", "mailto:", "javascript:")):
                continue
            target, _, anchor = link.partition("#")
            goal = (path.parent / target).resolve() if target else path
            there = goal.exists() and (not anchor or anchor in parts[goal].anchors)
            broken += [] if there else [f"{path.name}: {link}"]
    assert broken == []
    assert len(parts) > 80


def test_the_search_finds_a_name_without_a_network(site: Path, page: Any) -> None:
    page.goto((site / "reference" / "gate.html").as_uri())
    page.locator("input[name=query]").fill("nstep_robustness", force=True)
    first = page.locator(".md-search-result__item a").first
    first.wait_for(state="attached", timeout=20_000)
    assert "reference/anharmonic.html" in first.get_attribute("href")
    assert page.foreign == []
