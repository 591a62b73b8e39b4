"""Single points: the worst of them, and which features are behind it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic.measures.explain import REMAINDER, Contributions, titled
from anharmonic.plots.named import measured_region, output_text
from anharmonic.plots.style import BARS, REST, blank, finished, graph_objects, short, text
from anharmonic.regions import Region
from anharmonic.scores import Scores

__all__ = [
    "Share",
    "WorstPoint",
    "contributions",
    "features_at",
    "shares",
    "table_of",
    "worst",
    "worst_points",
]

SHOWN = 5
NOTHING = 1e-9
"""A share this small beside the largest is rounding."""


CHANCES = ("walks", "drift", "paper")
"""Kinds of `nstep_robustness` that are chances, which end at 1."""


class Share(NamedTuple):
    """A feature's part in a point's deviation; `value` is the feature's own, where known.

    `rest` marks what is no single feature: those that are not named, and the remainder.
    """

    name: str
    share: float
    value: str = ""
    rest: bool = False


class WorstPoint(NamedTuple):
    """All that is said of a point in a table; `shares` is None where nobody asked for them."""

    row: int
    gamma: Estimate
    interval: tuple[float, float]
    output: str
    shares: list[Share] | None
    values: list[tuple[str, str]]


def shares(
    names: tuple[str, ...], parts: Floats, most: int, remainder: float | None = None
) -> list[Share]:
    """The largest parts either way, and all the others as one; what plays no part is left out.

    The `remainder` of a deviation comes last, where it is known.
    """
    sizes = np.abs(parts)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > NOTHING * sizes.max(initial=0.0)]
    few = most if len(order) <= most else most - 1
    found = [Share(names[index], float(parts[index])) for index in order[:few].tolist()]
    if len(order) > few:
        rest = order[few:]
        total = float(parts[rest].sum())
        found.append(Share(f"{len(rest)} others together", total, rest=True))
    if remainder is not None and abs(remainder) > NOTHING * sizes.max(initial=0.0):
        found.append(Share(REMAINDER, remainder, rest=True))
    return found


def worst(
    scores: Scores, points: Any = None, found: Contributions | None = None, count: int = SHOWN
) -> list[WorstPoint]:
    """The most fragile points; of gamma those whose own interval lies above 0."""
    region = None if points is None else measured_region(points, scores)
    low, high = scores.intervals()
    if scores.about.unit == "a chance":
        high = np.minimum(high, 1.0)
    return [
        WorstPoint(
            row,
            Estimate(float(scores.values[row]), float(scores.errors[row])),
            (float(low[row]), float(high[row])),
            output_text(scores, row),
            _shares_at(row, region, found),
            [] if region is None else features_at(region, row),
        )
        for row in scores.worst(count).tolist()
        # Without turns to compare there is no interval, and it is NaN.
        if scores.fragile == "small" or not low[row] <= 0
    ]


def _shares_at(row: int, region: Region | None, found: Contributions | None) -> list[Share] | None:
    if found is None or row not in found.rows:
        return None
    known = {} if region is None else dict(features_at(region, row, most=None))
    return [
        each._replace(name=titled(each.name), value=known.get(titled(each.name), ""))
        for each in shares(found.names, found.of(row), SHOWN, found.remainder(row))
    ]


def features_at(region: Region, row: int, most: int | None = 4) -> list[tuple[str, str]]:
    """The first features of a row that move, as text."""
    return [
        (titled(name), f"{float(region.values[row, index]):.4g}")
        for index, name in enumerate(region.columns[:most])
    ]


def worst_points(
    scores: Scores, points: Any = None, contributions: Contributions | None = None, count: int = 10
) -> Any:
    """A table of the worst points: score, interval, the answer, and what drives it."""
    found = worst(scores, points, contributions, count)
    columns = {
        "row": [str(each.row) for each in found],
        text(scores.metric): [str(each.gamma) for each in found],
        "95% interval": ["{:.3g} … {:.3g}".format(*each.interval) for each in found],
        "answer": [text(each.output) for each in found],
    }
    if contributions is not None:
        columns["features behind it"] = [
            "<br>".join(f"{text(each.name)} {each.share:+.3g}" for each in point.shares or [])
            for point in found
        ]
    elif points is not None:
        columns["features"] = [
            "<br>".join(f"{text(name)} = {value}" for name, value in point.values)
            for point in found
        ]
    wide = {"row": 0.5, "features behind it": 2.2, "features": 2.0}
    longest = max((len(each.shares or []) for each in found), default=1)
    lines = longest if contributions is not None else 4 if points is not None else 1
    end = "lower" if scores.fragile == "large" else "upper"
    caption = f"By the {end} ends of their intervals; among many points some stand here by chance."
    height = 140 + len(found) * (12 + 20 * lines)
    figure = blank([table_of(columns, wide)])
    return finished(figure, f"The {len(found)} worst points", caption, height)


def table_of(columns: dict[str, list[str]], wide: dict[str, float]) -> Any:
    """A table with a column for each name, as wide as told."""
    return graph_objects().Table(
        header={
            "values": [f"<b>{name}</b>" for name in columns],
            "align": "left",
            "fill": {"color": "#F0F4F8"},
            "height": 30,
        },
        cells={
            "values": list(columns.values()),
            "align": "left",
            "height": 26,
            "fill": {"color": "white"},
            "line": {"color": "#E4E7EB"},
        },
        columnwidth=[wide.get(name, 1.2) for name in columns],
    )


def contributions(found: Contributions, row: int | None = None, most: int = 12) -> Any:
    """A bar for each feature's share of one point's deviation, the largest on top."""
    row = int(found.rows[0]) if row is None else row
    parts, remainder = found.of(row), found.remainder(row)
    listed = shares(found.names, parts, most, remainder)[::-1]
    bars = graph_objects().Bar(
        x=[each.share for each in listed],
        y=list(range(len(listed))),
        orientation="h",
        marker={"color": [REST if each.rest else BARS[each.share < 0] for each in listed]},
        text=[f"{each.share:+.3g}" for each in listed],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
    )
    figure = blank([bars])
    ends = [0.0, *(each.share for each in listed)]
    room = 0.18 * (max(ends) - min(ends))
    figure.update_xaxes(
        range=[min(ends) - room, max(ends) + room] if room else None,
        title={"text": "share of the deviation"},
        zeroline=True,
        zerolinecolor="#52606D",
    )
    figure.update_yaxes(
        ticks="",
        showline=False,
        gridcolor="white",
        # Places rather than names: two long names may be shortened to the same text.
        tickvals=list(range(len(listed))),
        ticktext=[short(titled(each.name), 28 if not each.rest else 48) for each in listed],
    )
    along = f"Shares of {len(found.names)} features at radius {found.radius:.4g}; "
    caption = (
        f"{along}they add up to {parts.sum():.4g}, the deviation measured with the cross ball."
        if remainder is None
        else f"{along}with {REMAINDER} they add up to {parts.sum() + remainder:.4g}, the "
        "deviation over the whole sphere."
    )
    return finished(
        figure, f"What is behind the gamma of row {row}", caption, height=150 + 27 * len(listed)
    )
