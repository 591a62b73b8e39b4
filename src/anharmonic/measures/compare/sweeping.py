"""`sweep`: models compared at several radii, and a radius to go on with."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack, cast

import numpy as np

from anharmonic._core.checkpoints import Folder, PathLike
from anharmonic._core.columns import remark
from anharmonic._core.estimate import Estimate
from anharmonic._core.progress import Progress, parts, shown
from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.measures.compare.comparing import GammaArguments, compare
from anharmonic.measures.compare.result import Comparison
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.setup.scale import nearest_distance
from anharmonic.measures.setup.settling import DEFAULTS, settle_points, takes_arguments_of
from anharmonic.models import as_model

__all__ = ["Sweep", "sweep"]

FRACTIONS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
"""Of the median distance between nearest neighbours: the radii that are swept by default."""
SETTLED = ("reference", "moving", "scale", "kinds")
"""Arguments that are settled once, for all radii."""


@dataclass(frozen=True, repr=False)
class Sweep:
    """Gamma against the radius, for one model or several.

    Parameters
    ----------
    radii
        From the smallest on, in scaled units.
    comparisons
        One for each radius.
    """

    radii: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def names(self) -> list[str]:
        return list(self.comparisons[0].scores)

    def means(self, name: str) -> tuple[Floats, Floats]:
        """A model's mean at every radius, and its errors."""
        every = [comparison.scores[name] for comparison in self.comparisons]
        return (
            np.array([scores.mean for scores in every]),
            np.array([scores.error for scores in every]),
        )

    @property
    def queries(self) -> int:
        return sum(comparison.queries for comparison in self.comparisons)

    @property
    def recommended(self) -> tuple[float, str]:
        """A radius to go on with, and why."""
        if len(self.names) > 1:
            return self._sharpest()
        for radius, comparison in zip(self.radii, self.comparisons, strict=True):
            scores = comparison.scores[self.names[0]]
            if scores.mean > 3 * scores.floor:
                return radius, "the smallest at which the mean is three times what noise would read"
        return self.radii[-1], "noise covers the mean at every radius, least at the largest"

    def _sharpest(self) -> tuple[float, str]:
        """Where the two models that are hardest to tell apart are furthest apart."""
        closest = [
            min(comparison.differences, key=lambda pair: pair.strength)
            for comparison in self.comparisons
        ]
        # A maximin: at every radius the closest pair counts.
        best = int(np.argmax([pair.strength for pair in closest]))
        pair = closest[best]
        if not pair.strength:
            pair = closest[-1]
            return self.radii[-1], (
                f"the largest, as no radius tells {pair.larger} and {pair.smaller} apart: here "
                f"they are {pair.verdict}" + (f" ({pair.why})" if pair.why else "")
            )
        return self.radii[best], (
            f"the closest pair, {pair.larger} and {pair.smaller}, is {pair.strength:.1f} "
            "standard errors apart with noise taken out, more than at any other radius"
        )

    @property
    def steady(self) -> bool:
        """Whether no model is really above another at one radius and below it at the next."""
        orders = {
            (pair.larger, pair.smaller)
            for comparison in self.comparisons
            for pair in comparison.differences
            if pair.real
        }
        return not any((smaller, larger) in orders for larger, smaller in orders)

    @property
    def unit(self) -> str:
        """What the radii are measured in."""
        scale = self.comparisons[0].scores[self.names[0]].settings.scale
        raw = scale is None or all(unit == 1 for unit in scale)
        return "in the features' own units" if raw else "in scaled units"

    def _rows(self) -> list[tuple[str, list[str]]]:
        """A radius and the means there, as text."""
        return [
            (
                f"{radius:.4g}",
                [str(Estimate(scores.mean, scores.error)) for scores in comparison.scores.values()],
            )
            for radius, comparison in zip(self.radii, self.comparisons, strict=True)
        ]

    def __repr__(self) -> str:
        about = remark(self.comparisons[0].settings)
        head = f"<gamma against the radius, {self.queries:,} queries{about}"
        rows = [
            f"  {radius}: "
            + ", ".join(f"{name} {mean}" for name, mean in zip(self.names, means, strict=True))
            for radius, means in self._rows()
        ]
        radius, why = self.recommended
        return "\n".join([head, *rows, f"  recommended {radius:.4g}: {why}"]) + ">"

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in self.names)
        rows = "".join(
            f"<tr><th>{radius}</th>{''.join(f'<td>{mean}</td>' for mean in means)}</tr>"
            for radius, means in self._rows()
        )
        radius, why = self.recommended
        return (
            f"<table><caption>gamma against the radius, {self.queries:,} queries</caption>"
            f"<tr><th>radius, {html.escape(self.unit)}</th>{heads}</tr>{rows}</table>"
            f"<p>Recommended radius: {radius:.4g}, {html.escape(why)}.</p>"
        )


@takes_arguments_of(gamma, GammaArguments, without=("radius",))
def sweep(
    models: object,
    points: object,
    radii: Sequence[float] | None = None,
    *,
    ball: str = "auto pairs",
    level: float = 0.95,
    checkpoint: PathLike | None = None,
    resume: PathLike | None = None,
    progress: Progress = None,
    **arguments: Unpack[GammaArguments],
) -> Sweep:
    """Gamma of one model, or a dictionary of them, at several radii.

    Parameters
    ----------
    models
        One model, anything `as_model` takes, or names and models.
    points
        Rows, a DataFrame or a `regions.Region`.
    radii
        In scaled units; by default from a sixteenth to twice the median distance between nearest
        neighbours in the reference or the points.
    ball, level, checkpoint, resume, progress
        As in `compare`.
    arguments
        As in `gamma`.
    """
    named = models if isinstance(models, Mapping) else {"model": models}
    adapted = [as_model(model) for model in named.values()]
    settled = settle_points(adapted, points, arguments, distance=False)
    if radii is None:
        if settled.reference.kind == "grid":
            raise SettingsError("on a grid give the radii, or reference=<data>")
        seed = arguments.get("seed", DEFAULTS["seed"])
        law = settled.reference.neighbourhood
        distance = (
            nearest_distance(settled.reference.values, settled.units, seed)
            if law is None
            else law.nearest
        )
        radii = [fraction * distance for fraction in FRACTIONS]
    if not len(radii):
        raise SettingsError("there are no radii to sweep: give some, or leave them out")
    ordered = tuple(sorted(float(radius) for radius in radii))
    folder = Folder(checkpoint, resume)
    folders = [folder.within(f"radius {radius!r}") for radius in ordered]
    # Settled already: a region knows what moves, and the scale is numbers now.
    shared = {name: value for name, value in arguments.items() if name not in SETTLED}
    units = {"scale": settled.units}
    with shown(progress) as report_all:
        comparisons = tuple(
            compare(
                named,
                settled.region,
                region="points",
                ball=ball,
                level=level,
                checkpoint=inner.path,
                resume=inner.resume,
                progress=report_progress,
                **cast(GammaArguments, {**shared, **units, "radius": radius}),
            )
            for radius, inner, report_progress in zip(
                ordered, folders, parts(report_all, len(ordered)), strict=True
            )
        )
    return Sweep(ordered, comparisons)
