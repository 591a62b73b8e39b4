"""A page about one SPADE score: what it is, what it depends on, and the most fragile points."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.estimate import Estimate
from anharmonic._core.extras import require
from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
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
from anharmonic.report.words import Headline

__all__ = ["write_spade"]

MOST_UNITS = 40
WORDS = {
    "neighbours": "neighbours",
    "rank": "eigenvectors behind node scores",
    "components": "an output graph in parts",
    "search": "search",
    "points": "points",
    "copies": "copies among them",
    "dimension": "features",
    "scale": "unit of each feature",
    "residual": "share to which the score is known",
    "block_size": "points of a block",
    "seed": "seed",
}


class Seen(NamedTuple):
    """One point as a reader sees it: an image, what the model said, and its features."""

    row: int
    image: str
    answer: str
    features: list[tuple[str, str]]


class Fragile(NamedTuple):
    """A fragile point, and the close one it is torn from most."""

    point: Seen
    score: str
    times: str
    edge: str
    other: Seen | None


class Stage(NamedTuple):
    """A stage, its seconds, and its share of all in percent."""

    name: str
    seconds: str
    share: float


def write_spade(
    path: str | os.PathLike[str],
    scores: SpadeScores,
    *,
    points: Any = None,
    outputs: Any = None,
    shape: tuple[int, ...] | None = None,
    count: int = 12,
    title: str | None = None,
    command: str | None = None,
) -> Path:
    """Write one self-contained HTML file and return its path.

    - `points` and `outputs`: where the scores were measured and what came out, for the most
      fragile points; only those are embedded.
    - `shape`: of the images that points are, such as (28, 28); arrays (points, 28, 28) have it.
    """
    require("report")
    name, facts = scores.settings.model, scores.settings.plain()
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
        settings=[(word, _setting(facts.get(key))) for key, word in WORDS.items()],
        answers=viewer.outputs is not None and viewer.outputs[0].size > 1,
    )
    with whole_file(path) as temporary:
        Path(temporary).write_text(page, encoding="utf-8")
    return Path(path)


class _Viewer:
    """Shows single points, as much of them as is known."""

    def __init__(
        self, scores: SpadeScores, points: Any, outputs: Any, shape: tuple[int, ...] | None
    ) -> None:
        self.scores, self.shape = scores, shape
        self.region: Region | None = None if points is None else as_region(points)
        self.outputs = None if outputs is None else to_numpy64(np.asarray(outputs))
        self.median = float(np.nanmedian(scores.values))
        for each in (self.region, self.outputs):
            if each is not None and len(each) != len(scores):
                raise SettingsError("the scores belong to other points: give those they were of")
        if shape is not None:
            self._checked(shape)

    def _checked(self, shape: tuple[int, ...]) -> None:
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
            self.seen(row),
            _number(value),
            _number(value / self.median) if self.median > 0 else "–",
            "" if edge is None else _number(edge[1]),
            None if edge is None else self.seen(edge[0]),
        )

    def seen(self, row: int) -> Seen:
        image, features = "", []
        if self.shape is not None and self.region is not None:
            image = png(to_numpy64(self.region.values[row]), self.shape, self.low, self.high)
        elif self.region is not None:
            features = features_at(self.region, row)
        return Seen(row, image, self._answer(row), features)

    def _answer(self, row: int) -> str:
        """The largest of several outputs by its number, or the only one's value."""
        if self.outputs is None:
            return ""
        own = self.outputs[row].ravel()
        if len(own) == 1:
            return f"{own[0]:.4g}"
        return f"output {int(own.argmax())}"


def _headline(name: str, scores: SpadeScores) -> Headline:
    known = scores.settings
    low, high = scores.interval()
    lead = f"The SPADE score of {name} is {Estimate(scores.score, scores.error)}."
    rest = [
        f"As many new points would score from {low:.4g} to {high:.4g} (95%)."
        if np.isfinite(low)
        else "There were too few points, or no blocks, for an interval.",
        _connected(known),
        "A score means something beside another one only: the same points, the same neighbours.",
    ]
    return Headline(lead, rest)


def _connected(known: SpadeSettings) -> str:
    parts, how = known.output_parts, known.components
    if parts == 1:
        return "The output graph is in one part, so no edge had to be added."
    torn = f"{known.edges_torn:,} input edges run between them"
    if how == "join":
        return (
            f"The output graph was in {parts:,} parts ({torn}), joined by "
            f"{known.edges_added:,} added edges: the score measures those few edges. "
            'Look at components="each" too.'
        )
    which = "each was scored alone" if how == "each" else "the largest alone was scored"
    return f"The output graph is in {parts:,} parts ({torn}); {which}."


def _stages(scores: SpadeScores) -> list[Stage]:
    seconds = scores.settings.seconds
    whole = max(sum(seconds.values()), 1e-9)
    return [Stage(name, f"{each:.2f}", 100 * each / whole) for name, each in seconds.items()]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _setting(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown(each)}" for key, each in value.items())
    return shown(value)


def _recipe(scores: SpadeScores) -> str:
    known = scores.settings
    facts = known.chosen(("neighbours", "rank", "components", "seed"))
    given = {name: repr(fact) for name, fact in facts.items()}
    if known.asked_search != "auto":
        given["search"] = repr(known.asked_search)
    if known.scale:
        short = len(known.scale) <= MOST_UNITS
        given["scale"] = repr(known.scale) if short else '"auto"'
    arguments = "".join(f"    {name}={value},\n" for name, value in given.items())
    return (
        f"import anharmonic as ah\n\nscores = ah.spade(\n    inputs,\n    outputs,  # "
        f"{len(scores):,} rows\n{arguments})\n"
        'ah.report.write_spade("spade.html", scores, points=inputs, outputs=outputs)'
    )
