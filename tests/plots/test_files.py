"""Figures as files, written by a real browser without a network."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

import anharmonic as ah
from anharmonic import plots
from anharmonic.errors import SettingsError


@pytest.fixture(scope="module")
def figure():
    points = np.random.default_rng(0).normal(size=(100, 2))
    return plots.distribution(ah.gamma(lambda x: np.sin(x[:, 0]), points, radius=0.2))


def test_png(figure, tmp_path, browser):
    path = plots.save(figure, tmp_path / "one.png", width=500, height=300)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert struct.unpack(">II", content[16:24]) == (1000, 600)
    assert len(content) > 10_000


def test_svg(figure, tmp_path, browser):
    content = plots.save(figure, tmp_path / "one.SVG").read_text()
    assert content.startswith("<svg")
    assert "How gamma is spread" in content


def test_html_and_json_need_no_browser(figure, tmp_path):
    page = plots.save(figure, tmp_path / "one.html").read_text()
    assert "Plotly.newPlot" in page
    assert "<script src" not in page
    assert json.loads(plots.save(figure, tmp_path / "one.json").read_text())["data"]


def test_another_ending(figure, tmp_path):
    with pytest.raises(SettingsError, match=r"\.png, \.svg, \.html or \.json"):
        plots.save(figure, tmp_path / "one.bmp")


def test_no_browser_is_a_kind_error(figure, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "nothing"))
    with pytest.raises(SettingsError, match="install chromium"):
        plots.save(figure, tmp_path / "one.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("unshare"), reason="needs root to take the network away"
)
def test_png_in_a_world_without_network(tmp_path, browser):
    code = (
        "import numpy as np, anharmonic as ah\n"
        "points = np.random.default_rng(0).normal(size=(50, 2))\n"
        "scores = ah.gamma(lambda x: np.sin(x[:, 0]), points)\n"
        f"ah.plots.save(ah.plots.distribution(scores), {str(tmp_path / 'one.png')!r})\n"
    )
    alone = ["unshare", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this container may not take the network away")
    subprocess.run([*alone, sys.executable, "-c", code], check=True, timeout=120)
    assert (tmp_path / "one.png").stat().st_size > 10_000
