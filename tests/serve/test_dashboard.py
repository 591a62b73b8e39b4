"""The pages in a real browser: they load, they follow, an alarm appears, keys reach everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.serve.full import Full
from tests.serve.running import Running, running
from tests.serve.test_security import INGEST, READ

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "m.db")) as here:
        yield here


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "full.db"), Full()) as here:
        yield here


def visited(
    chromium: Any, url: str, size: dict[str, int], scheme: str = "light", **more: Any
) -> Page:
    """A page that fails the test by anything it says to the console."""
    page: Page = chromium.new_context(viewport=size, color_scheme=scheme, **more).new_page()
    page.set_default_timeout(15_000)
    page.said = []  # type: ignore[attr-defined]
    page.on("console", lambda message: page.said.append(message.text))  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.said.append(str(error)))  # type: ignore[attr-defined]
    page.goto(url)
    return page


def test_the_page_follows_and_shows_an_alarm(chromium: Any, service: Running) -> None:
    page = visited(chromium, service.url, DESK)
    expect(page.locator("#verdict")).to_have_text("No alarm")
    expect(page.locator(".scores")).to_contain_text("Waiting")
    for step in range(30):
        assert service.observe([[1.0, 2, 3]], ids=[f"e{step}"], segments=["<b>n</b>"]).is_success
    expect(page.locator("#tile-seen")).to_have_text("30", timeout=15_000)
    expect(page.locator("#segments tr:nth-child(1) td").first).to_have_text("all")
    expect(page.locator("#segments tr:nth-child(2) td").first).to_have_text("<b>n</b>")
    expect(page.locator(".scores .curve")).to_be_attached()
    assert not page.title().startswith("ALARM")
    service.observe([[90.0, 5, 6]], ids=["the worst/one"])
    expect(page.locator("#verdict")).to_have_text("Alarm", timeout=15_000)
    expect(page.locator("#alarms tbody tr")).to_have_count(1)
    expect(page.locator(".chip")).to_contain_text("alarm, since about event 1")
    expect(page.locator("#worst article").first).to_contain_text("90")
    assert page.title().startswith("ALARM")
    page.locator("#worst a").first.click()
    expect(page.locator("h1")).to_have_text("the worst/one")
    expect(page.locator("main")).to_contain_text("90")
    assert page.said == []  # type: ignore[attr-defined]
    page.context.close()


def test_the_first_answer_has_everything_without_a_script(service: Running) -> None:
    service.observe([[200.0, 2, 3]], ids=["<script>"])
    text = service.http.get("/").text
    assert "&lt;script&gt;" in text
    assert ">gamma rose</a>" in text
    assert ">Alarm<" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_keys_read_the_chart(
    chromium: Any, service: Running, scheme: str
) -> None:
    service.observe([[float(step), 0, 0] for step in range(20)])
    page = visited(chromium, service.url, PHONE, scheme)
    expect(page.locator(".scores .curve")).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    ink, paper = (
        page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    assert (_brightness(ink) > _brightness(paper)) == (scheme == "dark")
    reached = set()
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.className || document.activeElement.textContent")
        )
    assert {"chart scores", "chart evidence", "metrics", "event time"} <= reached
    page.locator(".scores").focus()
    page.keyboard.press("End")
    expect(page.locator(".reading")).to_contain_text("mean gamma 19")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".reading")).to_contain_text("mean gamma 18")
    assert page.said == []  # type: ignore[attr-defined]
    page.context.close()


def test_a_service_that_ends_is_said_on_the_page(chromium: Any, tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db")) as here:
        page = visited(chromium, here.url, DESK)
        expect(page.locator("#verdict")).to_have_text("No alarm")
    expect(page.locator("#connection")).to_contain_text("does not answer", timeout=15_000)
    page.context.close()


def test_channels_columns_and_performance_are_drawn(chromium: Any, full: Running) -> None:
    times = [1.7e9 + 60.0 * step for step in range(40)]
    full.observe([[0.1, 0.5, 0.0]] * 40, times=times)
    page = visited(chromium, full.url, DESK)
    titles = page.locator(".channel h2")
    expect(titles).to_have_text(["Gamma", "Confidence", "Inputs"])
    expect(page.locator(".scores .curve")).to_have_count(2)
    expect(page.locator(".evidence .curve")).to_have_count(3)
    expect(page.locator(".evidence .line")).to_have_count(3)
    expect(page.locator("#columns article h3 .name").first).to_have_text("moved <i>")
    expect(page.locator("#columns .histogram")).to_have_count(3)
    expect(page.locator("#performance figcaption").first).to_contain_text("accuracy 0.824")
    expect(page.locator("#performance .band.unknown")).to_have_count(2)
    # What alarms moves to the top, and the focus stays where it was.
    page.locator(".channel[data-watched=gamma] .scores").focus()
    full.observe([[0.1, 120.0, 0.0]], times=[1.7e9 + 2460.0])
    expect(titles).to_have_text(["Confidence", "Gamma", "Inputs"], timeout=15_000)
    assert page.evaluate("document.activeElement.parentElement.dataset.watched") == "gamma"
    page.get_by_role("link", name="event time").click()
    assert page.url.endswith("?axis=time")
    expect(page.locator(".scores").first).to_contain_text("22:30")
    expect(page.get_by_role("link", name="event time")).to_have_attribute("aria-current", "true")
    page.reload()
    expect(page.locator(".scores").first).to_contain_text("22:30")
    assert page.said == []  # type: ignore[attr-defined]
    page.context.close()


def test_an_alarm_is_acknowledged_and_reset_on_the_page(chromium: Any, full: Running) -> None:
    full.observe([[0.1, 0.5, 0.0]] * 30)
    full.observe([[200.0, 0.5, 0.0]], ids=["bad one"])
    page = visited(chromium, full.url, PHONE, "dark")
    page.get_by_role("button", name="Acknowledge").click()
    dialog = page.locator("#dialog")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Who has looked").fill("Ada <b>")
    dialog.get_by_label("What they found").fill("a sensor\n<script>alert(1)</script>")
    dialog.get_by_role("button", name="Acknowledge").click()
    expect(dialog).not_to_be_visible()
    page.locator("h1").click()
    expect(page.locator("#alarms")).to_contain_text("seen by Ada <b>", timeout=15_000)
    page.locator("#alarms a").click()
    expect(page.locator("blockquote")).to_have_text("a sensor\n<script>alert(1)</script>")
    expect(page.locator(".scores .curve")).to_be_attached()
    expect(page.locator("#rows a").first).to_have_text("bad one")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.go_back()
    page.get_by_role("button", name="Reset all").click()
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    assert full.monitor.alarm
    page.get_by_role("button", name="Reset all").click()
    dialog.get_by_role("button", name="Reset", exact=True).click()
    expect(page.locator("#verdict")).to_have_text("No alarm", timeout=15_000)
    assert not full.monitor.alarm
    page.locator("h1").click()
    expect(page.locator("#alarms")).to_contain_text("cleared, seen by", timeout=15_000)
    assert page.said == []  # type: ignore[attr-defined]
    page.context.close()


def test_a_reader_needs_the_other_token_to_reset(chromium: Any, tmp_path: Path) -> None:
    tokens = {"ingest_token": INGEST, "read_token": READ}
    with running(str(tmp_path / "m.db"), Full(), **tokens) as here:
        headers = {"authorization": f"Bearer {INGEST}"}
        here.http.post("/v1/observe", json={"points": [[200.0, 0, 0]]}, headers=headers)
        login = {"username": "any", "password": READ}
        page = visited(chromium, here.url, DESK, http_credentials=login)
        expect(page.locator("#verdict")).to_have_text("Alarm")
        page.get_by_role("button", name="Reset all").click()
        dialog = page.locator("#dialog")
        dialog.get_by_label("Ingest token").fill(READ)
        dialog.get_by_role("button", name="Reset", exact=True).click()
        expect(dialog.get_by_role("alert")).to_contain_text("needs the ingest token")
        assert here.monitor.alarm
        dialog.get_by_label("Ingest token").fill(INGEST)
        dialog.get_by_role("button", name="Reset", exact=True).click()
        expect(dialog).not_to_be_visible()
        assert not here.monitor.alarm
        kept = "Object.keys(localStorage).length + Object.keys(sessionStorage).length"
        assert page.evaluate(kept) == 0
        page.context.close()


def test_a_foreign_page_cannot_reset(chromium: Any, full: Running, tmp_path: Path) -> None:
    full.observe([[200.0, 0, 0]])
    with running(str(tmp_path / "elsewhere.db")) as elsewhere:
        # Another port is another origin; the page's own policy is off, as an attacker's would be.
        page = visited(chromium, elsewhere.url, DESK, bypass_csp=True)
        alarm = full.http.get("/v1/alarms").json()["alarms"][0]["id"]
        for path in ("/v1/reset", f"/v1/alarms/{alarm}/acknowledge"):
            for kind in ("application/json", "text/plain"):
                page.evaluate(
                    "([url, kind]) => fetch(url, {method: 'POST', mode: kind === 'text/plain' ? "
                    "'no-cors' : 'cors', headers: {'content-type': kind}, body: "
                    "JSON.stringify({by: 'Eve'})}).catch(() => null)",
                    [full.url + path, kind],
                )
        page.context.close()
    assert full.monitor.alarm
    assert full.http.get("/v1/alarms").json()["alarms"][0]["acknowledged"] is None


def _brightness(colour: str) -> int:
    return sum(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(","))
