"""`sweep`: models compared at several radii, and a radius to go on with."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from anharmonic._core.checkpoints import Folder, PathLike
from anharmonic._core.columns import remark
from anharmonic._core.estimate import Estimate
from anharmonic._core.progress import Progress, parts, shown
from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.measures.compare.comparing import GammaArguments, compare
from anharmonic.measures.compare.result import Comparison
from anharmonic.measures.setup.scale import nearest_distance, scaled
from anharmonic.models import as_model
from anharmonic.regions import as_region

__all__ = ["Sweep", "sweep"]

FRACTIONS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True, repr=False)
class Sweep:
    """Gamma against the radius, for one model or several."""

    radii: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def names(self) -> list[str]:
        return list(self.comparisons[0].scores)

    def means(self, name: str) -> tuple[Floats, Floats]:
        """A model's mean at every radius, and its errors."""
        scores = [each.scores[name] for each in self.comparisons]
        return np.array([s.mean for s in scores]), np.array([s.error for s in scores])

    @property
    def queries(self) -> int:
        return sum(each.queries for each in self.comparisons)

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
            min(each.differences, key=lambda pair: pair.strength) for each in self.comparisons
        ]
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
        found = {
            (pair.larger, pair.smaller)
            for each in self.comparisons
            for pair in each.differences
            if pair.real
        }
        return not any((smaller, larger) in found for larger, smaller in found)

    @property
    def unit(self) -> str:
        """What the radii are measured in."""
        scale = self.comparisons[0].scores[self.names[0]].settings.scale
        raw = scale is None or all(each == 1 for each in scale)
        return "in the features' own units" if raw else "in scaled units"

    def _rows(self) -> list[tuple[str, list[str]]]:
        """A radius and the means there, as text."""
        return [
            (f"{radius:.4g}", [str(Estimate(each.mean, each.error)) for each in found.values()])
            for radius, found in zip(
                self.radii, (each.scores for each in self.comparisons), strict=True
            )
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


def sweep(
    models: Any,
    points: Any,
    radii: Sequence[float] | None = None,
    *,
    ball: str = "auto pairs",
    scale: Any = "auto",
    reference: Any = None,
    moving: Sequence[str | int] | None = None,
    level: float = 0.95,
    seed: int = 0,
    checkpoint: PathLike | None = None,
    resume: PathLike | None = None,
    progress: Progress = None,
    **arguments: Unpack[GammaArguments],
) -> Sweep:
    """Gamma of one model, or a dictionary of them, at several radii.

    `radii` are in scaled units; by default from a sixteenth to twice the median distance
    between nearest neighbours in the reference or the points. `checkpoint`, `resume` and
    `progress` are those of `compare`.
    """
    named = models if isinstance(models, Mapping) else {"model": models}
    asked = [as_model(model) for model in named.values()]
    region, units, known = scaled(as_region(points, moving), scale, reference, asked)
    if radii is None:
        if known.kind == "grid":
            raise SettingsError("on a grid give the radii, or reference=<data>")
        distance = nearest_distance(known.values, units, seed)
        radii = [fraction * distance for fraction in FRACTIONS]
    if not len(radii):
        raise SettingsError("there are no radii to sweep: give some, or leave them out")
    ordered = tuple(sorted(float(radius) for radius in radii))
    folder = Folder(checkpoint, resume)
    inners = [folder.within(f"radius {radius!r}") for radius in ordered]
    with shown(progress) as tell:
        found = tuple(
            compare(
                named,
                region,
                region="points",
                radius=radius,
                ball=ball,
                scale=units,
                level=level,
                seed=seed,
                checkpoint=inner.path,
                resume=inner.resume,
                progress=each,
                **arguments,
            )
            for radius, inner, each in zip(ordered, inners, parts(tell, len(ordered)), strict=True)
        )
    return Sweep(ordered, found)
