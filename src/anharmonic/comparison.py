"""Several models side by side: the same points, the same directions, so differences are sharp."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from anharmonic.checkpoints import Folder, PathLike
from anharmonic.errors import SettingsError
from anharmonic.meanvalue import gamma
from anharmonic.moments import Estimate, Moments, half_widths, welch
from anharmonic.progress import Progress, parts, shown
from anharmonic.protocols import Floats, Map
from anharmonic.randomness import generator
from anharmonic.reductions import Reduction
from anharmonic.regions import Region, as_region
from anharmonic.scaling import nearest_distance, radius_of, scaled
from anharmonic.scores import Scores

__all__ = ["Comparison", "Difference", "GammaArguments", "Sweep", "compare", "sweep"]

FRACTIONS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)


Measure = Callable[..., Scores]
"""From a model and points, with radius=, scale= and seed=, to scores."""


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
    """Scores of several models on the same points, and which of their differences are real.

    Where the models were measured at reference points too, `at_reference` holds those scores,
    and a model counts with the larger of its two means: some memorise in a way that shows only
    at the points they were trained on, some only between them.
    """

    scores: dict[str, Scores]
    level: float = 0.95
    at_reference: dict[str, Scores] = field(default_factory=dict)

    def places(self, name: str) -> dict[str, Scores]:
        """A model's scores by where they were measured: "points" and perhaps "reference"."""
        found = {"points": self.scores[name]}
        if name in self.at_reference:
            found["reference"] = self.at_reference[name]
        return found

    def largest(self, name: str) -> str:
        """Where a model's mean is the larger."""
        places = self.places(name)
        return max(places, key=lambda place: places[place].mean)

    def overall(self, name: str) -> Estimate:
        """The mean a model counts with."""
        scores = self.places(name)[self.largest(name)]
        return Estimate(scores.mean, scores.error)

    @property
    def ranking(self) -> list[str]:
        """Names from the smallest mean to the largest."""
        return sorted(self.scores, key=lambda name: self.overall(name).value)

    @property
    def differences(self) -> list[Difference]:
        """Every pair, paired point by point; Bonferroni's correction for their number."""
        pairs = list(combinations(reversed(self.ranking), 2))
        level = 1 - (1 - self.level) / max(1, len(pairs))
        return [self._difference(larger, smaller, level) for larger, smaller in pairs]

    def _difference(self, larger: str, smaller: str, level: float) -> Difference:
        """One model's largest mean less the other's.

        It is the least of its differences to the other's means, so the least of their lower
        ends and the least of their upper ends bound it.
        """
        place = self.largest(larger)
        one = self.places(larger)[place].values
        gaps = {
            other: _gap(one, scores.values, other == place, level)
            for other, scores in self.places(smaller).items()
        }
        low, high = (float(min(gap[1][end] for gap in gaps.values())) for end in (0, 1))
        return Difference(larger, smaller, gaps[self.largest(smaller)][0], (low, high))

    @property
    def queries(self) -> int:
        every = [*self.scores.values(), *self.at_reference.values()]
        return sum(scores.queries for scores in every)

    def __repr__(self) -> str:
        width = max(len(name) for name in self.scores)
        rows = [
            f"  {name:{width}}  {self.overall(name)}" + self._where(name) for name in self.ranking
        ]
        unsure = [str(each) for each in self.differences if not each.real]
        noted = [f"  not told apart: {each}" for each in unsure]
        return "\n".join([f"<{self.metric} of {len(self.scores)} models", *rows, *noted]) + ">"

    @property
    def metric(self) -> str:
        """What was measured."""
        return next(iter(self.scores.values())).metric

    def _where(self, name: str) -> str:
        return f" (at the {self.largest(name)})" if self.at_reference else ""

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{self.overall(name)}{self._where(name)}</td></tr>"
            for name in self.ranking
        )
        found = "".join(f"<li>{html.escape(str(each))}</li>" for each in self.differences)
        heading = f"<tr><th>model</th><th>{html.escape(self.metric)}</th></tr>"
        return f"<table>{heading}{rows}</table><ul>{found}</ul>"


def _gap(
    one: Floats, other: Floats, paired: bool, level: float
) -> tuple[Estimate, tuple[float, float]]:
    """Mean of one less mean of the other, and its interval; point by point where they match."""
    if paired:
        gap = one - other
        moments = Moments.of(gap[np.isfinite(gap)])
        found, count = Estimate(float(moments.mean), float(moments.error)), moments.count
    else:
        found, count = welch(*(Moments.of(each[np.isfinite(each)]) for each in (one, other)))
    reach = float(half_widths(found.error, count, level))
    return found, (found.value - reach, found.value + reach)


def compare(
    models: Mapping[str, Any],
    points: Any,
    *,
    region: Literal["auto", "points"] = "auto",
    radius: float | str = "auto",
    ball: str = "auto pairs",
    scale: Any = "auto",
    reference: Any = None,
    level: float = 0.95,
    seed: int = 0,
    measure: Measure = gamma,
    checkpoint: PathLike | None = None,
    resume: PathLike | None = None,
    progress: Progress = None,
    **arguments: Unpack[GammaArguments],
) -> Comparison:
    """Gamma of several models on the same points with the same directions.

    `models` maps names to anything `as_model` takes; further arguments are `gamma`'s. The
    radius and the scale are settled once, and the ball does not ask the models, so that all
    get the same one. Costs what as many single runs cost.

    `region="auto"` measures at the reference points too, as many as there are points, and ranks
    each model by the larger of its two means: give new points and, as `reference`, the points
    the models were trained on. "points" leaves the reference to scale and radius.

    `measure` is `gamma`, `clever`, one of `baselines`, or any of them with arguments of its own
    filled in (`functools.partial`); the ball is gamma's alone.

    `checkpoint` is a folder to keep each model's scores in, every few seconds; `resume=` that
    folder goes on where a run was stopped. `progress=True` shows one bar for all models.

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
    if region not in ("auto", "points"):
        raise SettingsError(f'region {region!r}: give "auto" or "points"')
    place, units, known = scaled(as_region(points), scale, reference)
    reach, _ = radius_of(radius, known, units, seed)

    given: dict[str, Any] = {**arguments, "ball": ball} if measure is gamma else {**arguments}
    if measure is not gamma and (checkpoint is not None or resume is not None):
        raise SettingsError("checkpoint= and resume= are gamma's: leave them out with measure=")
    folder = Folder(checkpoint, resume)
    second = region == "auto" and reference is not None and _askable(known, place)

    def measured(where: Region, what: str) -> dict[str, Scores]:
        found = {}
        for name, model in models.items():
            own = given | folder.arguments(what, name)
            if (tell := next(tells)) is not None:
                own["progress"] = tell
            found[name] = measure(model, where, radius=reach, scale=units, seed=seed, **own)
        return found

    with shown(progress) as tell_all:
        tells = parts(tell_all, len(models) * (2 if second else 1))
        familiar = measured(_some(known, len(place), seed), "reference") if second else {}
        return Comparison(measured(place, "points"), level, familiar)


def _askable(known: Region, place: Region) -> bool:
    """Whether reference data are whole rows for the models, and not the points themselves."""
    alike = set(known.names) == set(place.names) and known.shape == place.shape
    same = len(known) == len(place) and bool((known.values == place.values).all())
    return alike and not same


def _some(region: Region, count: int, seed: int) -> Region:
    if len(region) <= count:
        return region
    return region.rows(np.sort(generator(seed, 9).choice(len(region), count, replace=False)))


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
    region, units, known = scaled(as_region(points), scale, reference)
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
