"""Several models side by side: the same points, the same directions, so differences are sharp."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from anharmonic.errors import SettingsError
from anharmonic.meanvalue import Progress, gamma
from anharmonic.moments import Estimate, Moments
from anharmonic.protocols import Floats, Map
from anharmonic.reductions import Reduction
from anharmonic.regions import as_region
from anharmonic.scaling import nearest_distance, radius_of, scaled
from anharmonic.scores import Scores

__all__ = ["Comparison", "Difference", "GammaArguments", "Sweep", "compare", "sweep"]

FRACTIONS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)


class GammaArguments(TypedDict, total=False):
    """Arguments of `gamma` that are the same for every model and handed on as they are."""

    directions: int | None
    rotations: int
    output: Any
    reduction: Reduction | None
    bounds: Any
    budget: int | None
    tolerance: float | None
    noise: Literal["include", "refuse", "ignore"]
    batch_size: int | None
    map: Map
    progress: Progress | None


class Difference(NamedTuple):
    """How much larger one model's mean is than another's, over the same points."""

    larger: str
    smaller: str
    estimate: Estimate
    interval: tuple[float, float]

    @property
    def real(self) -> bool:
        """Whether the interval, widened for the number of pairs compared, excludes 0."""
        return not self.interval[0] <= 0 <= self.interval[1]

    @property
    def strength(self) -> float:
        """The difference in standard errors; 0 where there is none."""
        value, error = self.estimate
        return 0.0 if value == 0 else abs(value) / error if error else float("inf")

    def __str__(self) -> str:
        relation = ">" if self.real else "≈"
        low, high = self.interval
        return f"{self.larger} {relation} {self.smaller} by {self.estimate} [{low:.3g}, {high:.3g}]"


@dataclass(frozen=True, repr=False)
class Comparison:
    """Scores of several models on the same points, and which of their differences are real."""

    scores: dict[str, Scores]
    level: float = 0.95

    @property
    def ranking(self) -> list[str]:
        """Names from the smallest mean to the largest."""
        return sorted(self.scores, key=lambda name: self.scores[name].mean)

    @property
    def differences(self) -> list[Difference]:
        """Every pair, paired point by point; Bonferroni's correction for their number."""
        pairs = list(combinations(reversed(self.ranking), 2))
        level = 1 - (1 - self.level) / max(1, len(pairs))
        return [self._difference(larger, smaller, level) for larger, smaller in pairs]

    def _difference(self, larger: str, smaller: str, level: float) -> Difference:
        gap = self.scores[larger].values - self.scores[smaller].values
        moments = Moments.of(gap[np.isfinite(gap)])
        low, high = moments.interval(level)
        estimate = Estimate(float(moments.mean), float(moments.error))
        return Difference(larger, smaller, estimate, (float(low), float(high)))

    @property
    def queries(self) -> int:
        return sum(scores.queries for scores in self.scores.values())

    def __repr__(self) -> str:
        width = max(len(name) for name in self.scores)
        rows = [
            f"  {name:{width}}  {Estimate(self.scores[name].mean, self.scores[name].error)}"
            for name in self.ranking
        ]
        unsure = [str(each) for each in self.differences if not each.real]
        noted = [f"  not told apart: {each}" for each in unsure]
        return "\n".join([f"<gamma of {len(self.scores)} models", *rows, *noted]) + ">"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td>"
            f"<td>{Estimate(self.scores[name].mean, self.scores[name].error)}</td></tr>"
            for name in self.ranking
        )
        found = "".join(f"<li>{html.escape(str(each))}</li>" for each in self.differences)
        return f"<table><tr><th>model</th><th>gamma</th></tr>{rows}</table><ul>{found}</ul>"


def compare(
    models: Mapping[str, Any],
    points: Any,
    *,
    radius: float | str = "auto",
    ball: str = "auto pairs",
    scale: Any = "auto",
    reference: Any = None,
    level: float = 0.95,
    seed: int = 0,
    **arguments: Unpack[GammaArguments],
) -> Comparison:
    """Gamma of several models on the same points with the same directions.

    `models` maps names to anything `as_model` takes; further arguments are `gamma`'s. The
    radius and the scale are settled once, and the ball does not ask the models, so that all
    get the same one. Costs what as many single runs cost.

    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(200, 3))
    >>> wavy = {"slow": lambda x: np.sin(x[:, 0]), "fast": lambda x: np.sin(3 * x[:, 0])}
    >>> found = compare(wavy, points, radius=0.3)
    >>> found.ranking, found.differences[0].real
    (['slow', 'fast'], True)
    """
    if not models:
        raise SettingsError("there is nothing to compare: give a dictionary of names and models")
    if ball == "auto":
        raise SettingsError(
            'ball="auto" could choose another ball for each model: give "auto pairs", '
            '"auto singles" or the name of one'
        )
    region, units, known = scaled(as_region(points), scale, reference)
    reach, _ = radius_of(radius, known, units, seed)
    scores = {
        name: gamma(model, region, radius=reach, scale=units, ball=ball, seed=seed, **arguments)
        for name, model in models.items()
    }
    return Comparison(scores, level)


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
        return self.radii[best], (
            f"the closest pair, {pair.larger} and {pair.smaller}, is {pair.strength:.1f} "
            "standard errors apart, more than at any other radius"
        )

    @property
    def steady(self) -> bool:
        """Whether the models stand in the same order at every radius."""
        return len({tuple(each.ranking) for each in self.comparisons}) == 1

    def __repr__(self) -> str:
        head = f"<gamma against the radius, {self.queries:,} queries"
        rows = [
            f"  {radius:.4g}: "
            + ", ".join(
                f"{name} {Estimate(scores.mean, scores.error)}"
                for name, scores in each.scores.items()
            )
            for radius, each in zip(self.radii, self.comparisons, strict=True)
        ]
        radius, why = self.recommended
        return "\n".join([head, *rows, f"  recommended {radius:.4g}: {why}"]) + ">"


def sweep(
    models: Any,
    points: Any,
    radii: Sequence[float] | None = None,
    *,
    ball: str = "auto pairs",
    scale: Any = "auto",
    reference: Any = None,
    level: float = 0.95,
    seed: int = 0,
    **arguments: Unpack[GammaArguments],
) -> Sweep:
    """Gamma of one model, or a dictionary of them, at several radii.

    `radii` are in scaled units; by default from a sixteenth to twice the median distance
    between nearest neighbours in the reference or the points.
    """
    named = models if isinstance(models, Mapping) else {"model": models}
    region, units, known = scaled(as_region(points), scale, reference)
    if radii is None:
        if known.kind == "grid":
            raise SettingsError("on a grid give the radii, or reference=<data>")
        distance = nearest_distance(known.values, units, seed)
        radii = [fraction * distance for fraction in FRACTIONS]
    if not len(radii):
        raise SettingsError("there are no radii to sweep: give some, or leave them out")
    ordered = tuple(sorted(float(radius) for radius in radii))
    return Sweep(
        ordered,
        tuple(
            compare(
                named,
                region,
                radius=radius,
                ball=ball,
                scale=units,
                level=level,
                seed=seed,
                **arguments,
            )
            for radius in ordered
        ),
    )
