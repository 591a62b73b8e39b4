"""`smoothed`: a model that averages another one's answers, or lets them vote, around each row.

On the sphere of gamma it is the other side of gamma: what it changes of an answer is exactly the
model's deviation from the mean there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Unpack

import numpy as np

from anharmonic import balls
from anharmonic._core.arrays import to_numpy64
from anharmonic._core.directions import Directions
from anharmonic._core.margins import by_class, decides, labels_of
from anharmonic._core.protocols import Array, Draw, Floats, Integers, Kind, Model
from anharmonic._core.randomness import generator, hashed, normals
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError, SettingsError
from anharmonic.fixes.certifying import Certified, certify_votes
from anharmonic.measures.over_data.asking import refuse_given
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.settling import (
    DEFAULTS,
    Setup,
    SetupArguments,
    settle,
    takes_setup,
)
from anharmonic.measures.setup.sphere import Sphere, around, rows_on_device
from anharmonic.measures.setup.table_rows import table_ball
from anharmonic.models import as_model
from anharmonic.models.inputs import Inputs
from anharmonic.regions import Region, as_region
from anharmonic.regions import points as as_points

__all__ = ["QUERIES", "Smoothed", "smoothed"]

QUERIES = 64
"""Neighbours that answer in a row's place, if not told otherwise."""
SETTLED = 256
"""Reference rows that the setup keeps; units and radius come from all of them."""
OWN, GUESS, COUNT = range(3)
"""Turns of what is drawn: for answers, for a certificate's class, for its count of votes."""

