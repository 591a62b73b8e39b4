"""SPADE in pictures: how node scores are spread, the most fragile points, score curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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

__all__ = ["fragile_points", "node_distribution", "spade_curve", "top_eigenvalues", "worst_edge"]


def node_distribution(scores: SpadeScores | Mapping[str, SpadeScores]) -> Any:
    """Share of points with a node score up to each value, one curve for each model."""
    if isinstance(scores, SpadeScores):
        scores = {str(scores.settings.model): scores}
    values = {name: each.values for name, each in scores.items()}
    figure = shares_up_to(values, "node score", "The largest are the most fragile points.")
    caption = figure.layout.meta["caption"]
    return finished(figure, "How SPADE is spread over the points", caption)


def fragile_points(
    scores: SpadeScores, points: Any = None, count: int = 10, *, apart: bool = False
) -> Any:
    """A table of the points with the largest node scores, as `guide` chooses them."""
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
    return int(scores.edges[best].sum() - row), float(scores.edge_values[best])


def _worst_neighbour(scores: SpadeScores, row: int) -> str:
    found = worst_edge(scores, row)
    return "a copy's" if found is None else f"{found[0]} ({found[1]:.3g})"


def top_eigenvalues(scores: SpadeScores) -> Any:
    """The largest eigenvalues: one far above the others is one tear, many alike are many."""
    figure = blank(
        [
            graph_objects().Bar(
                x=[f"λ{place}" for place in range(1, len(scores.eigenvalues) + 1)],
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


def spade_curve(scores: Sequence[SpadeScores] | Mapping[str, Sequence[SpadeScores]]) -> Any:
    """Score against the number of neighbours or of points, whichever of them the scores vary.

    Give the scores of one model at several settings, or those of several models by name. Bars
    are 95% intervals.
    """
    models = dict(scores) if isinstance(scores, Mapping) else {"score": scores}
    every = [each for several in models.values() for each in several]
    varied = [
        name
        for name in ("neighbours", "points")
        if len({_fact(scores, name) for scores in every}) > 1
    ]
    if len(varied) != 1:
        raise SettingsError("vary neighbours or points, one of them: give scores of 2 or more")
    styles = model_styles(models)
    figure = blank()
    for name, several in models.items():
        figure.add_trace(_line(name, several, varied[0], styles[name]))
    places = sorted({_fact(scores, varied[0]) for scores in every})
    figure.update_xaxes(
        type="log",
        title={"text": varied[0]},
        tickvals=places,
        ticktext=[f"{place:,}" for place in places],
    )
    figure.update_yaxes(**decades(), title={"text": "SPADE score"})
    figure.update_layout(legend=LEGEND_BELOW, showlegend=len(models) > 1)
    fixed = "points" if varied[0] == "neighbours" else "neighbours"
    same = sorted({_fact(scores, fixed) for scores in every})
    caption = (
        f"At {' and '.join(f'{each:,}' for each in same)} {fixed}; bars are 95% intervals. "
        f"Scores at different {varied[0]} do not compare."
    )
    return finished(figure, f"SPADE against {varied[0]}", caption)


def _fact(scores: SpadeScores, name: str) -> int:
    """How many neighbours or points there were."""
    return scores.settings.neighbours if name == "neighbours" else scores.settings.points


def _line(name: str, several: Sequence[SpadeScores], by: str, style: dict[str, str]) -> Any:
    ordered = sorted(several, key=lambda scores: _fact(scores, by))
    heights = np.array([each.score for each in ordered])
    ends = np.array([each.interval() for each in ordered])
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
