"""What models decide and where their gamma is large, over a grid of two features."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import SettingsError
from anharmonic.plots.named import Several, decisions, named
from anharmonic.plots.style import (
    CLASSES,
    GAMMA,
    LEGEND_BELOW,
    blank,
    finished,
    graph_objects,
    short,
    text,
)
from anharmonic.regions import Region, as_region
from anharmonic.scores import Scores

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace
    from plotly.graph_objects import Figure

__all__ = ["colour_top", "colours", "decision_regions"]

Number = TypeVar("Number", bound=np.generic)
FINEST = 160
"""Cells along an axis; a finer grid is averaged."""


class Raster(NamedTuple):
    """A grid's axes, and how many of its cells go into one that is drawn."""

    axes: tuple[Floats, Floats]
    every: tuple[int, int]

    def coarse_axes(self) -> list[Floats]:
        """The middles of the cells that are drawn, along either axis."""
        return [
            np.array([part.mean() for part in _parts(axis, every)])
            for axis, every in zip(self.axes, self.every, strict=True)
        ]

    def means(self, values: Floats) -> Floats:
        """Averages over the cells that are drawn as one."""
        # (first, second): the second feature counts fastest; a picture is the transpose.
        image = values.reshape(len(self.axes[0]), len(self.axes[1]))
        for axis, every in enumerate(self.every):
            parts = [part.mean(axis=axis) for part in _parts(image, every, axis)]
            image = np.stack(parts, axis=axis)
        return image.T

    def middles(self, values: Integers) -> Integers:
        """One cell of each group, near its middle."""
        image = values.reshape(len(self.axes[0]), len(self.axes[1]))
        across, along = self.every
        return image[across // 2 :: across, along // 2 :: along].T


def _parts(values: NDArray[Number], every: int, axis: int = 0) -> list[NDArray[Number]]:
    return np.split(values, range(every, values.shape[axis], every), axis=axis)


def colour_top(scores: Several) -> float:
    """Where the colours end, for pictures that share them: the 99th percentile of all."""
    columns = [measured.values for measured in named(scores).values()]
    finite = np.concatenate([values[np.isfinite(values)] for values in columns])
    if not len(finite):
        raise SettingsError("no point is measured yet: go on with resume= before drawing")
    top = float(np.quantile(finite, 0.99))
    return top if top > 0 else float(finite.max()) or 1.0


def decision_regions(scores: Several, region: object, *, top: float | None = None) -> Figure:
    """What each model decides, and its gamma beneath, over a grid of two features.

    Decisions are read from the scores: measure with probabilities, with output="label", or
    one-hot with reduction="norm". A regression shows its output instead.

    Parameters
    ----------
    scores
        One model's, those of several by name, or a comparison: a column each.
    region
        The grid they were measured on, from `regions.grid`.
    top
        Where the colours end, so that several pictures can share them.

    References
    ----------
    Main paper, Fig. 2.
    """
    from plotly.subplots import make_subplots

    models = named(scores)
    where = as_region(region)
    raster = _raster(where, models)
    top = colour_top(models) if top is None else top
    figure = make_subplots(
        rows=2,
        cols=len(models),
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.04,
        vertical_spacing=0.07,
        column_titles=[short(name, 30) for name in models],
        figure=blank(),
    )
    horizontal, vertical = raster.coarse_axes()
    for column, measured in enumerate(models.values(), start=1):
        for trace in _decided(measured, raster, first=column == 1):
            figure.add_trace(trace, row=1, col=column)
        heat = _heat(horizontal, vertical, raster.means(measured.values))
        figure.add_trace(heat, row=2, col=column)
        figure.update_xaxes(title={"text": short(where.columns[0])}, row=2, col=column)
    figure.update_yaxes(title={"text": short(where.columns[1], 18)}, col=1)
    figure.update_layout(
        legend=LEGEND_BELOW,
        coloraxis=colours(top),
    )
    caption = (
        f"Above: what each model decides. Below: gamma, which knows no labels{_coarse(raster)}."
    )
    return finished(figure, "Decisions and gamma", caption, height=560, headed=True)


def _coarse(raster: Raster) -> str:
    """How many cells are drawn as one, where it is more than one."""
    across, along = raster.every
    return "" if across == along == 1 else f", averaged over {across} × {along} cells"


def _raster(region: Region, models: dict[str, Scores]) -> Raster:
    values = to_numpy64(region.values)
    if region.kind != "grid" or values.shape[1] != 2:
        raise SettingsError(
            "decision regions are drawn over a grid of two features: measure on "
            "regions.grid([(low, high), (low, high)], steps), or use plots.projection"
        )
    wrong = [name for name, scores in models.items() if len(scores) != len(values)]
    if wrong:
        raise SettingsError(f"{wrong[0]} has another number of points than the grid: give its own")
    axes = np.unique(values[:, 0]), np.unique(values[:, 1])
    across, along = (-(-len(axis) // FINEST) for axis in axes)
    return Raster(axes, (across, along))


def _decided(scores: Scores, raster: Raster, first: bool) -> list[Trace]:
    """The upper picture: areas for classes with their legend, shades for numbers."""
    go = graph_objects()
    horizontal, vertical = raster.coarse_axes()
    decided = decisions(scores)
    if decided is None:
        return [_shades(scores, raster)]
    count = len(decided.classes)
    tints = [CLASSES[index % len(CLASSES)] for index in range(count)]
    # A colour scale of plain steps: each class begins and ends with its own colour.
    steps = [(edge / count, tints[index]) for index in range(count) for edge in (index, index + 1)]
    area = go.Heatmap(
        x=horizontal,
        y=vertical,
        z=raster.middles(decided.positions).astype(np.uint8 if count < 256 else np.uint16),
        colorscale=steps if count > 1 else [(0, tints[0]), (1, tints[0])],
        zmin=-0.5,
        zmax=count - 0.5,
        showscale=False,
        hoverinfo="skip",
    )
    # A heat map has no legend: points that are nowhere stand in it.
    keys = [
        go.Scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=text(name),
            legendgroup=text(name),
            showlegend=first,
            marker={"symbol": "square", "size": 12, "color": tints[index]},
        )
        for index, name in enumerate(decided.classes)
    ]
    return [area, *keys]


def _shades(scores: Scores, raster: Raster) -> Trace:
    """The first output as shades with contour lines."""
    if scores.settings.kind == "onehot":
        raise SettingsError(
            'these scores kept no decisions: measure with output="label", or with '
            'output="onehot" and reduction="norm"'
        )
    horizontal, vertical = raster.coarse_axes()
    outputs = scores.outputs.reshape(len(scores), -1)[:, 0]
    return graph_objects().Contour(
        x=horizontal,
        y=vertical,
        z=raster.means(outputs).astype(np.float32),
        colorscale="Blues",
        showscale=False,
        contours={"coloring": "heatmap", "showlabels": True},
    )


def _heat(horizontal: Floats, vertical: Floats, values: Floats) -> Trace:
    return graph_objects().Heatmap(
        x=horizontal,
        y=vertical,
        z=values.astype(np.float32),
        coloraxis="coloraxis",
        hovertemplate="%{x:.4g}, %{y:.4g}: gamma %{z:.4g}<extra></extra>",
    )


def colours(top: float) -> dict[str, object]:
    """The colour axis of gamma, from 0 to `top`."""
    return {
        "colorscale": [list(stop) for stop in GAMMA],
        "cmin": 0,
        "cmax": top,
        "colorbar": {
            "title": {"text": "gamma", "side": "right"},
            "thickness": 14,
            "outlinewidth": 0,
        },
    }
