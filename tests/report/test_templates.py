"""Pages share one base: its head, its style, its footer."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import anharmonic
from anharmonic._core.files import write_text_whole
from anharmonic.plots.style import MODELS, PAGE_COLOURS
from anharmonic.report.rendering import BASE_STYLE

PACKAGE = Path(anharmonic.__file__).parent


def test_one_template_alone_begins_a_page():
    beginning = [
        template.name
        for template in PACKAGE.rglob("*.html")
        if "<!doctype" in template.read_text(encoding="utf-8").lower()
    ]
    assert beginning == ["base.html"]


def test_one_style_alone_sets_the_font():
    fonts = [style for style in PACKAGE.rglob("*.css") if "font-family" in style.read_text("utf-8")]
    assert fonts == [BASE_STYLE]


def test_a_text_is_written_whole_with_its_own_line_endings(tmp_path):
    path = write_text_whole(tmp_path / "page.html", "a\r\nb\n–")
    assert path.read_bytes() == b"a\r\nb\n\xe2\x80\x93"
    write_text_whole(path, "\ud800", errors="backslashreplace")
    assert path.read_text() == "\\ud800"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


STYLES = [*PACKAGE.rglob("*.css"), *PACKAGE.rglob("*.html")]
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b(?![^{}]*\{)|rgba?\(\d")


def variables(block):
    """Names and values of the custom properties that a block of CSS sets."""
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-fA-F]{6})", block))


def schemes():
    """The page's colours as they are in light, in the dark and on paper."""
    text = BASE_STYLE.read_text()
    light, rest = text.split("@media (prefers-color-scheme: dark)")
    dark, paper = rest.split("@media print", 1)
    return variables(light), variables(dark), variables(paper.split("* { box-sizing")[0])


def luminance(colour):
    """Relative, as WCAG 2 has it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_page_has_its_colours_from_one_place():
    with_own = {
        style.name: found
        for style in STYLES
        if style != BASE_STYLE and (found := COLOUR.findall(style.read_text()))
    }
    # A dialog's backdrop is black that lets light through, whatever the page's colours.
    assert with_own.keys() <= {"page.css"}
    light, dark, paper = schemes()
    assert light.keys() == dark.keys() == paper.keys()
    used = {
        name for style in STYLES for name in re.findall(r"var\(--([\w-]+)\)", style.read_text())
    }
    assert used <= light.keys()


def test_pictures_are_drawn_in_the_pages_light_colours():
    light, _, _ = schemes()
    assert {name: light[name] for name in PAGE_COLOURS} == {
        name: colour.lower() for name, colour in PAGE_COLOURS.items()
    }


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "paper"])
def test_text_can_be_read_in_every_scheme(scheme):
    colours = schemes()[scheme]
    pairs = [
        *(("ink", ground) for ground in ("paper", "ground", "head")),
        *(("quiet", ground) for ground in ("paper", "ground")),
        *(("headline-ink", "headline"), ("good", "good-paper"), ("unsure", "unsure-paper")),
        *(("alarm", "alarm-paper"), ("calm", "calm-paper"), ("accent", "paper"), ("warm", "paper")),
        *(("ink", "found"), ("ink", "gone")),
    ]
    weak = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: found for pair, found in weak.items() if found < 4.5} == {}
    # Lines and bars, by WCAG's bar for graphics; gamma's colours grow away from the paper.
    for line in (*MODELS, colours["more"], colours["less"], colours["mark"]):
        assert contrast(line, colours["paper"]) > 2, line
    away = [contrast(colours[f"gamma-{place}"], colours["paper"]) for place in range(6)]
    assert away == sorted(away)
