"""Pages share one base: its head, its style, its footer."""

from __future__ import annotations

from pathlib import Path

import anharmonic
from anharmonic._core.files import write_text_whole
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
