"""The pictures of a report: one panel per model where there are maps, so that phones can stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anharmonic.measures.compare import Comparison, Sweep
from anharmonic.measures.search.result import Search
from anharmonic.plots import (
    decision_regions,
    distribution,
    flip_curve,
    frontier,
    projection,
    radius_curve,
)
from anharmonic.plots.components import FEWEST, share_on_map
from anharmonic.plots.maps import colour_top
from anharmonic.plots.moved import moved_columns
from anharmonic.plots.named import decisions
from anharmonic.plots.style import caption_of, untitled
from anharmonic.regions import Region
from anharmonic.scores import Scores

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Panel", "Section", "section_of", "sections"]

MOST_MAPS = 6
SHOWS = 0.5
"""The share of the points' spread that a map must show to be drawn."""
FAINT = 0.2
"""Of where the colours end: a model whose scores stay below it would have a blank map."""


class Panel(NamedTuple):
    """One figure, and the id of the element it is drawn in."""

    place: str
    figure: Figure
    height: int


class Section(NamedTuple):
    """Pictures that share a title and a caption."""

    title: str
    caption: str
    panels: list[Panel]


def sections(
    compared: Comparison,
    order: list[str],
    region: Region | None,
    sweep: Sweep | None,
    searches: Mapping[str, Search] | None = None,
) -> list[Section]:
    """Every picture that can be drawn from what is there."""
    models = compared.scores
    drawn = [section_of("frontier", [frontier(compared)])] if compared.labelled else []
    drawn.append(section_of("spread", [distribution(compared)]))
    if sweep is not None:
        drawn.append(section_of("radius", [radius_curve(sweep)]))
    if searches:
        drawn.append(section_of("flips", [flip_curve(searches)]))
    if all(its.along() for its in models.values()):
        some = {name: models[name] for name in order[:MOST_MAPS]}
        drawn.append(section_of("columns", [moved_columns(some)]))
    if region is not None:
        drawn += _map_section(models, order, region)
    return drawn


def section_of(place: str, figures: list[Figure]) -> Section:
    """Figures without their titles, which the page says in its own words."""
    title, caption = caption_of(figures[0])
    panels = [
        Panel(f"{place}-{index}", bare, int(bare.layout.height))
        for index, bare in enumerate(untitled(figure) for figure in figures)
    ]
    return Section(title, caption, panels)


def _map_section(models: dict[str, Scores], order: list[str], region: Region) -> list[Section]:
    """Maps where they say something, and a sentence where they would not."""
    fitting = {name: models[name] for name in order if len(models[name]) == len(region)}
    if not fitting or region.dimension < 2 or len(region) < FEWEST:
        return []
    # Where rows are not all numbers, a map of the numbers would hide what moved.
    if any(its.settings.kinds for its in fitting.values()):
        return []
    metric = next(iter(fitting.values())).metric
    flat = region.kind == "grid" and region.dimension == 2
    share = 1.0 if flat else share_on_map(region)
    if share < SHOWS:
        why = (
            f"No map: its two main axes would show {share:.0%} of the spread of "
            f"{region.dimension:,} features, and less than {SHOWS:.0%} hides more than it shows. "
            "See the worst points below."
        )
        return [Section(f"Where {metric} is {models[order[0]].fragile}", why, [])]
    top = colour_top(fitting)
    shown, blank = _worth_drawing(fitting, top)
    section = section_of("map", _maps(shown, region, top, flat))
    notes = [section.caption]
    if blank:
        notes.append(f"Left out, as they have next to no {metric} beside the others: {blank}.")
    if len(shown) + len(blank) < len(models):
        notes.append(f"Shown for {len(shown)} of {len(models)} models.")
    return [section._replace(caption=" ".join(notes))]


def _worth_drawing(models: dict[str, Scores], top: float) -> tuple[dict[str, Scores], str]:
    """The models whose maps have colour, and the names of those whose would be blank."""
    large = models[next(iter(models))].fragile == "large"
    blank = [
        name
        for name, its in models.items()
        if large and np.nanquantile(its.values, 0.99) < FAINT * top
    ]
    if len(blank) == len(models):
        blank = []
    coloured = [name for name in models if name not in blank][:MOST_MAPS]
    return {name: models[name] for name in coloured}, ", ".join(blank)


def _maps(models: dict[str, Scores], region: Region, top: float, flat: bool) -> list[Figure]:
    """A map for each model, in colours that mean the same in all of them."""
    if flat and all(_drawable(scores) for scores in models.values()):
        return [decision_regions({name: its}, region, top=top) for name, its in models.items()]
    return [projection({name: its}, region, top=top) for name, its in models.items()]


def _drawable(scores: Scores) -> bool:
    """Whether what the model decided is known; one-hot outputs may have been reduced away."""
    return scores.settings.kind != "onehot" or decisions(scores) is not None
