"""The report in a real browser, on a desk and on a phone."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>{{ 7*7 }}${8*8}"


@pytest.fixture(scope="module")
def page_file(measured, tmp_path_factory):
    return ah.report.write(
        tmp_path_factory.mktemp("report") / "report.html",
        measured.found,
        points=measured.points,
        sweep=measured.sweep,
        contributions=measured.contributions,
        title="Three models",
        command="anharmonic report …",
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_clean(page_file, opened, width):
    seen = opened(page_file, width=width)
    assert seen.said == []
    assert seen.requests == [page_file.as_uri()]
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert "linear is the most harmonic of 3 models" in seen.page.inner_text(".lead")
    assert seen.page.locator(".models tbody tr").count() == 3
    panels = seen.page.locator(".panel")
    # Beside the trees' maps that of the line would be blank.
    assert panels.count() == 1 + 1 + 2
    assert "next to no gamma beside the others: linear." in seen.page.inner_text("body")
    for panel in panels.all():
        assert panel.locator("svg.main-svg").count() > 0
        box = panel.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out_of_its_card(page_file, opened, width):
    sticking = opened(page_file, width=width).page.evaluate(
        """() => [...document.querySelectorAll("section")].flatMap((section) => {
          const right = section.getBoundingClientRect().right + 0.5;
          return [...section.querySelectorAll("td, th, p, h2, h3, pre, .shares > *, svg")]
            .filter((each) => each.getBoundingClientRect().right > right)
            .map((each) => each.textContent.slice(0, 60));
        })"""
    )
    assert sticking == []


def test_on_a_phone_every_number_keeps_its_label_apart(page_file, opened):
    displays = opened(page_file, width=390).page.evaluate(
        """() => [...document.querySelectorAll(".stacked td[data-label]")]
          .map((cell) => getComputedStyle(cell).display)"""
    )
    assert len(displays) > 20
    assert set(displays) == {"flex"}


def test_all_but_pictures_without_javascript(page_file, opened):
    seen = opened(page_file, java_script_enabled=False)
    text = seen.page.inner_text("body")
    for words in (
        "most harmonic",
        "Which differences are real",
        "features behind it",
        "This picture needs JavaScript",
        "ah.compare",
        "anharmonic report …",
    ):
        assert words in text


def test_printed_pictures_fit_the_paper(page_file, opened):
    seen = opened(page_file)
    seen.page.evaluate(
        """() => {
          window.widest = 0;
          addEventListener("beforeprint", () => {
            for (const each of document.querySelectorAll(".panel svg.main-svg"))
              window.widest = Math.max(window.widest, each.getBoundingClientRect().width);
          });
        }"""
    )
    paper = seen.page.pdf(prefer_css_page_size=True)
    assert paper.startswith(b"%PDF")
    assert 0 < seen.page.evaluate("window.widest") <= 688, "A4 less its margins"
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert seen.said == []


def test_names_are_names_and_never_code(measured, tmp_path, opened):
    one, other = list(measured.found.scores.values())[:2]
    table = measured.points.rename(columns={measured.points.columns[0]: EVIL})
    parts = measured.contributions["linear"]
    renamed = type(parts)((EVIL, *parts.names[1:]), parts.values, parts.rows, 1, parts.radius)
    path = ah.report.write(
        tmp_path / "evil.html",
        {EVIL: one, "other": other},
        points=table,
        contributions={EVIL: renamed},
        title=EVIL,
        command=EVIL,
    )
    seen = opened(path)
    assert seen.said == []
    assert seen.requests == [path.as_uri()]
    assert seen.page.inner_text("h1") == EVIL
    assert EVIL in seen.page.inner_text(".lead")
    assert seen.page.locator("img, iframe, object, a").count() == 0
    assert seen.page.evaluate("document.scripts.length") == 4, "data, plotly, ours, and unpacked"
    legend = seen.page.locator(".legendtext").all_text_contents()
    assert EVIL in legend


def test_a_grid_shows_decisions(tmp_path, opened):
    def model(x):
        second = 1 / (1 + np.exp(-5 * x[:, 0]))
        return np.stack([1 - second, second], axis=1)

    grid = ah.regions.grid([(-1, 1), (-1, 1)], 20, ["left", "up"])
    scores = ah.gamma(model, grid, radius=0.1, output="probability")
    path = ah.report.write(tmp_path / "grid.html", scores, points=grid)
    seen = opened(path, width=390)
    assert seen.said == []
    assert "Decisions and gamma" in seen.page.inner_text("body")
    assert seen.page.locator("#map-0 .heatmaplayer image, #map-0 .hm image").count() >= 2


def drawn_colours(seen):
    """The paper and the ink of every picture, as they are drawn."""
    return seen.page.evaluate(
        """() => [...document.querySelectorAll(".panel")].map((panel) => [
          panel._fullLayout.paper_bgcolor, panel._fullLayout.font.color])"""
    )


@pytest.mark.parametrize(
    ("scheme", "colours"), [("light", ["#ffffff", "#1f2933"]), ("dark", ["#182029", "#e6eaee"])]
)
def test_pictures_follow_the_readers_scheme(page_file, opened, scheme, colours):
    seen = opened(page_file, color_scheme=scheme)
    assert seen.said == []
    assert all(pair == colours for pair in drawn_colours(seen))
    background = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(245, 247, 250)", "dark": "rgb(15, 21, 27)"}[scheme]


def test_pictures_change_with_the_scheme_and_are_light_on_paper(page_file, opened):
    seen = opened(page_file, color_scheme="light")
    seen.page.emulate_media(color_scheme="dark")
    seen.page.wait_for_timeout(500)
    assert drawn_colours(seen)[0] == ["#182029", "#e6eaee"]
    seen.page.evaluate(
        """() => addEventListener("beforeprint", () => {
          window.printed = document.querySelector(".panel")._fullLayout.paper_bgcolor;
        })"""
    )
    seen.page.pdf(prefer_css_page_size=True)
    assert seen.page.evaluate("window.printed").lower() == "#ffffff"
    assert drawn_colours(seen)[0] == ["#182029", "#e6eaee"]
    assert seen.said == []


def test_how_to_read_it_stands_before_any_number_but_the_headline(page_file, opened):
    headings = opened(page_file).page.locator("h2").all_inner_texts()
    assert headings[0] == "How to read it"
    assert headings[1].startswith("Models, from the most harmonic on")
