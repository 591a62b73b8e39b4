"""The page about a SPADE score, in a real browser."""

from __future__ import annotations

import base64
import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.plots.images import png

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>{{ 7*7 }}"
POINTS = np.random.default_rng(0).uniform(size=(240, 48))
OUTPUTS = np.sin(9 * POINTS[:, :3])


@pytest.fixture(scope="module")
def scores():
    return ah.spade(POINTS, OUTPUTS)


@pytest.mark.parametrize("width", [1280, 390])
def test_images_stand_beside_what_they_are_torn_from(scores, opened, tmp_path, width):
    written = ah.report.write_spade(
        tmp_path / "s.html", scores, points=POINTS, outputs=OUTPUTS, shape=(4, 4, 3), count=5
    )
    seen = opened(written, width=width)
    assert seen.said == []
    assert seen.requests[0] == written.as_uri()
    assert all(each.startswith("data:") for each in seen.requests[1:])
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.locator(".sample").count() == 5
    sizes = seen.page.evaluate(
        "[...document.images].map((each) => [each.naturalWidth, each.naturalHeight])"
    )
    assert sizes == [[4, 4]] * 10
    assert seen.page.locator(".panel svg.main-svg").count() >= 2
    first = seen.page.locator(".sample").first.inner_text()
    worst = int(scores.worst(1)[0])
    assert f"row {worst}" in first
    assert f"output {OUTPUTS[worst].argmax()}" in first
    assert "blocks of inputs" in seen.page.inner_text(".stages")


def test_a_table_keeps_its_names_harmless(scores, opened, tmp_path):
    table = pd.DataFrame(POINTS, columns=[EVIL, *map(str, range(47))])
    written = ah.report.write_spade(
        tmp_path / "t.html", scores, points=table, title=EVIL, command=EVIL
    )
    seen = opened(written, width=390)
    assert seen.said == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert EVIL in seen.page.inner_text(".worst")
    assert f"{scores.interval()[0]:.4g}" in seen.page.inner_text(".headline")


def test_joints_are_said_first(tmp_path):
    apart = OUTPUTS + 100 * (POINTS[:, :1] > 0.5)
    page = ah.report.write_spade(tmp_path / "j.html", ah.spade(POINTS, apart)).read_text()
    assert "The output graph was in 2 parts" in page
    assert "the score measures those few edges" in page


def test_what_does_not_fit(scores, tmp_path):
    for wrong, words in (
        ({"shape": (4, 4, 3)}, "images of what"),
        ({"points": POINTS, "shape": (5, 5)}, "no images of shape"),
        ({"points": POINTS[:9]}, "other points"),
        ({"outputs": OUTPUTS[:9]}, "other points"),
    ):
        with pytest.raises(SettingsError, match=words):
            ah.report.write_spade(tmp_path / "w.html", scores, **wrong)
    assert not list(tmp_path.iterdir())


def test_a_picture_is_what_it_shows():
    values = np.arange(6.0)
    held = base64.b64decode(png(values, (2, 3), 0.0, 5.0).partition(",")[2])
    shown = np.asarray(Image.open(io.BytesIO(held)))
    np.testing.assert_array_equal(shown[..., 0].ravel(), np.arange(6) * 51)


def test_arrays_of_images_need_no_shape(scores, tmp_path):
    images = POINTS.reshape(len(POINTS), 4, 4, 3)
    one, other = (
        ah.report.write_spade(tmp_path / f"{name}.html", scores, points=each, shape=shape)
        for name, each, shape in (("one", images, None), ("other", POINTS, (4, 4, 3)))
    )
    assert one.read_text(encoding="utf-8") == other.read_text(encoding="utf-8")
    plain = ah.report.write_spade(tmp_path / "plain.html", scores, points=POINTS)
    assert 'class="sample"' not in plain.read_text(encoding="utf-8")
