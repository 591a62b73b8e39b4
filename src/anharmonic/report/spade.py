"""A page about one SPADE score: what it is, what it depends on, and the most fragile points."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.estimate import Estimate
from anharmonic._core.extras import require
from anharmonic._core.files import write_text_whole
from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import SettingsError
from anharmonic.measures.spectral import SpadeScores
from anharmonic.measures.spectral.result import SpadeSettings, guide
from anharmonic.plots.images import is_image, png
from anharmonic.plots.points import features_at
from anharmonic.plots.spade import node_distribution, top_eigenvalues, worst_edge
from anharmonic.regions import Region, as_region
from anharmonic.report.figures import section_of
from anharmonic.report.rendering import rendered
from anharmonic.report.tables import shown
from anharmonic.report.words import WORDS, Headline

__all__ = ["write_spade"]

MOST_UNITS = 40
SETTINGS = (
    *("neighbours", "rank", "components", "search", "points", "copies", "dimension", "scale"),
    *("residual", "block_size", "seed"),
)
"""Settings that the page lists where they were recorded."""


class ShownPoint(NamedTuple):
    """One point as a reader sees it: an image, what the model said, and its features."""

    row: int
    image: str
    answer: str
    features: list[tuple[str, str]]


class Fragile(NamedTuple):
    """A fragile point, and the close one it is torn from most."""

    point: ShownPoint
    score: str
    times: str
    edge: str
    other: ShownPoint | None


class Stage(NamedTuple):
    """A stage, its seconds, and its share of all in percent."""

    name: str
    seconds: str
    share: float


def write_spade(
    path: str | os.PathLike[str],
    scores: SpadeScores,
    *,
    points: object = None,
    outputs: Array | None = None,
    shape: tuple[int, ...] | None = None,
    count: int = 12,
    title: str | None = None,
    command: str | None = None,
) -> Path:
    """Write one self-contained HTML file about a SPADE score and return its path.

    Parameters
    ----------
    path
        Where it goes; replaced whole or not at all.
    scores
        From `spade`.
    points, outputs
        Where the scores were measured and what came out, for the most fragile points; only
        those are embedded.
    shape
        Of the images that points are, such as (28, 28); arrays (points, 28, 28) have it.
    count
        How many fragile points are shown.
    title
        What stands on top; the model's name if not told.
    command
        The line that made it, to be shown.
    """
    require("report")
    name, facts = scores.settings.model, scores.settings.plain()
    words = WORDS | {"dimension": "features"}
    listed = [(words[key], shown(facts.get(key))) for key in SETTINGS]
    own = tuple(getattr(points, "shape", ()))[1:]
    shape = own if shape is None and len(own) > 1 and is_image(own) else shape
    viewer = _Viewer(scores, points, outputs, shape)
    page = rendered(
        "spade.html",
        [
            section_of("nodes", [node_distribution(scores)]),
            section_of("eigenvalues", [top_eigenvalues(scores)]),
        ],
        title=title or f"SPADE of {name}",
        headline=_headline(name, scores),
        facts=scores.facts(),
        fragile=[viewer.fragile(row) for row in guide(scores, count, apart=True).tolist()],
        images=shape is not None,
        stages=_stages(scores),
        command=command,
        recipe=_recipe(scores),
        settings=[(word, text) for word, text in listed if text],
        answers=viewer.outputs is not None and viewer.outputs[0].size > 1,
    )
    return write_text_whole(path, page)


class _Viewer:
    """Shows single points, as much of them as is known."""

    def __init__(
        self,
        scores: SpadeScores,
        points: object,
        outputs: Array | None,
        shape: tuple[int, ...] | None,
    ) -> None:
        self.scores, self.shape = scores, shape
        self.region: Region | None = None if points is None else as_region(points)
        self.outputs = None if outputs is None else to_numpy64(np.asarray(outputs))
        self.median = float(np.nanmedian(scores.values))
        for rows in (self.region, self.outputs):
            if rows is not None and len(rows) != len(scores):
                raise SettingsError("the scores belong to other points: give those they were of")
        if shape is not None:
            self._check_shape(shape)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        """Refuse a shape that points do not have; find what is black and what is white."""
        if self.region is None:
            raise SettingsError("images of what? Give the points as well")
        if not is_image(shape) or prod(shape) != self.region.dimension:
            raise SettingsError(
                f"points of {self.region.dimension:,} values are no images of shape {shape}: give "
                "(height, width), with 1 or 3 channels before or after"
            )
        values: Floats = to_numpy64(self.region.values)
        self.low, self.high = float(values.min()), float(values.max())

    def fragile(self, row: int) -> Fragile:
        edge = worst_edge(self.scores, row)
        value = float(self.scores.values[row])
        return Fragile(
            self.shown(row),
            _number(value),
            _number(value / self.median) if self.median > 0 else "–",
            "" if edge is None else _number(edge[1]),
            None if edge is None else self.shown(edge[0]),
        )

    def shown(self, row: int) -> ShownPoint:
        image, features = "", []
        if self.shape is not None and self.region is not None:
            image = png(to_numpy64(self.region.values[row]), self.shape, self.low, self.high)
        elif self.region is not None:
            features = features_at(self.region, row)
        return ShownPoint(row, image, self._answer(row), features)

    def _answer(self, row: int) -> str:
        """The largest of several outputs by its number, or the only one's value."""
        if self.outputs is None:
            return ""
        own = self.outputs[row].ravel()
        if len(own) == 1:
            return f"{own[0]:.4g}"
        return f"output {int(own.argmax())}"


