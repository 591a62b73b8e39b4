"""Curves and maps for the pages, drawn by plotly only when a page is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import MissingExtra

__all__ = [
    "Cloud",
    "Curve",
    "Dot",
    "Panel",
    "Picture",
    "clouds",
    "curves",
    "dots",
    "maps",
    "write_pictures",
]

COLOURS = ("#1b6ca8", "#d1495b", "#2a9d8f", "#e09f3e", "#6d597a", "#555555")
CLASSES = ((0.0, "#8fb8de"), (0.5, "#f3d79b"), (1.0, "#d98880"))
PANEL = (260, 240)


class Curve(NamedTuple):
    """A line: its name, places and heights, and the errors of the heights.

    `colour` is the number of its colour, for lines that belong together; its place else.
    """

    name: str
    x: Sequence[float] | Floats
    y: Sequence[float] | Floats
    errors: Sequence[float] | Floats | None = None
    dash: str = "solid"
    colour: int | None = None


class Panel(NamedTuple):
    """A function on a box, `values` (steps along x, steps along y).

    `kind` is "gamma", "classes" or "values" and settles the colours.
    """

    title: str
    values: Floats
    bounds: Sequence[tuple[float, float]]
    kind: str = "gamma"


class Dot(NamedTuple):
    """A figure with its interval: on which panel, on which line, and of which series."""

    panel: str
    line: str
    series: str
    value: float
    low: float
    high: float


class Cloud(NamedTuple):
    """Points of one series on one panel."""

    panel: str
    series: str
    x: Floats
    y: Floats


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when it is wanted."""

    name: str
    caption: str
    draw: Callable[[], Any]


def curves(lines: Sequence[Curve], x_title: str, y_title: str, log: str = "") -> Callable[[], Any]:
    """Lines with error bars; `log` names the logarithmic axes, such as "xy"."""
    return partial(_curves, tuple(lines), x_title, y_title, log)


def _curves(lines: Sequence[Curve], x_title: str, y_title: str, log: str) -> Any:
    figure = _plotly().Figure()
    for at, line in enumerate(lines):
        figure.add_scatter(
            name=line.name,
            x=np.asarray(line.x).tolist(),
            y=np.asarray(line.y).tolist(),
            error_y=None if line.errors is None else {"array": np.asarray(line.errors).tolist()},
            mode="lines" if line.dash != "solid" else "lines+markers",
            line={"color": COLOURS[_number(at, line) % len(COLOURS)], "dash": line.dash},
        )
    for axis, title in (("x", x_title), ("y", y_title)):
        figure.update_layout({f"{axis}axis": _axis(title, axis in log)})
    figure.update_layout(**_style(), width=720, height=400, showlegend=True)
    return figure


def _number(at: int, line: Curve) -> int:
    return at if line.colour is None else line.colour


def dots(marks: Sequence[Dot], x_title: str, line: float) -> Callable[[], Any]:
    """Panels side by side, a dot and its interval on every line; `line` is drawn through."""
    return partial(_dots, tuple(marks), x_title, line)


def _dots(marks: Sequence[Dot], x_title: str, line: float) -> Any:
    _plotly()
    from plotly.subplots import make_subplots

    panels, lines, series = (
        list(dict.fromkeys(getattr(mark, name) for mark in marks))
        for name in ("panel", "line", "series")
    )
    figure = make_subplots(
        1, len(panels), subplot_titles=panels, shared_yaxes=True, horizontal_spacing=0.03
    )
    for across, panel in enumerate(panels, start=1):
        for at, name in enumerate(series):
            own = [mark for mark in marks if (mark.panel, mark.series) == (panel, name)]
            shift = 0.22 * (at - (len(series) - 1) / 2)
            figure.add_scatter(
                name=name,
                x=[mark.value for mark in own],
                y=[lines.index(mark.line) + shift for mark in own],
                error_x={
                    "array": [mark.high - mark.value for mark in own],
                    "arrayminus": [mark.value - mark.low for mark in own],
                    "thickness": 1.2,
                    "width": 0,
                },
                mode="markers",
                marker={"color": COLOURS[at % len(COLOURS)], "size": 7},
                showlegend=across == 1,
                row=1,
                col=across,
            )
        figure.add_vline(line, line={"color": "#999999", "dash": "dot"}, row=1, col=across)
    figure.update_xaxes(title={"text": x_title}, gridcolor="#e6e6e6", zeroline=False)
    figure.update_yaxes(
        tickvals=list(range(len(lines))), ticktext=lines, autorange="reversed", zeroline=False
    )
    figure.update_layout(**_style(), width=980, height=130 + 30 * len(lines))
    figure.update_layout(
        margin={"l": 190, "r": 20, "t": 40, "b": 95}, legend={"orientation": "h", "y": -0.16}
    )
    return figure


