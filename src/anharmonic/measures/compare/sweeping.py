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
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.compare.comparing import GammaArguments, compare
from anharmonic.measures.compare.radius_advice import RadiusAdvice, advise, most_local
from anharmonic.measures.compare.result import Comparison
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.setup.scale import radius_of
from anharmonic.measures.setup.settling import (
    DEFAULTS,
    SettledPoints,
    settle_points,
    takes_arguments_of,
)
from anharmonic.models import as_model
from anharmonic.scores import Scores

__all__ = ["Sweep", "sweep"]

FRACTIONS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
"""Of the radius that "auto" takes: the radii that are swept by default."""
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
        One for each radius, at the points alone.
    automatic
        What `radius="auto"` would take; None where there are no data to take it from.
    """

    radii: tuple[float, ...]
    comparisons: tuple[Comparison, ...]
    automatic: float | None = None

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
    def recommended(self) -> RadiusAdvice:
        """A radius to go on with, and why: that of "auto", unless it fails at these points."""
        return advise(self.radii, self.comparisons, self.automatic)

    @property
    def reading(self) -> list[str]:
        """What the numbers are, and which radius is for what, a sentence each."""
        sentences = [
            "The means are those at the points, as gamma and check give them; compare with a "
            "reference measures there too, and counts the larger."
        ]
        local = most_local(self.radii, self.comparisons)
        if local is not None and local < self.recommended[0]:
            sentences.append(
                f"The most local view that noise does not cover is at {local:.4g}: it shows where "
                "decisions are fragile to the smallest changes, and ranks overfit models worse."
            )
        if len(self.names) > 1 and not self.steady:
            sentences.append(
                "Models really change places between radii: say which radius you ranked at."
            )
        return sentences

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

    def rows(self) -> list[tuple[str, list[str]]]:
        """A radius and the means there, as text."""
        return [
            (
                f"{radius:.4g}",
                [_mean(scores) for scores in comparison.scores.values()],
            )
            for radius, comparison in zip(self.radii, self.comparisons, strict=True)
        ]

    def __repr__(self) -> str:
        about = remark(self.comparisons[0].settings)
        head = f"<gamma against the radius, {self.queries:,} queries{about}"
        rows = [
            f"  {radius}: "
            + ", ".join(f"{name} {mean}" for name, mean in zip(self.names, means, strict=True))
            for radius, means in self.rows()
        ]
        radius, why = self.recommended
        advice = [f"  recommended {radius:.4g}: {why}", *(f"  {line}" for line in self.reading)]
        return "\n".join([head, *rows, *advice]) + ">"

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in self.names)
        rows = "".join(
            f"<tr><th>{radius}</th>{''.join(f'<td>{mean}</td>' for mean in means)}</tr>"
            for radius, means in self.rows()
        )
        radius, why = self.recommended
        return (
            f"<table><caption>gamma against the radius, {self.queries:,} queries</caption>"
            f"<tr><th>radius, {html.escape(self.unit)}</th>{heads}</tr>{rows}</table>"
            f"<p>Recommended radius: {radius:.4g}, {html.escape(why)}.</p>"
            + "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.reading)
        )

    def summary(self) -> dict[str, object]:
        """Everything but single points as plain values."""
        means = {name: self.means(name) for name in self.names}
        radius, why = self.recommended
        settings = self.comparisons[0].settings
        return {
            "columns": settings.columns,
            "still": settings.still,
            "radii": list(self.radii),
            "models": {
                name: {
                    "mean": values.tolist(),
                    "error": errors.tolist(),
                    "relative": [there.scores[name].relative.value for there in self.comparisons],
                }
                for name, (values, errors) in means.items()
            },
            "recommended": {"radius": radius, "why": why},
            "automatic": self.automatic,
            "reading": self.reading,
            "unit": self.unit,
            "steady": self.steady,
            "queries": self.queries,
        }


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
    automatic = _automatic(settled, arguments.get("seed", DEFAULTS["seed"]))
    if radii is None:
        if automatic is None:
            raise SettingsError(
                "there is no distance between points to take radii from: give the radii, or "
                "reference=<data>, as on a grid"
            )
        radii = [fraction * automatic for fraction in FRACTIONS]
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
    return Sweep(ordered, comparisons, automatic)


def _mean(scores: Scores) -> str:
    """A mean with its error, and beside the outputs' spread."""
    relative = scores.relative.value
    share = f" ({relative:.1%} of the spread)" if np.isfinite(relative) else ""
    return f"{Estimate(scores.mean, scores.error)}{share}"


def _automatic(settled: SettledPoints, seed: int) -> float | None:
    """What `radius="auto"` takes here; None where there is nothing to take it from."""
    if settled.reference.kind == "grid":
        return None
    try:
        return radius_of("auto", settled.reference, settled.units, seed)[0]
    except PointsError:
        # One point, or copies of one.
        return None