def _headline(name: str, scores: SpadeScores) -> Headline:
    low, high = scores.interval()
    lead = f"The SPADE score of {name} is {Estimate(scores.score, scores.error)}."
    rest = [
        f"As many new points would score from {low:.4g} to {high:.4g} (95%)."
        if np.isfinite(low)
        else "There were too few points, or no blocks, for an interval.",
        _connected(scores.settings),
        "A score means something beside another one only: the same points, the same neighbours.",
    ]
    return Headline(lead, rest)


def _connected(settings: SpadeSettings) -> str:
    """In how many parts the output graph was, and what that means for the score."""
    parts, how = settings.output_parts, settings.components
    if parts == 1:
        return "The output graph is in one part, so no edge had to be added."
    torn = f"{settings.edges_torn:,} input edges run between them"
    if how == "join":
        return (
            f"The output graph was in {parts:,} parts ({torn}), joined by "
            f"{settings.edges_added:,} added edges: the score measures those few edges. "
            'Look at components="each" too.'
        )
    which = "each was scored alone" if how == "each" else "the largest alone was scored"
    return f"The output graph is in {parts:,} parts ({torn}); {which}."


def _stages(scores: SpadeScores) -> list[Stage]:
    seconds = scores.settings.seconds
    whole = max(sum(seconds.values()), 1e-9)
    return [Stage(name, f"{taken:.2f}", 100 * taken / whole) for name, taken in seconds.items()]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _recipe(scores: SpadeScores) -> str:
    """Python that measures again."""
    settings = scores.settings
    facts = settings.chosen(("neighbours", "rank", "components", "seed"))
    arguments = {name: repr(fact) for name, fact in facts.items()}
    if settings.asked_search != "auto":
        arguments["search"] = repr(settings.asked_search)
    if settings.scale:
        short = len(settings.scale) <= MOST_UNITS
        arguments["scale"] = repr(settings.scale) if short else '"auto"'
    lines = "".join(f"    {name}={value},\n" for name, value in arguments.items())
    return (
        f"import anharmonic as ah\n\nscores = ah.spade(\n    inputs,\n    outputs,  # "
        f"{len(scores):,} rows\n{lines})\n"
        'ah.report.write_spade("spade.html", scores, points=inputs, outputs=outputs)'
    )
