"""The pictures of a report: one panel per model where there are maps, so that phones can stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anharmonic.measures.compare import Comparison, Sweep
from anharmonic.plots import decision_regions, distribution, projection, radius_curve
from anharmonic.plots.components import FEWEST
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
    compared: Comparison, order: list[str], region: Region | None, sweep: Sweep | None
) -> list[Section]:
    """Every picture that can be drawn from what is there."""
    models = compared.scores
    drawn = [section_of("spread", [distribution(compared)])]
    if sweep is not None:
        drawn.append(section_of("radius", [radius_curve(sweep)]))
    if all(its.along() for its in models.values()):
        some = {name: models[name] for name in order[:MOST_MAPS]}
        drawn.append(section_of("columns", [moved_columns(some)]))
    maps = [] if region is None else _maps(models, order, region)
    if maps:
        section = section_of("map", maps)
        if len(maps) < len(models):
            note = f" Shown for {len(maps)} of {len(models)} models."
            section = section._replace(caption=section.caption + note)
        drawn.append(section)
    return drawn


def section_of(place: str, figures: list[Figure]) -> Section:
    """Figures without their titles, which the page says in its own words."""
    title, caption = caption_of(figures[0])
    panels = [
        Panel(f"{place}-{index}", bare, int(bare.layout.height))
        for index, bare in enumerate(untitled(figure) for figure in figures)
    ]
    return Section(title, caption, panels)


def _maps(models: dict[str, Scores], order: list[str], region: Region) -> list[Figure]:
    """A map for each model, in colours that mean the same in all of them."""
    fitting = {name: models[name] for name in order if len(models[name]) == len(region)}
    if not fitting or region.dimension < 2 or len(region) < FEWEST:
        return []
    # Where rows are not all numbers, a map of the numbers would hide what moved.
    if any(its.settings.kinds for its in fitting.values()):
        return []
    shown = dict(list(fitting.items())[:MOST_MAPS])
    top = colour_top(shown)
    flat = region.kind == "grid" and region.dimension == 2
    if flat and all(_drawable(scores) for scores in shown.values()):
        return [decision_regions({name: its}, region, top=top) for name, its in shown.items()]
    return [projection({name: its}, region, top=top) for name, its in shown.items()]


def _drawable(scores: Scores) -> bool:
    """Whether what the model decided is known; one-hot outputs may have been reduced away."""
    return scores.settings.kind != "onehot" or decisions(scores) is not None
