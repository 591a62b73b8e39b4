"""The chart to choose a model by: accuracy against gamma, with intervals and the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anharmonic.errors import SettingsError
from anharmonic.measures.compare import Comparison
from anharmonic.plots.curves import WIDE, decades
from anharmonic.plots.style import (
    LEGEND_BELOW,
    QUIET,
    blank,
    finished,
    graph_objects,
    model_styles,
    short,
    text,
)

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace
    from plotly.graph_objects import Figure

__all__ = ["frontier"]

SHORTEST = 1e-4
"""The smallest mean that a logarithmic axis shows, as a share of the largest."""


def frontier(comparison: Comparison) -> Figure:
    """Accuracy or R² of each model against its gamma, both with intervals, and the frontier.

    Parameters
    ----------
    comparison
        From `compare` with `labels=`.
    """
    if not comparison.labelled:
        raise SettingsError("there are no labels here: compare with labels= first")
    names, edge = comparison.ranking, comparison.frontier
    means = {name: comparison.overall(name).value for name in names}
    positive = [mean for mean in means.values() if mean > 0]
    wide = len(positive) == len(names) and max(positive) > WIDE * min(positive)
    # What is next to nothing stands at the left end, and is said to.
    least = SHORTEST * max(positive) if wide else -np.inf
    figure = blank([_edge(comparison, edge, least)] if len(edge) > 1 else [])
    for name in names:
        figure.add_trace(_model(comparison, name, least))
    metric, score = comparison.metric, comparison.label_metric
    figure.update_xaxes(title={"text": f"mean {metric}"}, rangemode="tozero")
    if wide:
        figure.update_xaxes(**decades())
    figure.update_yaxes(title={"text": score}, tickformat=".0%" if score == "accuracy" else ".2f")
    figure.update_layout(legend=LEGEND_BELOW, showlegend=True)
    better = "left" if comparison.fragile == "large" else "right"
    where = f", {comparison.counting}" if comparison.counting else ""
    caption = (
        f"Up is more right, {better} is less fragile{where}. Bars are {comparison.level:.0%} "
        f"intervals. Filled marks are on the frontier: no other model is better in both. "
        f"Hollow ones are behind a model that is."
    )
    hidden = [name for name in names if means[name] < least]
    if hidden:
        caption += f" Next to no {metric}, drawn at the end of the axis: {', '.join(hidden)}."
    return finished(figure, f"{score.capitalize()} against {metric}", caption)


def _edge(comparison: Comparison, names: list[str], least: float) -> Trace:
    """The frontier as steps: along it a better score costs gamma."""
    ends = [(comparison.overall(name).value, comparison.labelled[name]) for name in names]
    return graph_objects().Scatter(
        x=[max(mean, least) for mean, _ in ends],
        y=[score.estimate.value for _, score in ends],
        mode="lines",
        name="frontier",
        line={"color": QUIET, "width": 1.5, "dash": "dot", "shape": "hv"},
        hoverinfo="skip",
    )


def _model(comparison: Comparison, name: str, least: float) -> Trace:
    """One model: a mark with an interval along either axis."""
    score, counted = comparison.labelled[name], comparison.counted(name)
    value, mean = score.estimate.value, counted.mean
    low, high = score.interval(comparison.level)
    left, right = counted.interval(comparison.level)
    # A logarithmic axis cannot show a bar that reaches 0.
    left = max(left, 0.1 * mean, least) if np.isfinite(least) else left
    on_edge = comparison.standings[name].on_frontier
    colour = model_styles(comparison.scores)[name]["color"]
    return graph_objects().Scatter(
        x=[max(mean, least)],
        y=[value],
        name=text(name),
        mode="markers+text",
        text=[short(name, 18)],
        # Marks of models that are close stand apart where one is behind the other.
        textposition="top right" if on_edge else "bottom right",
        marker={
            "size": 12,
            "symbol": "circle" if on_edge else "circle-open",
            "color": colour,
            "line": {"width": 2, "color": colour},
        },
        error_x=_bar(max(mean, least), left, right, colour),
        error_y=_bar(value, low, high, colour),
        hovertemplate=(
            f"{text(name)}: {score.text(comparison.level)}, {text(comparison.metric)} "
            f"{counted.mean:.4g}, {comparison.standings[name]}<extra></extra>"
        ),
    )


def _bar(value: float, low: float, high: float, colour: str) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [max(high - value, 0.0)],
        "arrayminus": [max(value - low, 0.0)],
        "color": colour,
        "thickness": 1.2,
        "width": 4,
    }
