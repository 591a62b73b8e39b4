"""The page in a real browser: it loads, it follows, an alarm appears, keys reach everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.serve.running import Running, running

DESK, PHONE = {"width": 1200, "height": 900}, {"width": 375, "height": 720}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "m.db")) as here:
        yield here


def visited(chromium: Any, url: str, size: dict[str, int], scheme: str = "light") -> Page:
    """A page that fails the test by anything it says to the console."""
    page: Page = chromium.new_context(viewport=size, color_scheme=scheme).new_page()
    page.set_default_timeout(15_000)
    page.said = []  # type: ignore[attr-defined]
    page.on("console", lambda message: page.said.append(message.text))  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.said.append(str(error)))  # type: ignore[attr-defined]
    page.goto(url)
    return page


def test_the_page_follows_and_shows_an_alarm(chromium: Any, service: Running) -> None:
    page = visited(chromium, service.url, DESK)
    expect(page.locator("#verdict")).to_have_text("No alarm")
    expect(page.locator("#gamma-chart")).to_contain_text("Waiting")
    for step in range(30):
        assert service.observe([[1.0, 2, 3]], ids=[f"e{step}"], segments=["<b>n</b>"]).is_success
    expect(page.locator("#tile-seen")).to_have_text("30", timeout=15_000)
    expect(page.locator("#segments tr:nth-child(1) td").first).to_have_text("all")
    expect(page.locator("#segments tr:nth-child(2) td").first).to_have_text("<b>n</b>")
    expect(page.locator("#gamma-chart .curve")).to_be_attached()
    assert not page.title().startswith("ALARM")
    service.observe([[90.0, 5, 6]], ids=["the worst/one"])
    expect(page.locator("#verdict")).to_have_text("Alarm", timeout=15_000)
    expect(page.locator("#alarms tbody tr")).to_have_count(1)
    expect(page.locator("#worst article").first).to_contain_text("90")
    assert page.title().startswith("ALARM")
    page.locator("#worst a").first.click()
    assert '"score":90.0' in page.content()
    assert page.said == []  # type: ignore[attr-defined]
    page.context.close()


def test_the_first_answer_has_everything_without_a_script(service: Running) -> None:
    service.observe([[200.0, 2, 3]], ids=["<script>"])
    text = service.http.get("/").text
    assert "&lt;script&gt;" in text
    assert '<td data-label="what">gamma rose</td>' in text
    assert ">Alarm<" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_keys_read_the_chart(
    chromium: Any, service: Running, scheme: str
) -> None:
    service.observe([[float(step), 0, 0] for step in range(20)])
    page = visited(chromium, service.url, PHONE, scheme)
    expect(page.locator("#gamma-chart .curve")).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    ink, paper = (
        page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    assert (_brightness(ink) > _brightness(paper)) == (scheme == "dark")
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.id || document.activeElement.textContent")
        )
    assert {"gamma-chart", "evidence-chart", "metrics"} <= reached
    page.locator("#gamma-chart").focus()
    page.keyboard.press("End")
    expect(page.locator("#reading")).to_contain_text("mean gamma 19")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#reading")).to_contain_text("mean gamma 18")
    assert page.said == []  # type: ignore[attr-defined]
    page.context.close()


def test_a_service_that_ends_is_said_on_the_page(chromium: Any, tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db")) as here:
        page = visited(chromium, here.url, DESK)
        expect(page.locator("#verdict")).to_have_text("No alarm")
    expect(page.locator("#connection")).to_contain_text("does not answer", timeout=15_000)
    page.context.close()


def _brightness(colour: str) -> int:
    return sum(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(","))