def clouds(every: Sequence[Cloud], x_title: str, y_title: str, log: str = "") -> Callable[[], Any]:
    """Panels side by side, the points of every series; `log` names the logarithmic axes."""
    return partial(_clouds, tuple(every), x_title, y_title, log)


def _clouds(every: Sequence[Cloud], x_title: str, y_title: str, log: str) -> Any:
    _plotly()
    from plotly.subplots import make_subplots

    panels, series = (
        list(dict.fromkeys(getattr(cloud, name) for cloud in every)) for name in ("panel", "series")
    )
    figure = make_subplots(1, len(panels), subplot_titles=panels, horizontal_spacing=0.08)
    for cloud in every:
        across, at = panels.index(cloud.panel) + 1, series.index(cloud.series)
        figure.add_scatter(
            name=cloud.series,
            x=np.asarray(cloud.x).tolist(),
            y=np.asarray(cloud.y).tolist(),
            mode="markers",
            marker={"color": COLOURS[at % len(COLOURS)], "size": 6, "opacity": 0.7},
            showlegend=across == 1,
            row=1,
            col=across,
        )
    figure.update_xaxes(**_axis(x_title, "x" in log))
    figure.update_yaxes(**_axis(y_title, "y" in log))
    figure.update_layout(**_style(), width=460 * len(panels), height=400, showlegend=True)
    return figure


def _axis(title: str, log: bool) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": title}, "gridcolor": "#e6e6e6", "zeroline": False}
    return axis | ({"type": "log", "exponentformat": "power"} if log else {})


def maps(rows: Sequence[Sequence[Panel]]) -> Callable[[], Any]:
    """Rows of maps, all on the same kind of box."""
    return partial(_maps, tuple(tuple(row) for row in rows))


def _maps(rows: Sequence[Sequence[Panel]]) -> Any:
    _plotly()
    from plotly.subplots import make_subplots

    wide = len(rows[0])
    titles = [panel.title for row in rows for panel in row]
    figure = make_subplots(
        len(rows), wide, subplot_titles=titles, horizontal_spacing=0.05, vertical_spacing=0.12
    )
    for down, row in enumerate(rows, start=1):
        for across, panel in enumerate(row, start=1):
            (left, right), (low, high) = panel.bounds
            along, up = panel.values.shape
            figure.add_heatmap(
                z=np.asarray(panel.values).T.tolist(),
                x=np.linspace(left, right, along + 1).tolist(),
                y=np.linspace(low, high, up + 1).tolist(),
                **_colours(panel.kind, rows),
                showscale=False,
                row=down,
                col=across,
            )
    figure.update_layout(**_style(), width=PANEL[0] * wide, height=PANEL[1] * len(rows))
    figure.update_annotations(font_size=13)
    return figure


def _colours(kind: str, rows: Sequence[Sequence[Panel]]) -> dict[str, Any]:
    """One scale for all panels of a kind, so that equal colours are equal values."""
    values = [panel.values for row in rows for panel in row if panel.kind == kind]
    scales = {"classes": CLASSES, "gamma": "Magma", "values": "RdBu"}
    return {
        "zmin": float(min(each.min() for each in values)),
        "zmax": float(max(each.max() for each in values)),
        "colorscale": scales[kind],
    }


def _style() -> dict[str, Any]:
    return {
        "template": "none",
        "font": {"size": 13, "family": "sans-serif"},
        "margin": {"l": 65, "r": 20, "t": 40, "b": 55},
        "paper_bgcolor": "white",
    }


def write_pictures(pictures: Mapping[Path, Picture]) -> None:
    """Draw all pictures into SVG files in one go: starting the renderer is what takes time."""
    if not pictures:
        return
    _plotly()
    import plotly.io

    if find_spec("kaleido") is None:
        raise MissingExtra("kaleido", "plots")
    figures = [picture.draw() for picture in pictures.values()]
    plotly.io.write_images(
        fig=figures,
        file=[str(path) for path in pictures],
        # Left out, the renderer's own size would win over the layout's.
        width=[figure.layout.width for figure in figures],
        height=[figure.layout.height for figure in figures],
    )
    for path in pictures:
        path.write_text(_numbered(path.read_text(encoding="utf-8")), encoding="utf-8")


def _numbered(drawing: str) -> str:
    """The drawing with numbers for its random names, so that the same figure is the same file."""
    names = dict.fromkeys(re.findall(r"(?:defs-|trace)([0-9a-f]{6})\b", drawing))
    for number, name in enumerate(names):
        drawing = re.sub(rf"(defs-|clip|trace|legend){name}", rf"\g<1>{number:06}", drawing)
    return drawing


def _plotly() -> Any:
    try:
        import plotly.graph_objects
    except ImportError as problem:
        raise MissingExtra("plotly", "plots") from problem
    return plotly.graph_objects