Combine = Literal["mean", "vote"]


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A model that gives the mean answer, or the share of decisions, around each row.

    It is a model like any other: `gamma`, `compare`, `as_model` and the rest take it, and it has
    `predict` and, of a classifier, `predict_proba`. Made by `smoothed`.

    Parameters
    ----------
    setup
        The model that is asked, and how its rows move.
    ball
        The directions of the neighbours.
    combine, sigma
        As in `smoothed`.
    kind
        What its answers are.
    """

    setup: Setup
    ball: Directions
    combine: Combine
    sigma: float | None
    kind: Kind

    @property
    def queries(self) -> int:
        """What one row costs: queries of the model behind it."""
        return self.ball.count

    @property
    def name(self) -> str:
        return f"smoothed {self.setup.model.name}"

    @property
    def classes(self) -> tuple[object, ...] | None:
        return self.setup.model.classes

    @property
    def classes_(self) -> Array:
        """The classes in the order of `predict_proba`'s columns, as scikit-learn has them."""
        if self.classes is None:
            raise AttributeError(f"{self.name} knows no classes")
        return np.array(self.classes)

    @property
    def batch_size(self) -> int | None:
        return self.setup.model.batch_size

    @property
    def inputs(self) -> Inputs | None:
        """The columns that the model behind it reads, where it knows."""
        return getattr(self.setup.model, "inputs", None)

    @property
    def radius(self) -> float:
        """How far neighbours lie, in units; the standard deviation of Gaussian noise."""
        return self.setup.radius if self.sigma is None else self.sigma

    def place(self, points: Array) -> Array:
        """Copy points to where the model lives."""
        return self.setup.model.place(points)

    def __call__(self, points: object) -> Floats:
        """Mean answers, or shares of votes, (rows, columns)."""
        return self._over_rows(points, self.ball, OWN, self._averaged)

    def predict(self, points: object) -> Array:
        """The class with the largest mean or share, (rows,); of a regression the mean.

        Parameters
        ----------
        points
            Rows like the reference's.
        """
        outputs = self(points)
        if not decides(outputs.shape[1], self.kind):
            return outputs[:, 0] if outputs.shape[1] == 1 else outputs
        return self._named(labels_of(by_class(outputs, self.kind, self.classes)))

    @property
    def predict_proba(self) -> Callable[[object], Floats]:
        """Mean probabilities or shares of votes, (rows, classes); of classifiers alone."""
        if self.kind != "probability":
            raise AttributeError(f"{self.name} answers {self.kind}s, not probabilities")
        return self._probabilities

    def certify(
        self,
        points: object,
        *,
        samples: int = 1000,
        guess: int = 100,
        error_rate: float = 0.001,
    ) -> Certified:
        """How far each row may move along the moving columns before the smoothed decision changes.

        Parameters
        ----------
        points
            Rows like the reference's.
        samples
            Noisy copies of a row whose votes are counted.
        guess
            Further copies that say which class is counted for.
        error_rate
            The chance, for each row, that its certificate is wrong.

        Notes
        -----
        For Gaussian noise alone (`smoothed(…, sigma=…)`). The certified model is the vote under
        the noise itself, not under the few copies that `predict` takes. Distances are in units
        (`Certified.units`): Euclidean, each column divided by its unit. Columns that are held, or
        that never vary in the reference, are taken to stay as they are (`Certified.still`): the
        certificate says nothing of moves along them.

        References
        ----------
        Cohen, Rosenfeld and Kolter, Certified Adversarial Robustness via Randomized Smoothing,
        ICML 2019 (algorithm 2).
        """
        if self.sigma is None:
            raise SettingsError(
                "a certificate needs Gaussian noise: make the model with smoothed(…, sigma=0.25)"
            )
        if min(samples, guess) < 1 or not 0 < error_rate < 0.5:
            raise SettingsError("samples and guess are at least 1, error_rate between 0 and 0.5")
        ball = self.ball
        guessed, counted = (
            self._over_rows(points, _gaussian(ball.dimension, copies), turn, self._votes)
            for turn, copies in ((GUESS, guess), (COUNT, samples))
        )
        region = self.setup.region
        units = dict(zip(region.columns, self.setup.units.tolist(), strict=True))
        return certify_votes(
            guessed, counted, self.sigma, error_rate, self._named, units, region.still
        )

    def __repr__(self) -> str:
        what = "votes" if self.combine == "vote" else "means"
        around_rows = (
            f"on a neighbourhood of radius {self.radius:.3g}"
            if self.sigma is None
            else f"under Gaussian noise of {self.sigma:.3g} units"
        )
        return f"<{self.name}: {what} of {self.queries} neighbours {around_rows}>"

    def _probabilities(self, points: object) -> Floats:
        return np.asarray(by_class(self(points), self.kind, self.classes))

    def _named(self, positions: Integers) -> Array:
        classes = self.classes
        return positions if classes is None else np.array(classes)[positions]

    def _averaged(self, outputs: Floats) -> Floats:
        """Answers (rows, neighbours, columns) as one answer per row."""
        if self.combine == "vote":
            return np.asarray(self._votes(outputs) / outputs.shape[1])
        return np.asarray(outputs.mean(axis=1))

    def _votes(self, outputs: Floats) -> Floats:
        """How many neighbours decide for each class, (rows, classes)."""
        by_classes = by_class(outputs, self.setup.model.kind, self.classes)
        chosen = labels_of(by_classes)[..., None] == np.arange(by_classes.shape[-1])
        return np.asarray(chosen.sum(axis=1), dtype=np.float64)

    def _over_rows(
        self, points: object, ball: Directions, turn: int, reduce: Callable[[Floats], Floats]
    ) -> Floats:
        """Answers of all neighbours of each row, reduced row by row, (rows, columns)."""
        setup = self.setup.at(self._region(points))
        sphere = replace(Sphere.of(setup, ball), radius=self.radius)
        half = ball.count // 2 if ball.paired else ball.count
        keys = row_contents(setup.region, setup.seed)
        rows_per_chunk = max(1, setup.chunk // ball.count)
        parts = []
        for start in range(0, len(keys), rows_per_chunk):
            rows = np.arange(start, min(start + rows_per_chunk, len(keys)))
            centres = rows_on_device(setup.caller, rows)
            segments = [Segment(turn, 0, half)]
            neighbours, _ = around(sphere, centres, keys[rows], segments, owners=rows)
            parts.append(reduce(answers(setup.caller, neighbours, rows)))
        return np.concatenate(parts)

    def _region(self, points: object) -> Region:
        region = self.setup.region
        moving = list(region.columns) if region.still and region.neighbourhood is None else None
        return as_points(points, moving)


@takes_setup
def smoothed(
    model: object,
    *,
    queries: int = QUERIES,
    combine: Combine = "mean",
    sigma: float | None = None,
    **setup: Unpack[SetupArguments],
) -> Smoothed:
    """A model whose answer at a row is the mean, or the vote, of another one's around it.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    reference
        Data the model knows, for units and radius, and for the values that categories, counts
        and dates of a table may take.
    queries
        Neighbours that answer in each row's place: what a row costs.
    combine : "mean" or "vote"
        Mean answers (probabilities, where the model gives them), or shares of decisions.
    sigma
        Gaussian noise of this standard deviation, in units, instead of a sphere: then
        `certify` says how far a row may move before the decision changes. For numbers alone.
    radius, scale, moving, kinds, bounds, output, batch_size, seed
        As in `gamma`: how far neighbours lie, which columns move, what the model is asked for.

    Notes
    -----
    A row's neighbours depend on the seed and on what stands in the row: equal rows get equal
    answers, in any order and in batches of any size.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> step = smoothed(lambda x: (x[:, 0] > 0) * 1.0, reference=points, scale=None, radius=0.5)
    >>> step(np.array([[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]]))[:, 0].tolist()
    [0.0, 0.5, 1.0]
    """
    arguments = DEFAULTS | setup
    if arguments["reference"] is None:
        raise SettingsError("smoothed needs reference=<data the model knows>, such as its training")
    if combine not in ("mean", "vote"):
        raise SettingsError(f'combine {combine!r}: give "mean" or "vote"')
    if queries < 2:
        raise SettingsError(f"queries {queries}: give at least 2 neighbours per row")
    adapted = as_model(model, output=arguments["output"])
    if adapted.kind == "label":
        raise SettingsError('labels have no mean: leave output= out, or take output="onehot"')
    if sigma is not None:
        refuse_given(
            "sigma says how far noise goes", beside="sigma=", radius=arguments["radius"] != "auto"
        )
    settled = _settled(adapted, arguments, sigma)
    voted = combine == "vote" or adapted.kind == "onehot"
    return Smoothed(
        setup=settled,
        ball=_ball(settled, queries, sigma),
        combine="vote" if voted else "mean",
        sigma=sigma,
        kind="probability" if voted else adapted.kind,
    )


def _settled(model: Model, arguments: SetupArguments, sigma: float | None) -> Setup:
    """Units, radius and law from the whole reference, at a few of its rows."""
    region = as_region(arguments["reference"], arguments["moving"])
    chosen = generator(arguments["seed"], Stream.SMOOTHED_ROWS).permutation(len(region))[:SETTLED]
    few = region.rows(np.sort(chosen))
    given: SetupArguments = {**arguments, "reference": region, "moving": None, "output": None}
    settled = settle(model, few, distance=sigma is None, **given)
    if sigma is None:
        return replace(settled, reference=settled.region)
    if not (np.isfinite(sigma) and sigma > 0):
        raise SettingsError(f"sigma {sigma}: give a positive number, in units")
    if settled.region.neighbourhood is not None or settled.region.form == "sparse":
        raise PointsError(
            "Gaussian noise is for rows of numbers, and some columns here are none or have gaps: "
            "leave sigma= out, or name columns of numbers in moving="
        )
    return replace(settled, reference=settled.region)


def _ball(setup: Setup, queries: int, sigma: float | None) -> Directions:
    """As many neighbours as asked for: in pairs where numbers move, so that slopes cancel."""
    dimension = setup.ball_dimension
    if sigma is not None:
        return _gaussian(dimension, queries)
    paired = dimension > 0 and queries % 2 == 0
    if not dimension:
        return table_ball(None, queries, paired)
    ball = balls.random(dimension, queries // 2 if paired else queries)
    return balls.pairs(ball) if paired else ball


def _gaussian(dimension: int, count: int) -> Directions:
    """Normal steps of variance 1 along every column."""
    rule = partial(_normal_steps, dimension=dimension)
    return Directions("Gaussian", dimension, count, rule, fresh=True, rotates=False)


def _normal_steps(draw: Draw, indices: Array, dimension: int) -> Array:
    return normals(draw, indices, dimension)


def row_contents(region: Region, seed: int) -> Integers:
    """A word for each row, (rows,), that depends on its moving cells alone."""
    values = to_numpy64(region.values)
    # One zero and one missing value: −0 + 0 is 0.
    words = (np.where(np.isnan(values), np.nan, values) + 0.0).view(np.int64)
    return hashed(words, seed, Stream.SMOOTHED_ROWS)
