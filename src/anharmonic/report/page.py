"""Put a report together and write it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from anharmonic._core.extras import require
from anharmonic._core.files import write_text_whole
from anharmonic.measures.compare import Comparison, Sweep
from anharmonic.measures.explain import Contributions
from anharmonic.measures.search.result import Search
from anharmonic.plots.named import Several, measured_region, named
from anharmonic.plots.points import WorstPoint, worst
from anharmonic.regions import Region
from anharmonic.report.figures import sections
from anharmonic.report.recipe import recipe
from anharmonic.report.rendering import rendered
from anharmonic.report.tables import differences, models_table, settings
from anharmonic.report.words import headline, how_to_read, unlike
from anharmonic.scores import Scores

__all__ = ["write"]

Explained = Contributions | Mapping[str, Contributions]


Searched = Search | Mapping[str, Search]


class ModelFlips(NamedTuple):
    """Rows of a model that a search flips, the nearest first, and what it says in words."""

    name: str
    sentence: str
    rows: list[dict[str, object]]
    more: int


class ModelWorst(NamedTuple):
    """A model's worst points, and the longest bar among their features."""

    name: str
    points: list[WorstPoint]
    longest: float


def write(
    path: str | os.PathLike[str],
    scores: Several,
    *,
    points: object = None,
    sweep: Sweep | None = None,
    contributions: Explained | None = None,
    search: Searched | None = None,
    title: str | None = None,
    command: str | None = None,
) -> Path:
    """Write one self-contained HTML file and return its path.

    Points are aggregated, never embedded: a million of them make no larger file than a thousand.

    Parameters
    ----------
    path
        Where it goes; replaced whole or not at all.
    scores
        One model's, a dictionary of them, or what `compare` gave.
    points
        Where they were measured, for maps and for the worst points' features.
    sweep
        From `sweep`, for gamma against the radius.
    contributions
        From `contributions`, for one model or by name.
    search
        From `adversarial_search`, for one model or by name: how far decisions are from changing,
        and which rows change first.
    title
        What stands on top; the model, or how many there are, if not told.
    command
        The line that made it, to be shown.
    """
    require("report")
    models = named(scores)
    alike = not unlike(models)
    first = next(iter(models.values()))
    compared = scores if isinstance(scores, Comparison) else Comparison(models)
    judged = compared if alike and len(models) > 1 else None
    order = compared.ranking
    region = None if points is None else measured_region(points, models[order[0]])
    searches = {order[0]: search} if isinstance(search, Search) else dict(search or {})
    pictures = sections(compared, order, region, sweep, searches)
    of = order[0] if len(order) == 1 else f"{len(order)} models"
    page = rendered(
        "page.html",
        title=title or f"{first.metric.capitalize()} of {of}",
        headline=headline(models, judged),
        models=models_table(compared, order),
        differences=differences([] if judged is None else judged.differences),
        label_differences=differences(compared.label_differences),
        label_metric=compared.label_metric,
        pictures=pictures,
        # What one chooses by stands beside the table.
        first_pictures=pictures[: bool(compared.labelled)],
        later_pictures=pictures[bool(compared.labelled) :],
        worst=_worst(models, order, region, contributions),
        flip_unit=next(iter(searches.values())).curve.unit if searches else "",
        flips=[
            _flips(name, searches[name], 10 if len(searches) <= 2 else 5)
            for name in order
            if name in searches
        ],
        settings=settings({name: models[name] for name in order}),
        command=command,
        recipe=recipe(models, alike, bool(compared.at_reference), _unusual(compared)),
        metric=first.metric,
        about=first.about,
        moves=all(its.settings.moves for its in models.values()),
        queries=f"{compared.queries:,}",
        how_to_read=how_to_read(compared),
        points=_points(models),
        level=f"{100 * compared.level:.4g}%",
    )
    return write_text_whole(path, page)


def _points(models: Mapping[str, Scores]) -> str:
    """How many points were measured, and of how many where some were not."""
    counts = []
    for scores in models.values():
        measured = int(np.isfinite(scores.values).sum())
        whole = measured == len(scores)
        counts.append(f"{measured:,}" if whole else f"{measured:,} of {len(scores):,}")
    return " or ".join(dict.fromkeys(counts))


def _flips(name: str, search: Search, count: int) -> ModelFlips:
    rows = search.flipped_list(count)
    return ModelFlips(name, search.sentences[0], rows, int(search.flipped.sum()) - len(rows))


def _unusual(compared: Comparison) -> dict[str, float]:
    """How differences are judged, where that is not the usual way."""
    usual = Comparison({})
    return {
        name: getattr(compared, name)
        for name in ("level", "equivalence")
        if getattr(compared, name) != getattr(usual, name)
    }


def _worst(
    models: dict[str, Scores],
    order: list[str],
    region: Region | None,
    explained: Explained | None,
) -> list[ModelWorst]:
    """The worst points of every model, with their features where they are known."""
    by_name: Mapping[str, Contributions]
    if isinstance(explained, Contributions):
        by_name = {order[0]: explained} if len(order) == 1 else {}
    else:
        by_name = explained or {}
    rows = []
    for name in order:
        scores = models[name]
        fitting = region if region is not None and len(region) == len(scores) else None
        listed = worst(scores, fitting, by_name.get(name), 5 if len(order) <= 2 else 3)
        longest = max(
            (abs(part.share) for point in listed for part in point.shares or []), default=0.0
        )
        rows.append(ModelWorst(name, listed, longest))
    return rows
