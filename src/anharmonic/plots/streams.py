"""A stream as pictures: scores over time beside the reference's band, evidence and its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.monitor import Replay
from anharmonic.plots.style import (
    BARS,
    LEGEND_BELOW,
    REST,
    blank,
    finished,
    graph_objects,
    model_styles,
    text,
    with_alpha,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["evidence_curve", "score_curve"]

WINDOWS, BINS = 120, 600
"""The most means, and the most values of evidence, that are drawn."""


def score_curve(replay: Replay, watched: str | None = None, count: int | None = None) -> Figure:
    """Means of windows of a stream with the band that the reference allows, alarms marked.

    Parameters
    ----------
    replay
        From `monitor.replay`.
    watched
        Which score; the first if not told.
    count
        Rows per window; what gives 120 windows, and 20 rows at least, if not told.
    """
    go = graph_objects()
    name = watched or next(iter(replay.scores))
    size = count or max(20, -(-len(replay) // WINDOWS))
    windows = replay.windows(name, count=size)
    middle = (windows.first + windows.last) / 2
    figure = blank()
    # The band: two lines that are not drawn, and the area between them.
    edge = {"x": middle, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    figure.add_trace(go.Scatter(**edge, y=windows.low, showlegend=False))
    band = {"fill": "tonexty", "fillcolor": with_alpha(REST, 0.28)}
    figure.add_trace(go.Scatter(**edge, **band, y=windows.high, name="as in the reference"))
    figure.add_trace(
        go.Scatter(
            x=middle,
            y=windows.means,
            name=f"mean {text(name)}",
            mode="lines+markers",
            line={"color": BARS[0], "width": 1.5},
            marker={"size": 5},
            error_y={"type": "data", "array": windows.errors, "width": 0, "thickness": 1},
        )
    )
    _mark_alarms(figure, replay, name)
    figure.update_xaxes(title={"text": "row"})
    figure.update_yaxes(title={"text": text(name)})
    figure.update_layout(legend=LEGEND_BELOW, showlegend=True)
    caption = (
        f"Means of {size:,} rows each, bars are one standard error; the band holds 99.7% of such "
        f"means if nothing changes. Dashed lines are alarms."
    )
    return finished(figure, f"{name} over the stream", caption)


def evidence_curve(replay: Replay) -> Figure:
    """Log evidence of everything watched against the alarm line; bins show their largest.

    Parameters
    ----------
    replay
        From `monitor.replay`.
    """
    go = graph_objects()
    figure = blank()
    styles = model_styles({key.watched for key in replay.trace})
    for key, line in replay.trace.items():
        rows, tops = _tops(line)
        figure.add_trace(
            go.Scatter(
                x=replay.first + rows,
                y=tops,
                name=text(f"{key.watched} {key.direction}"),
                mode="lines",
                line={
                    "color": styles[key.watched]["color"],
                    "dash": "dot" if key.direction == "down" else "solid",
                    "width": 1.5,
                },
            )
        )
    figure.add_hline(replay.threshold, line={"color": BARS[1], "dash": "dash", "width": 1.5})
    figure.update_xaxes(title={"text": "row"})
    figure.update_yaxes(title={"text": "log evidence"})
    figure.update_layout(legend=LEGEND_BELOW, showlegend=True)
    caption = (
        f"Evidence that something has changed; at the dashed line, log {replay.rate:,.0f}, it is "
        f"an alarm. It falls back to the bottom where the monitor was started anew."
    )
    return finished(figure, "Evidence against the alarm line", caption)


def _tops(line: Floats) -> tuple[Integers, Floats]:
    """The largest of each bin, so that no crossing is lost in drawing."""
    size = max(1, -(-len(line) // BINS))
    starts = np.arange(0, len(line), size)
    return starts, np.asarray(np.maximum.reduceat(line, starts))


def _mark_alarms(figure: Figure, replay: Replay, name: str) -> None:
    """A dashed line at each of the first alarms, in colour where this score raised it."""
    for alarm in replay.alarms[:50]:
        own = alarm.watched == name
        line = {"color": BARS[1] if own else REST, "dash": "dash", "width": 1}
        figure.add_vline(alarm.at, line=line)
