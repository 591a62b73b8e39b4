"""Figures into files, offline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from anharmonic._core.files import whole_file
from anharmonic.errors import MissingExtra, SettingsError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["save"]

NOWHERE = "127.0.0.1:9"
"""A proxy that does not answer: whatever the browser wants from the network, it cannot have."""


def save(
    figure: Figure,
    path: str | os.PathLike[str],
    *,
    width: int = 900,
    height: int | None = None,
    scale: float = 2.0,
) -> Path:
    """Write a figure as PNG, SVG, HTML or JSON, by the file's ending, and return the path.

    Images are drawn by a Chrome or Chromium of this machine, kept off the network. HTML needs no
    network either: it holds plotly.js.

    Parameters
    ----------
    figure
        From any function of `plots`, or plotly's own.
    path
        Where it goes; its ending says as what.
    width, height
        In CSS pixels; the figure's own height if not told.
    scale
        Pixels of a PNG per CSS pixel.
    """
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind in ("png", "svg"):
        content = _image(figure, kind, width, height or figure.layout.height or 450, scale)
    elif kind == "html":
        content = figure.to_html(include_plotlyjs=True, include_mathjax=False).encode()
    elif kind == "json":
        content = figure.to_json().encode()
    else:
        raise SettingsError(f"{target}: a figure is saved as .png, .svg, .html or .json")
    with whole_file(target) as temporary:
        Path(temporary).write_bytes(content)
    return target


def _image(figure: Figure, kind: str, width: int, height: int, scale: float) -> bytes:
    try:
        import kaleido
        from kaleido.errors import ChromeNotFoundError
    except ImportError as problem:
        raise MissingExtra("kaleido", "plots") from problem
    # An SVG has no pixels to multiply.
    options = {
        "format": kind,
        "width": width,
        "height": height,
        "scale": 1 if kind == "svg" else scale,
    }
    # Left alone, kaleido would fetch MathJax.
    quiet = {"mathjax": False, "proxy_server": NOWHERE}
    try:
        return bytes(kaleido.calc_fig_sync(figure, opts=options, kopts=quiet))
    except ChromeNotFoundError as problem:
        raise SettingsError(
            "a PNG or SVG is drawn by Chrome and none was found: install chromium (on Debian: "
            "apt-get install chromium), set BROWSER_PATH to one, or save as .html"
        ) from problem
