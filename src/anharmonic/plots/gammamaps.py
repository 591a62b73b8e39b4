"""The Gamma Map: stable and unstable points by probability and gamma (main paper, Fig. 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.measures.stability import GammaMap
from anharmonic.plots.style import BARS, INK, LEGEND_BELOW, REST, blank, finished, graph_objects
from anharmonic.scores import Scores

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace
    from plotly.graph_objects import Figure

__all__ = ["gamma_map"]

CELLS = 60
"""Cells of the density along either axis."""
Mask = NDArray[np.bool_]


def gamma_map(
    known: GammaMap | Scores,
    probabilities: ArrayLike | None = None,
    *,
    unstable: ArrayLike | None = None,
    steps: int = 25,
    threshold: float | None = None,
    new: tuple[ArrayLike, ArrayLike] | None = None,
) -> Figure:
    """Points by probability and gamma, as dots and as a density, with the stable region's edge.

    Parameters
    ----------
    known
        A map, or scores of gamma to make one from.
    probabilities
        Of the predicted classes, with scores.
    unstable
        Which points flipped, with scores, where that is known.
    steps, threshold
        The stable region's, with scores: P·exp(−steps·gamma) ≥ threshold.
    new
        Probabilities and gammas of further points to show on it.

    References
    ----------
    Main paper, Fig. 5.
    """
    if isinstance(known, Scores):
        if probabilities is None:
            raise SettingsError("scores alone make no map: give probabilities= too")
        known = GammaMap.of(known, probabilities, unstable, steps, threshold)
    graph_objects()
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        horizontal_spacing=0.05,
        column_titles=["points", "density"],
        figure=blank(),
    )
    top = 1.08 * float(known.gammas.max(initial=0.0)) or 1.0
    for trace in _dots(known):
        figure.add_trace(trace, row=1, col=1)
    figure.add_trace(_density(known, top), row=1, col=2)
    for column in (1, 2):
        figure.add_trace(_edge(known, top, named=column == 1), row=1, col=column)
        if new is not None:
            figure.add_trace(_new(new, named=column == 1), row=1, col=column)
    figure.update_xaxes(range=[0, 1.02], title={"text": "probability of the predicted class"})
    figure.update_yaxes(range=[0, top], title={"text": "gamma"}, col=1)
    figure.update_layout(legend=LEGEND_BELOW)
    inside = known.place(known.probabilities, known.gammas).inside
    caption = (
        f"{len(known):,} points, {inside.mean():.0%} of them in the stable region below the line, "
        f"where P·exp(−{known.steps}·gamma) ≥ {known.threshold:.3g}."
        f"{_unstable_shares(known, inside)}"
    )
    return finished(figure, "Gamma Map", caption, height=430, headed=True)


def _unstable_shares(known: GammaMap, inside: Mask) -> str:
    """How many were unstable on either side of the line, where that is known."""
    if known.unstable is None or inside.all() or not inside.any():
        return ""
    below, above = known.unstable[inside].mean(), known.unstable[~inside].mean()
    return f" Unstable are {below:.0%} of those below and {above:.0%} of those above."


def _dots(known: GammaMap) -> list[Trace]:
    if known.unstable is None:
        return [_markers(known, np.ones(len(known), dtype=bool), "known points", REST)]
    return [
        _markers(known, ~known.unstable, "stable", BARS[0]),
        _markers(known, known.unstable, "unstable", BARS[1]),
    ]


def _markers(known: GammaMap, which: Mask, name: str, colour: str) -> Trace:
    return graph_objects().Scatter(
        x=known.probabilities[which].astype(np.float32),
        y=known.gammas[which].astype(np.float32),
        mode="markers",
        name=name,
        marker={"size": 6, "color": colour, "opacity": 0.6},
        hovertemplate="P %{x:.3f}, gamma %{y:.4g}<extra></extra>",
    )


def _density(known: GammaMap, top: float) -> Trace:
    """How crowded each cell is; with flips known, where the unstable are the crowd."""
    across, along = np.linspace(0, 1, CELLS), np.linspace(0, top, CELLS)
    # A probability and a gamma for each cell, (CELLS²,) each; rows of the picture are gammas.
    probabilities, gammas = (axis.ravel() for axis in np.meshgrid(across, along))
    density: Floats = known.density(probabilities, gammas).reshape(CELLS, CELLS)
    return graph_objects().Heatmap(
        x=across.astype(np.float32),
        y=along.astype(np.float32),
        z=(density / max(float(density.max()), 1e-300)).astype(np.float32),
        colorscale="Blues",
        colorbar={"title": {"text": "density", "side": "right"}, "thickness": 14},
        hoverinfo="skip",
    )


def _edge(known: GammaMap, top: float, named: bool) -> Trace:
    """The line on which P·exp(−steps·gamma) is the threshold; left of it there is none."""
    least = min(max(known.threshold, 1e-6), 1.0)
    across = np.linspace(least, 1, 100)
    return graph_objects().Scatter(
        x=across,
        y=np.minimum(known.contour(across), 2 * top),
        mode="lines",
        name=f"P·exp(−{known.steps}·gamma) = {known.threshold:.3g}",
        showlegend=named,
        line={"color": INK, "dash": "dash", "width": 2},
        hoverinfo="skip",
    )


def _new(new: tuple[ArrayLike, ArrayLike], named: bool) -> Trace:
    return graph_objects().Scatter(
        x=np.atleast_1d(new[0]),
        y=np.atleast_1d(new[1]),
        mode="markers",
        name="new points",
        showlegend=named,
        marker={"symbol": "star", "size": 13, "color": "#E69F00", "line": {"width": 1}},
    )
