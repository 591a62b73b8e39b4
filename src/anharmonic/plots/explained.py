"""One point's explanation: a bar for each feature, or a heat map over an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.measures.explain import REMAINDER, Explanation
from anharmonic.plots.images import is_image, marks, picture, pixels
from anharmonic.plots.points import contributions
from anharmonic.plots.style import BARS, PAPER, blank, finished, graph_objects

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["explanation"]

DIVERGING = ((0.0, BARS[1]), (0.5, PAPER), (1.0, BARS[0]))


def explanation(found: Explanation, most: int = 12) -> Figure:
    """Which features bend the model at a point: bars with names, a heat map for an image.

    On an image rings mark what the counterfactual changes.

    Parameters
    ----------
    found
        From `explain`.
    most
        The most bars; what has none is summed up in the last.
    """
    title = "Why here" if found.label is None else f"Why {found.label}"
    caption = " ".join(found.sentences)
    heat = found.heat
    if heat is not None and is_image(found.shape):
        caption += f" Pixels add up to {heat.sum():.4g}; {REMAINDER} are {found.remainder:+.3g}."
        return finished(_image(found, heat), title, caption, height=400, headed=True)
    if found.contributions is None:
        raise SettingsError(
            f"{len(found.names):,} features were too many to ask for each: explain with a larger "
            "limit=, or let fewer move with regions.points(…, moving=[…])"
        )
    figure = contributions(found.contributions, most=most)
    return finished(figure, title, caption, height=figure.layout.meta["height"])


def _image(found: Explanation, heat: Floats) -> Figure:
    go = graph_objects()
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1,
        cols=2,
        column_titles=["the point", "share of the deviation"],
        horizontal_spacing=0.06,
        figure=blank(),
    )
    bounds = found.settings.bounds
    # Black and white: the bounds, or the ends of this point's values.
    ends = found.values if bounds is None else np.asarray(bounds)
    shown = picture(found.values, found.shape, float(np.min(ends)), float(np.max(ends)))
    figure.add_trace(shown, row=1, col=1)
    if found.counterfactual is not None:
        rings = marks(found.values, found.counterfactual.values, found.shape)
        figure.add_trace(rings, row=1, col=1)
    # (height, width): the channels of a pixel share one colour.
    shares = pixels(heat, found.shape).sum(axis=2)
    top = float(np.abs(shares).max()) or 1.0
    heat_map = go.Heatmap(
        z=shares.astype(np.float32),
        colorscale=[list(stop) for stop in DIVERGING],
        zmin=-top,
        zmax=top,
        colorbar={"thickness": 14, "outlinewidth": 0},
        hovertemplate="row %{y}, column %{x}: %{z:.3g}<extra></extra>",
    )
    figure.add_trace(heat_map, row=1, col=2)
    figure.update_xaxes(visible=False, constrain="domain")
    # An image's first line is its uppermost, and its pixels are square.
    figure.update_yaxes(visible=False, autorange="reversed")
    figure.update_yaxes(scaleanchor="x2", row=1, col=2)
    return figure
