"""SPADE in pictures: how node scores are spread, the most fragile points, score curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from anharmonic.errors import SettingsError
from anharmonic.measures.spectral import SpadeScores, guide
from anharmonic.plots.curves import decades, shares_up_to
from anharmonic.plots.points import features_at, table_of
from anharmonic.plots.style import (
    BARS,
    LEGEND_BELOW,
    blank,
    finished,
    graph_objects,
    model_styles,
    text,
)
from anharmonic.regions import as_region

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace
    from plotly.graph_objects import Figure

__all__ = ["fragile_points", "node_distribution", "spade_curve", "top_eigenvalues", "worst_edge"]


def node_distribution(scores: SpadeScores | Mapping[str, SpadeScores]) -> Figure:
    """Share of points with a node score up to each value, one curve for each model.

    Parameters
    ----------
    scores
        One model's, or those of several by name.
    """
    if isinstance(scores, SpadeScores):
        scores = {str(scores.settings.model): scores}
    values = {name: measured.values for name, measured in scores.items()}
    figure = shares_up_to(values, "node score", "The largest are the most fragile points.")
    caption = figure.layout.meta["caption"]
    return finished(figure, "How SPADE is spread over the points", caption)


def fragile_points(
    scores: SpadeScores, points: object = None, count: int = 10, *, apart: bool = False
) -> Figure:
    """A table of the points with the largest node scores, as `guide` chooses them.

    Parameters
    ----------
    scores
        From `spade`.
    points
        Where they were measured, for the features' values.
    count
        How many.
    apart
        Whether no two of them may be neighbours.
    """
    rows = guide(scores, count, apart=apart).tolist()
    median = float(np.nanmedian(scores.values))
    columns = {
        "row": [str(row) for row in rows],
        "node score": [f"{scores.values[row]:.4g}" for row in rows],
        "times the median": [f"{scores.values[row] / median:,.3g}" for row in rows],
        "worst neighbour": [_worst_neighbour(scores, row) for row in rows],
    }
    if points is not None:
        region = as_region(points)
        if len(region) != len(scores):
            raise SettingsError("the scores belong to other points: give those they were made at")
        columns["features"] = [
            "<br>".join(f"{text(name)} {value}" for name, value in features_at(region, row))
            for row in rows
        ]
    figure = blank([table_of(columns, {"row": 0.5, "features": 2.0})])
    caption = (
        "Points whose neighbours among the inputs are torn apart most among the outputs; "
        f"the median over all points is {median:.3g}."
    )
    height = 140 + len(rows) * (92 if points is not None else 32)
    return finished(figure, f"The {len(rows)} most fragile points", caption, height)


def worst_edge(scores: SpadeScores, row: int) -> tuple[int, float] | None:
    """The other end of a point's edge with the largest score, and that; None for a copy."""
    own = np.flatnonzero((scores.edges == row).any(axis=1))
    if not len(own):
        return None
    best = own[np.argmax(scores.edge_values[own])]
    # An edge is a pair of rows: their sum less this one is the other.
    return int(scores.edges[best].sum() - row), float(scores.edge_values[best])


def _worst_neighbour(scores: SpadeScores, row: int) -> str:
    edge = worst_edge(scores, row)
    return "a copy's" if edge is None else f"{edge[0]} ({edge[1]:.3g})"


def top_eigenvalues(scores: SpadeScores) -> Figure:
    """The largest eigenvalues: one far above the others is one tear, many alike are many.

    Parameters
    ----------
    scores
        From `spade`.
    """
    figure = blank(
        [
            graph_objects().Bar(
                x=[f"λ{number}" for number in range(1, len(scores.eigenvalues) + 1)],
                y=scores.eigenvalues,
                marker={"color": BARS[0]},
                hovertemplate="%{x} = %{y:.5g}<extra></extra>",
            )
        ]
    )
    figure.update_yaxes(title={"text": "eigenvalue"}, rangemode="tozero")
    caption = (
        "The first is the score. One far above the others is a single tear; many alike are many."
    )
    return finished(figure, "The largest eigenvalues", caption, 340)


def spade_curve(scores: Sequence[SpadeScores] | Mapping[str, Sequence[SpadeScores]]) -> Figure:
    """Score against the number of neighbours or of points, whichever of them the scores vary.

    Bars are 95% intervals.

    Parameters
    ----------
    scores
        One model's at several settings, or those of several models by name.
    """
    models = dict(scores) if isinstance(scores, Mapping) else {"score": scores}
    every = [measured for several in models.values() for measured in several]
    varied = [
        name
        for name in ("neighbours", "points")
        if len({_fact(measured, name) for measured in every}) > 1
    ]
    if len(varied) != 1:
        raise SettingsError("vary neighbours or points, one of them: give scores of 2 or more")
    styles = model_styles(models)
    figure = blank()
    for name, several in models.items():
        figure.add_trace(_line(name, several, varied[0], styles[name]))
    ticks = sorted({_fact(measured, varied[0]) for measured in every})
    figure.update_xaxes(
        type="log",
        title={"text": varied[0]},
        tickvals=ticks,
        ticktext=[f"{tick:,}" for tick in ticks],
    )
    figure.update_yaxes(**decades(), title={"text": "SPADE score"})
    figure.update_layout(legend=LEGEND_BELOW, showlegend=len(models) > 1)
    fixed = "points" if varied[0] == "neighbours" else "neighbours"
    same = sorted({_fact(measured, fixed) for measured in every})
    caption = (
        f"At {' and '.join(f'{count:,}' for count in same)} {fixed}; bars are 95% intervals. "
        f"Scores at different {varied[0]} do not compare."
    )
    return finished(figure, f"SPADE against {varied[0]}", caption)


def _fact(scores: SpadeScores, name: str) -> int:
    """How many neighbours or points there were."""
    return scores.settings.neighbours if name == "neighbours" else scores.settings.points


def _line(name: str, several: Sequence[SpadeScores], by: str, style: dict[str, str]) -> Trace:
    ordered = sorted(several, key=lambda scores: _fact(scores, by))
    heights = np.array([measured.score for measured in ordered])
    # (scores, 2): intervals are not symmetric about their scores.
    ends = np.array([measured.interval() for measured in ordered])
    return graph_objects().Scatter(
        x=[_fact(scores, by) for scores in ordered],
        y=heights,
        name=text(name),
        mode="lines+markers",
        line=style | {"width": 2},
        marker={"size": 7},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(ends[:, 1] - heights),
            "arrayminus": np.nan_to_num(heights - ends[:, 0]),
            "width": 3,
        },
    )
