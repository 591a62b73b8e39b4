"""Many features on two axes, coloured by gamma."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.baselines import fragility
from anharmonic.plots.maps import colour_top, colours
from anharmonic.plots.named import Several, measured_region, named
from anharmonic.plots.style import blank, finished, graph_objects, short
from anharmonic.regions import Region
from anharmonic.scores import Scores

__all__ = ["FEWEST", "projection"]

FEWEST = 3
DRAWN = 800
RINGED = 10


def projection(
    scores: Several, points: Any, *, drawn: int = DRAWN, top: float | None = None, seed: int = 0
) -> Any:
    """The points on their two main axes, coloured by gamma; the worst ten are ringed.

    Axes are principal components of the standardised features (two features are drawn as they
    are). At most `drawn` points appear, picked with the seed, the worst always among them.
    """
    from plotly.subplots import make_subplots

    models = named(scores)
    region = measured_region(points, next(iter(models.values())))
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
    figure.update_layout(coloraxis=colours(top))
    metric, fragile = each.metric, each.fragile
    some = (
        f"{len(picked):,} of {len(region):,}" if len(picked) < len(region) else f"{len(region):,}"
    )
    caption = (
        f"{some} points{' picked at random and the worst' if len(picked) < len(region) else ''}, "
        f"darker where {metric} is larger. The {len(worst)} worst are ringed."
    )
    return finished(figure, f"Where {metric} is {fragile}", caption, height=440, headed=True)


def _some(many: int, count: int, seed: int) -> Integers:
    if many <= count:
        return np.arange(many)
    return np.sort(generator(seed, Stream.PROJECTION_SAMPLE).choice(many, count, replace=False))


def _places(region: Region, shown: Integers, picked: Integers) -> tuple[Floats, tuple[str, str]]:
    """Coordinates (shown, 2), and what the axes are."""
    values = to_numpy64(region.values[shown.tolist()])
    if region.dimension == 1:
        raise SettingsError("one feature has no projection: plot gamma against it instead")
    if len(picked) < FEWEST:
        raise SettingsError(
            f"a projection needs {FEWEST} points at least: see worst_points instead"
        )
    if region.dimension == 2:
        return values, (region.columns[0], region.columns[1])
    known = to_numpy64(region.values[picked.tolist()])
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
    """All points, the most fragile on top, and the worst once more with a ring around them."""
    order = np.argsort(np.nan_to_num(fragility(scores)[shown]), kind="stable")
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
