"""Many features on two axes, coloured by gamma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.baselines import fragility
from anharmonic.plots.maps import colour_top, colours
from anharmonic.plots.named import Several, measured_region, named
from anharmonic.plots.style import BARS, MARK, blank, finished, graph_objects, short, text
from anharmonic.regions import Region, as_region
from anharmonic.scores import Scores

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace
    from plotly.graph_objects import Figure

__all__ = ["FEWEST", "projection", "share_on_map"]

FEWEST = 3
"""Points below which two components say nothing."""
DRAWN = 800
RINGED = 10
"""How many of the worst points have a ring around them."""


def projection(
    scores: Several,
    points: object,
    *,
    drawn: int = DRAWN,
    top: float | None = None,
    seed: int = 0,
) -> Figure:
    """The points on their two main axes, coloured by gamma; the worst ten are ringed.

    Axes are principal components of the standardised features (two features are drawn as they
    are).

    Parameters
    ----------
    scores
        One model's, those of several by name, or a comparison: a panel each.
    points
        Where they were measured.
    drawn
        The most points that appear, picked at random; the worst are always among them.
    top
        Where the colours end, so that several pictures can share them.
    seed
        Of the picking.
    """
    from plotly.subplots import make_subplots

    models = named(scores)
    region = measured_region(points, next(iter(models.values())))
    if any(len(measured) != len(region) for measured in models.values()):
        raise SettingsError("the scores belong to other points: give the points they were made at")
    top = colour_top(models) if top is None else top
    picked = _sample(len(region), drawn, seed)
    figure = make_subplots(
        rows=1,
        cols=len(models),
        shared_yaxes=True,
        horizontal_spacing=0.04,
        column_titles=[short(name, 30) for name in models],
        figure=blank(),
    )
    for column, measured in enumerate(models.values(), start=1):
        worst = measured.worst(RINGED)
        shown = np.union1d(picked, worst)
        coordinates, titles = _coordinates(region, shown, picked)
        for trace in _dots(measured, shown, worst, coordinates, region.row_names):
            figure.add_trace(trace, row=1, col=column)
        figure.update_xaxes(title={"text": short(titles[0], 40)}, row=1, col=column)
    figure.update_yaxes(title={"text": short(titles[1], 40)}, col=1)
    # The labels are short, and fitting margins to them means drawing twice.
    figure.update_xaxes(automargin=False)
    figure.update_yaxes(automargin=False)
    figure.update_layout(coloraxis=colours(top))
    metric, fragile = measured.metric, measured.fragile
    count = f"{len(region):,} points"
    if len(picked) < len(region):
        count = f"{len(picked):,} of {count} picked at random and the worst"
    strong = f"in a stronger colour where {metric} is larger"
    caption = f"{count}, {strong}. The {len(worst)} worst are ringed."
    return finished(figure, f"Where {metric} is {fragile}", caption, height=440, headed=True)


def _sample(rows: int, count: int, seed: int) -> Integers:
    """Row numbers, at most `count` of them, in order."""
    if rows <= count:
        return np.arange(rows)
    return np.sort(generator(seed, Stream.PROJECTION_SAMPLE).choice(rows, count, replace=False))


def _coordinates(
    region: Region, shown: Integers, picked: Integers
) -> tuple[Floats, tuple[str, str]]:
    """Coordinates (shown, 2), and what the axes are.

    The components are those of the picked points, a fair sample; the worst are none.
    """
    values = to_numpy64(region.values[shown.tolist()])
    if region.dimension == 1:
        raise SettingsError("one feature has no projection: plot gamma against it instead")
    if len(picked) < FEWEST:
        raise SettingsError(
            f"a projection needs {FEWEST} points at least: see worst_points instead"
        )
    if region.dimension == 2:
        return values, (region.columns[0], region.columns[1])
    axes = _main_axes(to_numpy64(region.values[picked.tolist()]))
    titles = tuple(
        f"{order} component ({part:.0%} of the spread)"
        for order, part in zip(("first", "second"), axes.shares, strict=True)
    )
    return ((values - axes.centre) / axes.spread) @ axes.main.T, (titles[0], titles[1])


class _Axes(NamedTuple):
    """The two main axes (2, features) of standardised features, and how much they hold."""

    centre: Floats
    spread: Floats
    main: Floats
    shares: Floats


def _main_axes(sample: Floats) -> _Axes:
    """Principal components of points (points, features)."""
    centre, spread = sample.mean(axis=0), sample.std(axis=0)
    # A feature that does not vary is 0 after centring, whatever it is divided by.
    spread = np.where(spread > 0, spread, 1.0)
    # Principal components: right singular vectors (features, features) of the standardised
    # sample; squared singular values are proportional to the variances along them.
    _, sizes, axes = np.linalg.svd((sample - centre) / spread, full_matrices=False)
    shares = sizes**2 / max(float(np.sum(sizes**2)), 1e-300)
    # The sign of a component is arbitrary: let its largest coefficient be positive.
    main = axes[:2] * np.sign(axes[:2][np.arange(2), np.abs(axes[:2]).argmax(axis=1)])[:, None]
    return _Axes(centre, spread, main, shares[:2])


def share_on_map(points: object, seed: int = 0) -> float:
    """How much of the points' spread a map of them shows: all of two features, else of two axes.

    Parameters
    ----------
    points
        Those of a `projection`.
    seed
        Of the sample that the axes are taken from, as there.
    """
    region = as_region(points)
    if region.dimension <= 2 or len(region) < FEWEST:
        return 1.0
    picked = _sample(len(region), DRAWN, seed)
    return float(_main_axes(to_numpy64(region.values[picked.tolist()])).shares.sum())


def _dots(
    scores: Scores,
    shown: Integers,
    worst: Integers,
    coordinates: Floats,
    names: Sequence[str] | None,
) -> list[Trace]:
    """All points, the most fragile on top, and the worst once more with a ring around them."""
    order = np.argsort(np.nan_to_num(fragility(scores)[shown]), kind="stable")
    rows, coordinates = shown[order], coordinates[order]
    ringed = np.isin(rows, worst)
    # Two traces: a size or a line for each point would take a browser twice as long.
    thin, thick = {"width": 0.8, "color": MARK}, {"width": 2, "color": BARS[0]}
    return [
        _markers(scores, rows[~ringed], coordinates[~ringed], 6, thin, names),
        _markers(scores, rows[ringed], coordinates[ringed], 10, thick, names),
    ]


def _markers(
    scores: Scores,
    rows: Integers,
    coordinates: Floats,
    size: int,
    line: Mapping[str, object],
    names: Sequence[str] | None,
) -> Trace:
    return graph_objects().Scatter(
        x=coordinates[:, 0].astype(np.float32),
        y=coordinates[:, 1].astype(np.float32),
        mode="markers",
        showlegend=False,
        customdata=rows if names is None else [text(names[row]) for row in rows.tolist()],
        marker={
            "opacity": 1,
            "color": scores.values[rows].astype(np.float32),
            "coloraxis": "coloraxis",
            "size": size,
            "line": line,
        },
        hovertemplate="row %{customdata}: gamma %{marker.color:.4g}<extra></extra>",
    )
