"""Curves, one for each model: gamma against the radius, and how gamma is spread over points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.measures.compare import Comparison, Sweep
from anharmonic.plots.named import Several, named
from anharmonic.plots.style import (
    LEGEND_BELOW,
    QUIET,
    blank,
    finished,
    graph_objects,
    model_styles,
    text,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["WIDE", "decades", "distribution", "radius_curve", "shares_up_to"]

LEVELS = np.linspace(0.0, 1.0, 201)
WIDE = 30.0
"""Values that spread over more than this factor get a logarithmic axis."""
SHORTEST = 1e-4
"""The smallest value a logarithmic axis shows, as a share of the largest."""


def radius_curve(sweep: Sweep) -> Figure:
    """Mean gamma against the radius with error bars, the recommended radius marked.

    Parameters
    ----------
    sweep
        From `sweep`.
    """
    go = graph_objects()
    styles = model_styles(sweep.names)
    means = {name: sweep.means(name) for name in sweep.names}
    positive = all((values > 0).all() for values, _ in means.values())
    figure = blank()
    for name, (values, errors) in means.items():
        figure.add_trace(
            go.Scatter(
                x=sweep.radii,
                y=values,
                name=text(name),
                mode="lines+markers",
                line=styles[name] | {"width": 2},
                marker={"size": 7},
                error_y=_bars(values, errors, positive),
            )
        )
    radius, why = sweep.recommended
    figure.add_vline(radius, line={"color": QUIET, "dash": "dash", "width": 1})
    figure.add_annotation(
        # On a logarithmic axis an annotation stands at the exponent, a line at the value.
        x=float(np.log10(radius)),
        y=1,
        yref="paper",
        yanchor="bottom",
        text=f"recommended: {radius:.3g}",
        showarrow=False,
        font={"size": 12, "color": QUIET},
        xanchor=_anchor(radius, sweep.radii),
    )
    figure.update_xaxes(
        type="log",
        title={"text": f"radius, {sweep.unit}"},
        tickvals=list(sweep.radii),
        ticktext=[f"{value:.2g}" for value in sweep.radii],
    )
    figure.update_yaxes(title={"text": "mean gamma"})
    if positive:
        figure.update_yaxes(**decades())
    figure.update_layout(legend=LEGEND_BELOW, showlegend=len(means) > 1)
    caption = (
        f"Mean gamma at {len(sweep.radii)} radii; bars are one standard error, "
        f"{sweep.queries:,} queries. Recommended {radius:.4g}: {why}."
    )
    return finished(figure, "Gamma against the radius", caption)


def _bars(values: Floats, errors: Floats, logarithmic: bool) -> dict[str, object]:
    """Error bars; a logarithmic axis cannot show one that reaches zero."""
    errors = np.nan_to_num(errors)
    down = np.minimum(errors, 0.9 * values) if logarithmic else errors
    return {"type": "data", "symmetric": False, "array": errors, "arrayminus": down, "width": 3}


def _anchor(radius: float, radii: tuple[float, ...]) -> str:
    if radius == radii[0]:
        return "left"
    return "right" if radius == radii[-1] else "center"


def distribution(scores: Several) -> Figure:
    """Share of points with gamma up to each value, one curve for each model.

    The curves are drawn from 200 quantiles, whatever the number of points.

    Parameters
    ----------
    scores
        One model's, those of several by name, or a comparison; of one with reference points,
        each model is drawn where it counts.
    """
    models = named(scores)
    values = {name: measured.values for name, measured in models.items()}
    first = next(iter(models.values()))
    further = "left" if first.fragile == "large" else "right"
    reading = f"The curve furthest {further} is of the model that is {first.about.best}."
    if isinstance(scores, Comparison) and scores.at_reference:
        values = {name: scores.counted(name).values for name in values}
        where = ", ".join(f"{name} at the {scores.where(name)}" for name in scores.ranking)
        reading += f" Each where its mean is the larger: {where}."
    figure = shares_up_to(values, first.metric, reading)
    title = f"How {first.metric} is spread over the points"
    return finished(figure, title, figure.layout.meta["caption"])


def shares_up_to(values: Mapping[str, Floats], what: str, reading: str) -> Figure:
    """A curve of shares for each name's values; its caption is in `layout.meta`."""
    go = graph_objects()
    styles = model_styles(values)
    quantiles = {name: _quantiles(column) for name, column in values.items()}
    least = _least(list(quantiles.values()))
    figure = blank()
    for name, levels in quantiles.items():
        figure.add_trace(
            go.Scatter(
                x=levels if least is None else np.maximum(levels, least),
                y=LEVELS,
                name=text(name),
                mode="lines",
                line=styles[name] | {"width": 2.5, "shape": "hv"},
                hovertemplate="%{y:.0%} of the points are at %{x:.4g} or below",
            )
        )
    figure.update_xaxes(title={"text": what}, rangemode="tozero")
    bottom = _bottom(list(quantiles.values()), least or 0.0)
    figure.update_yaxes(
        title={"text": "share of points"}, tickformat=".0%", range=[bottom, 1 + 0.02 * (1 - bottom)]
    )
    if least is not None:
        figure.update_xaxes(**decades())
    figure.update_layout(legend=LEGEND_BELOW, showlegend=len(values) > 1)
    lengths = sorted({len(column) for column in values.values()})
    count = " or ".join(f"{length:,}" for length in lengths)
    caption = (
        f"Share of the {count} points with {what} up to each value, from 200 quantiles. {reading}"
    )
    if least is not None:
        caption += f" What is below {least:.2g} is drawn there."
    if bottom:
        caption += f" The axis begins at {bottom:.0%}: that many points have next to no {what}."
    return figure.update_layout(meta={"caption": caption})


def _quantiles(values: Floats) -> Floats:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.full(len(LEVELS), np.nan)
    # Values that were measured, with no interpolation between them: the curve is a staircase.
    return np.asarray(np.quantile(finite, LEVELS, method="inverted_cdf"))


def _least(quantiles: list[Floats]) -> float | None:
    """Where a logarithmic axis begins, or None where a plain one is enough."""
    every = np.concatenate(quantiles)
    positive = every[np.isfinite(every) & (every > 0)]
    if not len(positive):
        return None
    low, high = np.quantile(positive, [0.05, 0.95])
    if high < WIDE * low:
        return None
    return float(max(positive.min(), SHORTEST * positive.max()))


def _bottom(quantiles: list[Floats], least: float) -> float:
    """Where the shares begin: above 0 where most points of every model have next to no gamma."""
    none = min(float(np.mean(values <= least)) for values in quantiles)
    # A twentieth of the axis below the lowest share, rounded down to 5%.
    return float(np.floor(20 * none - 1) / 20) if none > 0.5 else 0.0


def decades() -> dict[str, object]:
    """A logarithmic axis."""
    return {"type": "log", "dtick": 1, "exponentformat": "power", "minor": {"dtick": "D1"}}
