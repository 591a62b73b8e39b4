"""Where gamma is large: over a grid of two features, or over a projection of many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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
from anharmonic.protocols import Floats, Integers
from anharmonic.randomness import generator
from anharmonic.regions import Region, as_region, host
from anharmonic.scores import Scores

__all__ = ["colour_top", "decision_regions", "projection"]

FINEST = 160
"""Cells along an axis; a finer grid is averaged."""
DRAWN = 1500
RINGED = 10


class Raster(NamedTuple):
    """A grid's axes, and how many of its cells go into one that is drawn."""

    axes: tuple[Floats, Floats]
    every: tuple[int, int]

    def coarse_axes(self) -> list[Floats]:
        return [
            np.array([part.mean() for part in _parts(axis, every)])
            for axis, every in zip(self.axes, self.every, strict=True)
        ]

    def means(self, values: Floats) -> Floats:
        """Averages over the cells that are drawn as one."""
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


def _parts(values: Any, every: int, axis: int = 0) -> list[Any]:
    return np.split(values, range(every, values.shape[axis], every), axis=axis)


def colour_top(scores: Several) -> float:
    """Where the colours end, for pictures that share them: the 99th percentile of all."""
    known = [each.values[np.isfinite(each.values)] for each in named(scores).values()]
    every = np.concatenate(known)
    if not len(every):
        raise SettingsError("no point is measured yet: go on with resume= before drawing")
    top = float(np.quantile(every, 0.99))
    return top if top > 0 else float(every.max()) or 1.0


