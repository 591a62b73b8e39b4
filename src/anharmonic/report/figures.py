"""The pictures of a report: one panel a model where there are maps, so that phones can stack."""

from __future__ import annotations

from typing import Any, NamedTuple

from anharmonic.measures.compare import Comparison, Sweep
from anharmonic.plots import decision_regions, distribution, projection, radius_curve
from anharmonic.plots.components import FEWEST
from anharmonic.plots.maps import colour_top
from anharmonic.plots.named import decisions
from anharmonic.plots.style import caption_of, untitled
from anharmonic.regions import Region
from anharmonic.scores import Scores

__all__ = ["Panel", "Section", "section_of", "sections"]

MOST_MAPS = 6


class Panel(NamedTuple):
    """One figure and the place it is drawn at."""

    place: str
    figure: Any
    height: int


class Section(NamedTuple):
    """Pictures that share a title and a caption."""

    title: str
    caption: str
    panels: list[Panel]


def sections(
    given: Comparison, order: list[str], region: Region | None, sweep: Sweep | None
) -> list[Section]:
    """Every picture that can be drawn from what is there."""
    models = given.scores
    found = [section_of("spread", [distribution(given)])]
    if sweep is not None:
        found.append(section_of("radius", [radius_curve(sweep)]))
    maps = [] if region is None else _maps(models, order, region)
    if maps:
        section = section_of("map", maps)
        if len(maps) < len(models):
            note = f" Shown for {len(maps)} of {len(models)} models."
            section = section._replace(caption=section.caption + note)
        found.append(section)
    return found


def section_of(place: str, figures: list[Any]) -> Section:
    """Figures without their titles, which the page says in its own words."""
    title, caption = caption_of(figures[0])
    panels = [
        Panel(f"{place}-{index}", bare, int(bare.layout.height))
        for index, bare in enumerate(untitled(figure) for figure in figures)
    ]
    return Section(title, caption, panels)


def _maps(models: dict[str, Scores], order: list[str], region: Region) -> list[Any]:
    """A map for each model, in colours that mean the same in all of them."""
    fitting = {name: models[name] for name in order if len(models[name]) == len(region)}
    if not fitting or region.dimension < 2 or len(region) < FEWEST:
        return []
    shown = dict(list(fitting.items())[:MOST_MAPS])
    top = colour_top(shown)
    flat = region.kind == "grid" and region.dimension == 2
    if flat and all(_drawable(scores) for scores in shown.values()):
        return [decision_regions({name: each}, region, top=top) for name, each in shown.items()]
    return [projection({name: each}, region, top=top) for name, each in shown.items()]


def _drawable(scores: Scores) -> bool:
    return scores.settings.kind != "onehot" or decisions(scores) is not None
