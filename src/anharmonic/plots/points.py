"""Single points: the worst of them, and which features are behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anharmonic._core.columns import titled
from anharmonic._core.estimate import Estimate
from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Floats
from anharmonic.measures.explain import REMAINDER, Contributions
from anharmonic.plots.named import measured_region, others_text, output_text, row_names
from anharmonic.plots.style import (
    BARS,
    HEAD,
    PALE,
    PAPER,
    REST,
    STRONG,
    blank,
    finished,
    graph_objects,
    short,
    text,
)
from anharmonic.regions import Region
from anharmonic.scores import Scores

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace
    from plotly.graph_objects import Figure

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
"""Worst points in a table, and features of each."""
NOTHING = 1e-9
"""A share this small beside the largest is rounding."""


class Share(NamedTuple):
    """A feature's part in a point's deviation; `value` is the feature's own, where known.

    `rest` marks what is no single feature: those that are not named, and the remainder.
    """

    name: str
    share: float
    value: str = ""
    rest: bool = False


class WorstPoint(NamedTuple):
    """All that is said of a point in a table; `shares` is None where nobody asked for them.

    `others` is what other rows say and `label` what was given, of measures that know; `name` is
    what the user calls the row, or its number.
    """

    row: int
    gamma: Estimate
    interval: tuple[float, float]
    output: str
    shares: list[Share] | None
    values: list[tuple[str, str]]
    others: str = ""
    label: str = ""
    name: str = ""


def shares(
    names: tuple[str, ...], parts: Floats, most: int, remainder: float | None = None
) -> list[Share]:
    """The largest parts either way, and all the others as one; what plays no part is left out.

    The `remainder` of a deviation comes last, where it is known.
    """
    sizes = np.abs(parts)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > NOTHING * sizes.max(initial=0.0)]
    # The last of `most` lines is for all the others, where there are any.
    count = most if len(order) <= most else most - 1
    listed = [Share(names[index], float(parts[index])) for index in order[:count].tolist()]
    if len(order) > count:
        rest = order[count:]
        total = float(parts[rest].sum())
        listed.append(Share(f"{len(rest)} others together", total, rest=True))
    if remainder is not None and abs(remainder) > NOTHING * sizes.max(initial=0.0):
        listed.append(Share(REMAINDER, remainder, rest=True))
    return listed


def worst(
    scores: Scores,
    points: object = None,
    explained: Contributions | None = None,
    count: int = SHOWN,
) -> list[WorstPoint]:
    """The most fragile points; of gamma those whose own interval lies above 0."""
    region = None if points is None else measured_region(points, scores)
    low, high = scores.intervals()
    if scores.about.unit == "a chance":
        high = np.minimum(high, 1.0)
    names = row_names(scores, region)
    return [
        WorstPoint(
            row,
            Estimate(float(scores.values[row]), float(scores.errors[row])),
            (float(low[row]), float(high[row])),
            output_text(scores, row),
            _shares_at(row, region, explained),
            [] if region is None else features_at(region, row, names=_compared(scores)),
            others_text(scores, row),
            _label(scores, row),
            str(row) if names is None else names[row],
        )
        for row in scores.worst(count).tolist()
        # Without turns to compare there is no interval, and it is NaN.
        if scores.fragile == "small" or not low[row] <= 0
    ]


def _shares_at(
    row: int, region: Region | None, explained: Contributions | None
) -> list[Share] | None:
    if explained is None or row not in explained.rows:
        return None
    values = {}
    if region is not None:
        # A table's columns may be other than numbers.
        cells = explained.names if region.is_table else ()
        values = dict(features_at(region, row, most=None, names=cells))
    listed = shares(explained.names, explained.of(row), SHOWN, explained.remainder(row))
    return [
        part._replace(name=titled(part.name), value=values.get(titled(part.name), ""))
        for part in listed
    ]


def _label(scores: Scores, row: int) -> str:
    labels = scores.columns.get("label")
    if labels is None:
        return ""
    given = np.atleast_1d(labels[row])
    return ", ".join(f"{part:.4g}" if isinstance(part, float) else str(part) for part in given)


def _compared(scores: Scores) -> tuple[str, ...]:
    """The columns that rows are compared by, or that move and are not all numbers."""
    settings = scores.settings
    return settings.columns if settings.kinds or not settings.moves else ()


def features_at(
    region: Region, row: int, most: int | None = 4, names: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """The first features of a row that move, as text; where nothing moves, those of `names`."""
    if names:
        return [(titled(name), _cell(region, row, name)) for name in names[:most]]
    return [
        (titled(name), f"{float(region.values[row, index]):.4g}")
        for index, name in enumerate(region.columns[:most])
    ]


def _cell(region: Region, row: int, name: str) -> str:
    """A cell of a row as it is, which may be text or missing."""
    if not region.is_table:
        return f"{float(region.source[row, region.names.index(name)]):.4g}"
    cell = region.source[name][row]
    if is_missing(cell):
        return "missing"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def worst_points(
    scores: Scores,
    points: object = None,
    contributions: Contributions | None = None,
    count: int = 10,
) -> Figure:
    """A table of the worst points: score, interval, the answer, and what drives it.

    Parameters
    ----------
    scores
        Of any measure.
    points
        Where they were measured, for the features' values.
    contributions
        From `contributions`, for the features behind each score.
    count
        The most rows of the table.
    """
    rows = worst(scores, points, contributions, count)
    columns = {
        "row": [text(point.name) for point in rows],
        text(scores.metric): [str(point.gamma) for point in rows],
        "95% interval": ["{:.3g} … {:.3g}".format(*point.interval) for point in rows],
        "answer": [text(point.output) for point in rows],
    }
    if any(point.others for point in rows):
        columns["other rows say"] = [text(point.others) for point in rows]
    if any(point.label for point in rows):
        columns["label"] = [text(point.label) for point in rows]
    if contributions is not None:
        columns["features behind it"] = [
            "<br>".join(f"{text(part.name)} {part.share:+.3g}" for part in point.shares or [])
            for point in rows
        ]
    elif points is not None:
        columns["features"] = [
            "<br>".join(f"{text(name)} = {value}" for name, value in point.values) for point in rows
        ]
    wide = {"row": 0.5, "features behind it": 2.2, "features": 2.0}
    longest = max((len(point.shares or []) for point in rows), default=1)
    lines = longest if contributions is not None else 4 if points is not None else 1
    end = "lower" if scores.fragile == "large" else "upper"
    caption = f"By the {end} ends of their intervals; among many points some stand here by chance."
    height = 140 + len(rows) * (12 + 20 * lines)
    figure = blank([table_of(columns, wide)])
    return finished(figure, f"The {len(rows)} worst points", caption, height)


def table_of(columns: dict[str, list[str]], wide: dict[str, float]) -> Trace:
    """A table with a column for each name; `wide` are widths of some, beside the usual 1.2."""
    return graph_objects().Table(
        header={
            "values": [f"<b>{name}</b>" for name in columns],
            "align": "left",
            "fill": {"color": HEAD},
            "height": 30,
        },
        cells={
            "values": list(columns.values()),
            "align": "left",
            "height": 26,
            "fill": {"color": PAPER},
            "line": {"color": PALE},
        },
        columnwidth=[wide.get(name, 1.2) for name in columns],
    )


def contributions(found: Contributions, row: int | None = None, most: int = 12) -> Figure:
    """A bar for each feature's share of one point's deviation, the largest on top.

    Parameters
    ----------
    found
        From `contributions`.
    row
        The point; the first that was explained if not told.
    most
        The most bars of features; the last sums up those that have none.
    """
    row = int(found.rows[0]) if row is None else row
    parts, remainder = found.of(row), found.remainder(row)
    listed = shares(found.names, parts, most, remainder)[::-1]
    bars = graph_objects().Bar(
        x=[part.share for part in listed],
        y=list(range(len(listed))),
        orientation="h",
        marker={"color": [REST if part.rest else BARS[part.share < 0] for part in listed]},
        text=[f"{part.share:+.3g}" for part in listed],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
    )
    figure = blank([bars])
    ends = [0.0, *(part.share for part in listed)]
    # Numbers stand outside their bars, at either end.
    margin = 0.18 * (max(ends) - min(ends))
    figure.update_xaxes(
        range=[min(ends) - margin, max(ends) + margin] if margin else None,
        title={"text": "share of the deviation"},
        zeroline=True,
        zerolinecolor=STRONG,
    )
    figure.update_yaxes(
        ticks="",
        showline=False,
        gridcolor=PAPER,
        # Positions rather than names: two long names may be shortened to the same text.
        tickvals=list(range(len(listed))),
        ticktext=[short(titled(part.name), 28 if not part.rest else 48) for part in listed],
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