def decision_regions(scores: Several, region: Any, *, top: float | None = None) -> Any:
    """What each model decides, and its gamma beneath, over a grid of two features.

    Decisions are read from the scores: measure with probabilities, with output="label", or
    one-hot with reduction="norm". A regression shows its output instead. `top` ends the
    colours, so that several pictures can share them (main paper, Fig. 2).
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
    for column, each in enumerate(models.values(), start=1):
        for trace in _decided(each, raster, first=column == 1):
            figure.add_trace(trace, row=1, col=column)
        figure.add_trace(
            _heat(horizontal, vertical, raster.means(each.values), top), row=2, col=column
        )
        figure.update_xaxes(title={"text": short(where.columns[0])}, row=2, col=column)
    figure.update_yaxes(title={"text": short(where.columns[1], 18)}, col=1)
    figure.update_layout(
        legend=LEGEND_BELOW,
        coloraxis=_colours(top),
    )
    caption = (
        f"Above: what each model decides. Below: gamma, which knows no labels{_coarse(raster)}."
    )
    return finished(figure, "Decisions and gamma", caption, height=560, headed=True)


def _coarse(raster: Raster) -> str:
    across, along = raster.every
    return "" if across == along == 1 else f", averaged over {across} × {along} cells"


def _raster(region: Region, models: dict[str, Scores]) -> Raster:
    values = host(region.values)
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


def _decided(scores: Scores, raster: Raster, first: bool) -> list[Any]:
    """The upper picture: areas for classes with their legend, shades for numbers."""
    go = graph_objects()
    horizontal, vertical = raster.coarse_axes()
    found = decisions(scores)
    if found is None:
        if scores.settings.get("kind") == "onehot":
            raise SettingsError(
                'these scores kept no decisions: measure with output="label", or with '
                'output="onehot" and reduction="norm"'
            )
        outputs = scores.outputs.reshape(len(scores), -1)[:, 0]
        shades = raster.means(outputs)
        return [
            go.Contour(
                x=horizontal,
                y=vertical,
                z=shades.astype(np.float32),
                colorscale="Blues",
                showscale=False,
                contours={"coloring": "heatmap", "showlabels": True},
            )
        ]
    many = len(found.classes)
    colours = [CLASSES[index % len(CLASSES)] for index in range(many)]
    steps = [(edge / many, colours[index]) for index in range(many) for edge in (index, index + 1)]
    area = go.Heatmap(
        x=horizontal,
        y=vertical,
        z=raster.middles(found.positions).astype(np.uint8 if many < 256 else np.uint16),
        colorscale=steps if many > 1 else [(0, colours[0]), (1, colours[0])],
        zmin=-0.5,
        zmax=many - 0.5,
        showscale=False,
        hoverinfo="skip",
    )
    keys = [
        go.Scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=text(name),
            legendgroup=text(name),
            showlegend=first,
            marker={"symbol": "square", "size": 12, "color": colours[index]},
        )
        for index, name in enumerate(found.classes)
    ]
    return [area, *keys]


def _heat(horizontal: Floats, vertical: Floats, values: Floats, top: float) -> Any:
    return graph_objects().Heatmap(
        x=horizontal,
        y=vertical,
        z=values.astype(np.float32),
        coloraxis="coloraxis",
        hovertemplate="%{x:.4g}, %{y:.4g}: gamma %{z:.4g}<extra></extra>",
    )


def _colours(top: float) -> dict[str, Any]:
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


def projection(
    scores: Several, points: Any, *, drawn: int = DRAWN, top: float | None = None, seed: int = 0
) -> Any:
    """The points on their two main axes, coloured by gamma; the worst ten are ringed.

    Axes are principal components of the standardised features (two features are drawn as they
    are). At most `drawn` points appear, picked with the seed, the worst always among them.
    """
    from plotly.subplots import make_subplots

    models = named(scores)
    region = as_region(points)
    if any(len(each) != len(region) for each in models.values()):
        raise SettingsError("the scores belong to other points: give the points they were made at")
    top = colour_top(models) if top is None else top
    picked = _some(len(region), drawn, seed)
    figure = make_subplots(
        rows=1,
        cols=len(models),
        shared_yaxes=True,
        horizontal_spacing=0.04,
        column_titles=[short(name, 30) for name in models],
        figure=blank(),
    )
    for column, each in enumerate(models.values(), start=1):
        worst = each.worst(RINGED)
        shown = np.union1d(picked, worst)
        places, titles = _places(region, shown, picked)
        for trace in _dots(each, shown, worst, places):
            figure.add_trace(trace, row=1, col=column)
        figure.update_xaxes(title={"text": short(titles[0], 40)}, row=1, col=column)
    figure.update_yaxes(title={"text": short(titles[1], 40)}, col=1)
    # The labels are short, and fitting margins to them means drawing twice.
    figure.update_xaxes(automargin=False)
    figure.update_yaxes(automargin=False)
    figure.update_layout(coloraxis=_colours(top))
    some = (
        f"{len(picked):,} of {len(region):,}" if len(picked) < len(region) else f"{len(region):,}"
    )
    caption = (
        f"{some} points{' picked at random and the worst' if len(picked) < len(region) else ''}, "
        f"darker where gamma is larger. The {len(worst)} worst are ringed."
    )
    return finished(figure, "Where gamma is large", caption, height=440, headed=True)


def _some(many: int, count: int, seed: int) -> Integers:
    if many <= count:
        return np.arange(many)
    return np.sort(generator(seed, 11).choice(many, count, replace=False))


def _places(region: Region, shown: Integers, picked: Integers) -> tuple[Floats, tuple[str, str]]:
    """Coordinates (shown, 2), and what the axes are."""
    values = host(region.values[shown.tolist()])
    if region.dimension == 1:
        raise SettingsError("one feature has no projection: plot gamma against it instead")
    if region.dimension == 2:
        return values, (region.columns[0], region.columns[1])
    known = host(region.values[picked.tolist()])
    centre, spread = known.mean(axis=0), known.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    _, sizes, axes = np.linalg.svd((known - centre) / spread, full_matrices=False)
    share = sizes**2 / max(float(np.sum(sizes**2)), 1e-300)
    # The sign of a component is arbitrary: let its largest coefficient be positive.
    main = axes[:2] * np.sign(axes[:2][np.arange(2), np.abs(axes[:2]).argmax(axis=1)])[:, None]
    names = tuple(
        f"{order} component ({part:.0%} of the spread)"
        for order, part in zip(("first", "second"), share[:2], strict=True)
    )
    return ((values - centre) / spread) @ main.T, (names[0], names[1])


def _dots(scores: Scores, shown: Integers, worst: Integers, places: Floats) -> list[Any]:
    """All points, the largest on top, and the worst once more with a ring around them."""
    order = np.argsort(np.nan_to_num(scores.values[shown]), kind="stable")
    rows, places = shown[order], places[order]
    ringed = np.isin(rows, worst)
    # Two traces: a size or a line for each point would take a browser twice as long.
    return [
        _markers(scores, rows[~ringed], places[~ringed], 6, {"width": 0.8, "color": "#7B8794"}),
        _markers(scores, rows[ringed], places[ringed], 10, {"width": 2, "color": "#0072B2"}),
    ]


def _markers(
    scores: Scores, rows: Integers, places: Floats, size: int, line: dict[str, Any]
) -> Any:
    return graph_objects().Scatter(
        x=places[:, 0].astype(np.float32),
        y=places[:, 1].astype(np.float32),
        mode="markers",
        showlegend=False,
        customdata=rows,
        marker={
            "opacity": 1,
            "color": scores.values[rows].astype(np.float32),
            "coloraxis": "coloraxis",
            "size": size,
            "line": line,
        },
        hovertemplate="row %{customdata}: gamma %{marker.color:.4g}<extra></extra>",
    )
