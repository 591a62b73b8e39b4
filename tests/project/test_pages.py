"""Reports, audits and the monitor's pages for every reader: by axe-core, keys and a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.report.audit import audit_page
from tests.project.page_checks import problems, unreached
from tests.serve.full import Full
from tests.serve.running import running

VIEWS = [("light", 1280), ("dark", 390)]
"""Each colour scheme and each width once; the two have nothing to do with each other."""


def steep(rows: Any) -> Any:
    chance = 1 / (1 + np.exp(-9 * np.sin(3 * np.asarray(rows)).sum(axis=1)))
    return np.stack([1 - chance, chance], axis=1)


def flat(rows: Any) -> Any:
    chance = 1 / (1 + np.exp(-np.asarray(rows).sum(axis=1)))
    return np.stack([1 - chance, chance], axis=1)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A report, an audit, a replay, and the pages of a service with an alarm."""
    folder = tmp_path_factory.mktemp("pages")
    random = np.random.default_rng(0)
    known, new = random.normal(size=(300, 3)), random.normal(size=(80, 3))
    found = ah.compare({"flat": flat, "steep": steep}, new, reference=known)
    report = ah.report.write(folder / "report.html", found, points=new)
    audit = folder / "audit.html"
    drifted = ah.audit(steep, new + np.array([2.0, 0.0, 0.0]), reference=known, budget=2_000)
    audit.write_text(audit_page(drifted, title="An audit", command="anharmonic audit …"))
    with running(str(folder / "m.db"), Full()) as here:
        here.observe([[1.0, 0.5, 0.0]] * 60, ids=[f"row {number}" for number in range(60)])
        here.observe([[200.0, 0.5, 0.0]], ids=["the worst"])
        alarm = here.http.get("/v1/alarms").json()["alarms"][-1]["id"]
        yield {
            "report": report.as_uri(),
            "audit": audit.as_uri(),
            "dashboard": f"{here.url}/",
            "alarm": f"{here.url}/alarms/{alarm}",
            "point": f"{here.url}/points/the%20worst",
        }


@pytest.mark.parametrize(("scheme", "width"), VIEWS)
@pytest.mark.parametrize("name", ["report", "audit", "dashboard", "alarm", "point"])
def test_a_page_is_for_every_reader(
    chromium: Any, addresses: dict[str, str], name: str, scheme: str, width: int
) -> None:
    size = {"width": width, "height": 844}
    context = chromium.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
    try:
        page = context.new_page()
        page.goto(addresses[name])
        if name == "report":
            page.wait_for_selector("html[data-drawn=all]", state="attached")
        assert [*problems(page), *unreached(page)] == []
    finally:
        context.close()


def test_the_checks_find_what_is_wrong(chromium: Any, tmp_path: Path) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.set_content(
        """<!doctype html><html lang=en><title>bad</title><style>*:focus {outline: none}</style>
        <p style="color: #999; background: #fff">pale</p><img src="data:,"><input>
        <p style="width: 900px">wide</p><a href="#x">link</a>"""
    )
    found = [*problems(page), *unreached(page)]
    for words in (
        "color-contrast",
        "image-alt",
        "label:",
        "in a window of 390",
        "no mark",
    ):
        assert any(words in problem for problem in found), (words, found)
    page.close()
