"""How every picture looks: colours that colour-blind readers and printers keep apart."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

from anharmonic.errors import MissingExtra

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace
    from plotly.graph_objects import Figure

__all__ = [
    "BARS",
    "CLASSES",
    "GAMMA",
    "HEAD",
    "INK",
    "LEGEND_BELOW",
    "MARK",
    "PAGE_COLOURS",
    "PALE",
    "PAPER",
    "QUIET",
    "REST",
    "STRONG",
    "blank",
    "caption_of",
    "finished",
    "graph_objects",
    "model_styles",
    "short",
    "text",
    "untitled",
    "with_alpha",
]

MODELS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A7A7A")
"""Okabe and Ito's colours, without the yellow that white paper swallows."""
DASHES = ("solid", "dash", "dot", "dashdot")
CLASSES = ("#77AADD", "#EEDD88", "#EE8866", "#44BB99", "#FFAABB", "#99DDFF", "#BBCC33", "#DDDDDD")
"""Paul Tol's light scheme, for areas with something drawn on them."""
GAMMA = (
    (0.0, "#FBFBF7"),
    (0.15, "#FDE4A6"),
    (0.4, "#F5A25D"),
    (0.65, "#D1495B"),
    (0.85, "#7B2D6B"),
    (1.0, "#2B0F47"),
)
"""From paper white to dark: grows darker all the way, so it prints in grey as well."""
BARS = ("#0072B2", "#D55E00")
"""Above and below zero."""
REST = "#9AA5B1"
"""What is left over."""

LEGEND_BELOW: dict[str, object] = {
    "orientation": "h",
    "yref": "container",
    "y": 0.01,
    "yanchor": "bottom",
    "x": 0,
    "xanchor": "left",
    "font": {"size": 13},
}

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
INK, QUIET, STRONG, PALE = "#1F2933", "#616E7C", "#52606D", "#E4E7EB"
PAPER, HEAD, MARK = "#FFFFFF", "#F0F4F8", "#7B8794"
PAGE_COLOURS = {
    "ink": INK,
    "quiet": QUIET,
    "strong": STRONG,
    "line": PALE,
    "paper": PAPER,
    "head": HEAD,
    "mark": MARK,
    "rest": REST,
    **{f"gamma-{place}": colour for place, (_, colour) in enumerate(GAMMA)},
}
"""What each of these is called among a page's colours: a page puts its own in their place, so that
pictures are dark where it is. Colours of models and classes stay."""
WRAPPED = 92
"""Characters of a caption in a line."""


def graph_objects() -> ModuleType:
    """Plotly's figures, imported when the first picture is drawn."""
    try:
        import plotly.graph_objects
    except ImportError as problem:
        raise MissingExtra("plotly", "plots") from problem
    module: ModuleType = plotly.graph_objects
    return module


def text(name: object) -> str:
    """A name as it is: plotly reads tags in its texts, and names may look like them."""
    return html.escape(str(name), quote=False)


def short(name: object, most: int = 22) -> str:
    """A name that fits beside an axis, its end left out where it is long."""
    whole = str(name)
    return text(whole if len(whole) <= most else f"{whole[: most - 1]}…")


def model_styles(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """A colour and a dash for each model, the same in whatever order they come."""
    return {
        name: {
            "color": MODELS[index % len(MODELS)],
            "dash": DASHES[index // len(MODELS) % len(DASHES)],
        }
        for index, name in enumerate(sorted(names))
    }


def with_alpha(colour: str, opacity: float) -> str:
    """A colour that lets others through.

    >>> with_alpha("#0072B2", 0.15)
    'rgba(0, 114, 178, 0.15)'
    """
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def blank(traces: list[Trace] | None = None) -> Figure:
    """A figure with our paper, ink and grid."""
    go = graph_objects()
    axis = {
        "gridcolor": PALE,
        "linecolor": REST,
        "showline": True,
        "ticks": "outside",
        "tickcolor": REST,
        "zeroline": False,
        "automargin": True,
        "title": {"standoff": 12},
    }
    template = {
        "layout": {
            "font": {"family": FONT, "size": 13, "color": INK},
            "paper_bgcolor": PAPER,
            "plot_bgcolor": PAPER,
            "colorway": MODELS,
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {"font": {"family": FONT}},
        }
    }
    return go.Figure(data=traces, layout={"template": template})


def finished(
    figure: Figure, title: str, caption: str, height: int = 420, headed: bool = False
) -> Figure:
    """Give a figure its title and what a reader must know; both stay readable apart too.

    `headed` leaves space for names above the panels. Title and caption are also kept in
    `layout.meta`, for pages that say them in their own words.
    """
    header = 24 if headed else 0
    lines = textwrap.wrap(caption, WRAPPED)
    figure.update_layout(
        title={
            "text": text(title),
            "x": 0,
            "xref": "paper",
            "yref": "container",
            "y": 1,
            "yanchor": "top",
            "pad": {"t": 14},
            "font": {"size": 17},
            "subtitle": {
                "text": "<br>".join(text(line) for line in lines),
                "font": {"size": 12, "color": QUIET},
            },
        },
        margin={"l": 64, "r": 20, "t": 64 + header + 17 * len(lines), "b": 54},
        height=height + header + 17 * len(lines),
        meta={"title": title, "caption": caption, "height": height, "room": header},
    )
    return figure


def caption_of(figure: Figure) -> tuple[str, str]:
    """A finished figure's title and caption, to be set beside it."""
    return figure.layout.meta["title"], figure.layout.meta["caption"]


def untitled(figure: Figure) -> Figure:
    """The figure without its title, for a page that says it in its own words."""
    copy, kept = type(figure)(figure), figure.layout.meta
    copy.update_layout(
        title={"text": "", "subtitle": {"text": ""}},
        margin={"t": 24 + kept["room"]},
        height=kept["height"] + kept["room"] - 40,
    )
    return copy
