"""How far decisions are from changing: the share that a search flipped against distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from anharmonic.measures.search.flips import step_in_words
from anharmonic.measures.search.result import Search
from anharmonic.plots.style import (
    LEGEND_BELOW,
    blank,
    finished,
    graph_objects,
    model_styles,
    text,
    with_alpha,
)

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace
    from plotly.graph_objects import Figure

__all__ = ["flip_curve"]


def flip_curve(searches: Search | Mapping[str, Search]) -> Figure:
    """The share of decisions that a search changed within each distance, with its interval.

    Parameters
    ----------
    searches
        From `adversarial_search`: one, or several by name, such as models or climbs.
    """
    named = {searches.settings.climb: searches} if isinstance(searches, Search) else dict(searches)
    styles = model_styles(named)
    figure = blank()
    for name, search in named.items():
        for trace in _curve(name, search, styles[name]):
            figure.add_trace(trace)
    first = next(iter(named.values()))
    figure.update_xaxes(title={"text": f"distance, {first.curve.unit}"}, rangemode="tozero")
    figure.update_yaxes(title={"text": "decisions changed"}, tickformat=".0%", rangemode="tozero")
    figure.update_layout(legend=LEGEND_BELOW, showlegend=len(named) > 1)
    steps = f"{first.settings.steps} steps of {step_in_words(first.settings)}"
    queries = sum(int(search.queries.sum()) for search in named.values())
    caption = (
        f"Share of {len(first):,} points whose decision a search by {first.settings.climb} changed "
        f"within each distance, in at most {steps}; bands are 95% intervals, {queries:,} queries. "
        "The lower, the more robust. At least so many can be changed: a search finds a way across "
        "a boundary, not the shortest."
    )
    return finished(figure, "How far decisions are from changing", caption)


def _curve(name: str, search: Search, style: Mapping[str, str]) -> list[Trace]:
    """A staircase, and the band of its interval beneath it."""
    curve, go = search.curve, graph_objects()
    # The last share holds to where the longest walk went.
    distances = [*curve.distances, curve.furthest]
    rates = [*curve.rates, curve.rates[-1]]
    shared = {"mode": "lines", "legendgroup": text(name), "x": distances}
    edge = {"shape": "hv", "width": 0}
    return [
        go.Scatter(
            **shared, y=[rate.low for rate in rates], line=edge, showlegend=False, hoverinfo="skip"
        ),
        go.Scatter(
            **shared,
            y=[rate.high for rate in rates],
            line=edge,
            fill="tonexty",
            fillcolor=with_alpha(style["color"], 0.15),
            showlegend=False,
            hoverinfo="skip",
        ),
        go.Scatter(
            **shared,
            y=[rate.value for rate in rates],
            name=text(name),
            line={**style, "shape": "hv", "width": 2.5},
            hovertemplate="%{y:.1%} within %{x:.3g}",
        ),
    ]
