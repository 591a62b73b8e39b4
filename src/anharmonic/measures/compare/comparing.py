"""`compare`: the same points, the same directions, so differences are sharp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Unpack

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.checkpoints import Folder, PathLike
from anharmonic._core.frames import missing_cells
from anharmonic._core.progress import Progress, parts, shown
from anharmonic._core.protocols import Map, Model
from anharmonic._core.randomness import generator
from anharmonic._core.reductions import Reduction
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.compare.labelled import LabelledScore, score_labels
from anharmonic.measures.compare.over_sources import compare_over_source
from anharmonic.measures.compare.result import Comparison
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.over_data.asking import names_rows, refuse_given
from anharmonic.measures.over_data.weights import Weights
from anharmonic.measures.setup.scale import read_columns
from anharmonic.measures.setup.settling import (
    DEFAULTS,
    SetupArguments,
    settle_points,
    takes_arguments_of,
)
from anharmonic.models import as_model
from anharmonic.regions import Region, unmoved
from anharmonic.scores import Scores
from anharmonic.sources import Source

__all__ = ["GammaArguments", "Measure", "compare"]

SETTLED = ("reference", "moving", "kinds")
"""Arguments that a settled region knows."""
Measure = Callable[..., Scores]
"""From a model and points, with radius=, scale= and seed=, to scores."""


class GammaArguments(SetupArguments, total=False):
    """Arguments of `gamma` that are the same for every model."""

    directions: int | None
    rotations: int
    reduction: Reduction | None
    budget: int | None
    tolerance: float | None
    noise: Literal["include", "refuse", "ignore"]
    map: Map


@takes_arguments_of(gamma, GammaArguments)
def compare(
    models: Mapping[str, object],
    points: object,
    *,
    labels: object = None,
    region: Literal["auto", "points"] = "auto",
    ball: str | Weights = "auto pairs",
    level: float = 0.95,
    equivalence: float = 0.10,
    measure: Measure = gamma,
    checkpoint: PathLike | None = None,
    resume: PathLike | None = None,
    progress: Progress = None,
    engine: Map | None = None,
    out: PathLike | None = None,
    fresh: bool = False,
    **arguments: Unpack[GammaArguments],
) -> Comparison:
    """Gamma of several models on the same points with the same directions.

    Parameters
    ----------
    models
        Names, and anything `as_model` takes.
    points
        Rows, a DataFrame, a `regions.Region` or a `sources.Source`.
    labels
        What is true at the points, one per row. Then each model's accuracy there (R² of a model
        of numbers) stands beside its gamma, and which models are on the frontier of both. Costs
        one more query per row and model.
    region : "auto" or "points"
        "auto" measures at the reference points too, as many as there are points, and ranks each
        model by the larger of its two means: give new points and, as `reference`, the points the
        models were trained on. "points" leaves the reference to scale and radius.
    ball
        As in `gamma`, but not "auto": the ball must not depend on the model, so that all get the
        same one. It is gamma's alone. "data" ranks by how far answers are from those at other
        rows, one query per row: of models that were trained on the `reference`, the least overfit
        comes first.
    level
        A difference is real where it stands clear of noise and chance at this level, all pairs
        taken together.
    equivalence
        Two models are the same where neither mean can be more than this share above the other.
    measure
        `gamma`, `clever`, one of `baselines`, or any of them with arguments of its own filled in
        (`functools.partial`).
    checkpoint, resume
        A folder to keep each model's scores in, every few seconds; `resume=` that folder goes on
        where a run was stopped.
    progress
        True shows one bar for all models.
    engine, out, fresh
        Of a source: who does the work, the folder with a folder of scores for each model, and
        whether to start over. With points in memory, `engine` is the same as `map`.
    arguments
        As in `gamma`. The radius, the scale and what moves (all that any of the models reads,
        unless `moving` says) are settled once.

    Notes
    -----
    Costs what as many single runs cost.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(200, 3))
    >>> wavy = {"slow": lambda x: np.sin(x[:, 0]), "fast": lambda x: np.sin(3 * x[:, 0])}
    >>> comparison = compare(wavy, points, radius=0.3)
    >>> comparison.ranking, comparison.differences[0].real
    (['slow', 'fast'], True)
    """
    _check(models, level, equivalence)
    if ball == "auto":
        raise SettingsError(
            'ball="auto" could choose another ball for each model: give "auto pairs", '
            '"auto singles" or the name of one'
        )
    if region not in ("auto", "points"):
        raise SettingsError(f'region {region!r}: give "auto" or "points"')
    if isinstance(points, Source):
        if measure is not gamma or isinstance(ball, Weights) or names_rows(ball):
            raise SettingsError("sources are compared by gamma on spheres: leave the rest out")
        if checkpoint is not None or resume is not None:
            raise SettingsError(
                "checkpoint= and resume= are for points in memory: give out=, and a run over a "
                "source goes on when it is started again"
            )
        if labels is not None:
            raise SettingsError("labels= is for points in memory: compare a sample of the source")
        scores = compare_over_source(
            models,
            points,
            gamma,
            {"ball": ball, **arguments},
            at_reference=region == "auto" and arguments.get("reference") is not None,
            engine=engine,
            out=out,
            fresh=fresh,
            progress=progress,
        )
        return Comparison(scores[0], level, scores[1], equivalence)
    if out is not None or fresh:
        raise SettingsError("out= and fresh= are for sources: keep this with checkpoint=")
    if engine is not None:
        arguments["map"] = engine
    if isinstance(ball, Weights) or names_rows(ball):
        refuse_given("other rows take the place of a sphere", measure=measure is not gamma)
        refuse_given(
            "the model is asked once per row",
            checkpoint=checkpoint is not None,
            resume=resume is not None,
        )
        labelled = _score_all(models, unmoved(points), labels, arguments)
        scores = _over_rows(models, points, region, ball, progress, arguments)
        return Comparison(scores[0], level, scores[1], equivalence, labelled)
    adapted = [as_model(model) for model in models.values()]
    settled = settle_points(adapted, points, arguments)
    seed = arguments.get("seed", DEFAULTS["seed"])
    handed_on: dict[str, object] = {
        # Settled already: a region knows what moves, and radius and scale are numbers now.
        **{name: value for name, value in arguments.items() if name not in SETTLED},
        "radius": settled.radius,
        "scale": settled.units,
        "seed": seed,
    }
    if measure is gamma:
        handed_on["ball"] = ball
    elif checkpoint is not None or resume is not None:
        raise SettingsError("checkpoint= and resume= are gamma's: leave them out with measure=")
    folder = Folder(checkpoint, resume)
    # Before the long work: labels that do not fit are refused while it costs nothing.
    labelled = _score_all(models, settled.region, labels, arguments)
    at_reference = (
        region == "auto"
        and arguments.get("reference") is not None
        and _measurable(settled.reference, settled.region, adapted)
    )

    def measure_all(where: Region, place: str) -> dict[str, Scores]:
        scores = {}
        for name, model in models.items():
            own = handed_on | folder.arguments(place, name)
            if (report_progress := next(reports)) is not None:
                own["progress"] = report_progress
            scores[name] = measure(model, where, **own)
        return scores

    with shown(progress) as report_all:
        reports = parts(report_all, len(models) * (2 if at_reference else 1))
        familiar: dict[str, Scores] = {}
        if at_reference:
            sample = _sample(settled.reference, len(settled.region), seed)
            familiar = measure_all(sample, "reference")
        measured = measure_all(settled.region, "points")
    return Comparison(measured, level, familiar, equivalence, labelled)


def _score_all(
    models: Mapping[str, object], region: Region, labels: object, arguments: GammaArguments
) -> dict[str, LabelledScore]:
    """How right every model is at the points, where labels were given."""
    if labels is None:
        return {}
    batch_size = arguments.get("batch_size")
    scores = {
        name: score_labels(model, region, labels, batch_size) for name, model in models.items()
    }
    by_metric = {score.metric: name for name, score in scores.items()}
    if len(by_metric) > 1:
        raise SettingsError(
            f"{by_metric['accuracy']} answers classes and {by_metric['R²']} numbers: compare with "
            "labels= models of one kind"
        )
    return scores


def _over_rows(
    models: Mapping[str, object],
    points: object,
    region: str,
    ball: str | Weights,
    progress: Progress,
    arguments: GammaArguments,
) -> tuple[dict[str, Scores], dict[str, Scores]]:
    """Gamma over the data of every model: among the points, and among the reference rows."""
    places = [points]
    if region == "auto" and arguments.get("reference") is not None:
        places.append(arguments["reference"])
    shared = arguments.copy()
    shared.pop("reference", None)
    if shared.get("moving") is None:
        # Rows are compared alike for all models: by whatever any of them reads.
        output = arguments.get("output")
        where = unmoved(points)
        read = read_columns(where, [as_model(model, output=output) for model in models.values()])
        shared["moving"] = None if read is None else [name for name in where.names if name in read]
    with shown(progress) as report_all:
        reports = parts(report_all, len(models) * len(places))
        scores = [
            {
                name: gamma(model, rows, ball=ball, progress=next(reports), **shared)
                for name, model in models.items()
            }
            for rows in places
        ]
    return scores[0], scores[1] if len(scores) > 1 else {}


def _check(models: object, level: float, equivalence: float) -> None:
    """Refuse arguments that cannot be meant."""
    if not isinstance(models, Mapping):
        raise SettingsError(
            f"models came as {type(models).__name__}: give a dictionary of names and models, "
            'such as compare({"new": new, "old": old}, points)'
        )
    if not models:
        raise SettingsError("there is nothing to compare: give a dictionary of names and models")
    if not 0.5 < level < 1:
        raise SettingsError(f"level is a confidence between 0.5 and 1, such as 0.95, got {level}")
    if not equivalence > 0:
        raise SettingsError(f"equivalence is a share above 0, such as 0.10, got {equivalence}")


def _measurable(reference: Region, points: Region, models: Sequence[Model]) -> bool:
    """Whether reference data are whole rows for the models, and not the points themselves."""
    read = read_columns(points, models)
    if read is None:
        whole = set(reference.names) == set(points.names) and reference.shape == points.shape
    else:
        whole = read <= set(reference.names)
    # Measured twice, the same points would only cost twice.
    return whole and not _same_rows(reference, points)


def _same_rows(one: Region, other: Region) -> bool:
    """Whether two regions hold the same rows in the same order; two missing cells are alike."""
    if len(one) != len(other) or one.is_table != other.is_table:
        return False
    if one.columns != other.columns or one.names != other.names:
        return False
    mine, theirs = one.values, other.values
    if not bool(((mine == theirs) | ((mine != mine) & (theirs != theirs))).all()):
        return False
    # Beside what moves, a table has texts and columns that stay.
    return not one.is_table or all(
        _same_cells(one.source[name], other.source[name]) for name in one.names
    )


def _same_cells(one: nw.Series, other: nw.Series) -> bool:
    gone = missing_cells(one)
    if not np.array_equal(gone, missing_cells(other)):
        return False
    there = np.flatnonzero(~gone).tolist()
    return one[there].to_list() == other[there].to_list()


def _sample(region: Region, count: int, seed: int) -> Region:
    """So many rows at random, in their own order; all where there are no more."""
    if len(region) <= count:
        return region
    return region.rows(
        np.sort(generator(seed, Stream.REFERENCE_SAMPLE).choice(len(region), count, replace=False))
    )
