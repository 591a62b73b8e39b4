"""A search as pictures: an image on its way (main paper, Figs. 3 and 4), or margins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from anharmonic.errors import SettingsError
from anharmonic.measures.search.result import Search
from anharmonic.plots.images import is_image, marks, picture
from anharmonic.plots.style import (
    LEGEND_BELOW,
    STRONG,
    blank,
    finished,
    graph_objects,
    model_styles,
    short,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["search_strip"]

MOST = 10


def search_strip(
    search: Search, rows: int | Sequence[int] = 0, steps: Sequence[int] = (0, 10, 25)
) -> Figure:
    """What some walks did: images on their way with changed pixels ringed, one strip per row.

    Where points are no images, a line of the margin along each path.

    Parameters
    ----------
    search
        From `adversarial_search`.
    rows
        Which walks, by the numbers of their points.
    steps
        At which steps an image is shown. A walk that ended earlier is shown where it ended.

    References
    ----------
    Main paper, Figs. 3 and 4.
    """
    wanted = [int(row) for row in ([rows] if isinstance(rows, int) else rows)]
    if not wanted or len(wanted) > MOST or min(wanted) < 0 or max(wanted) >= len(search):
        raise SettingsError(f"rows are 1 to {MOST} numbers from 0 to {len(search) - 1}")
    shape = tuple(search.settings.shape)
    if is_image(shape) and not search.settings.still:
        return _strips(search, wanted, steps, shape)
    return _margins(search, wanted)


def _strips(
    search: Search, rows: list[int], steps: Sequence[int], shape: tuple[int, ...]
) -> Figure:
    graph_objects()
    from plotly.subplots import make_subplots

    shown = {row: _shown(steps, int(search.taken[row])) for row in rows}
    columns = max(len(its_steps) for its_steps in shown.values())
    titles = [
        _title(search, row, shown[row][column]) if column < len(shown[row]) else ""
        for row in rows
        for column in range(columns)
    ]
    figure = make_subplots(
        rows=len(rows),
        cols=columns,
        subplot_titles=titles,
        horizontal_spacing=0.03,
        vertical_spacing=0.12 / len(rows),
        figure=blank(),
    )
    low, high = _range(search)
    for line, row in enumerate(rows, start=1):
        path = search.path(row)
        for column, step in enumerate(shown[row], start=1):
            figure.add_trace(picture(path[step], shape, low, high), row=line, col=column)
            figure.add_trace(marks(path[0], path[step], shape), row=line, col=column)
    figure.update_xaxes(visible=False)
    # An image's first line is its uppermost.
    figure.update_yaxes(visible=False, autorange="reversed")
    caption = (
        f"Steps of radius {search.settings.radius:.4g} by {search.settings.climb}; rings "
        "mark the pixels that differ from the first picture."
    )
    return finished(figure, "The search on its way", caption, 120 + 260 * len(rows), headed=True)


def _shown(steps: Sequence[int], taken: int) -> list[int]:
    """The steps that were reached, and the last one."""
    reached = sorted({step for step in steps if 0 <= step <= taken})
    return reached if reached and reached[-1] == taken else [*reached, taken]


def _title(search: Search, row: int, step: int) -> str:
    name, margin = search.name_of(int(search.labels[row, step])), search.margins[row, step]
    return f"step {step}: {short(name)} ({margin:+.3g})"


def _range(search: Search) -> tuple[float, float]:
    """Black and white: the bounds, or the ends of the data."""
    bounds = search.settings.bounds
    ends = search.starts if bounds is None else np.asarray(bounds)
    return float(np.min(ends)), float(np.max(ends))


def _margins(search: Search, rows: list[int]) -> Figure:
    go = graph_objects()
    # Styles go by the order of names as text; with zeros before them that is the numbers'.
    styles = model_styles(f"{row:08d}" for row in rows)
    figure = blank()
    for row in rows:
        margins = search.margins[row, : search.taken[row] + 1]
        figure.add_trace(
            go.Scatter(
                x=np.arange(len(margins)),
                y=margins,
                mode="lines+markers",
                name=_walk_name(search, row),
                line=styles[f"{row:08d}"],
                hovertemplate="step %{x}: margin %{y:.4g}<extra></extra>",
            )
        )
    figure.add_hline(y=0, line={"color": STRONG, "dash": "dot"})
    figure.update_xaxes(title={"text": "step"}, rangemode="tozero")
    figure.update_yaxes(title={"text": "margin of the first class"})
    figure.update_layout(legend=LEGEND_BELOW, showlegend=True)
    caption = (
        f"Steps of radius {search.settings.radius:.4g} by {search.settings.climb}. Below the "
        "dotted line the model decides otherwise."
    )
    return finished(figure, "Margins along the search", caption)


def _walk_name(search: Search, row: int) -> str:
    """A row, its class, and the first other one it met."""
    steps = [0, int(search.flips[row])] if search.flipped[row] else [0]
    classes = (short(search.name_of(int(search.labels[row, step]))) for step in steps)
    return f"row {row}: {' → '.join(classes)}"
