"""What is watched: functions from points to numbers, settled once on the reference.

The ball is drawn once and kept, and so are weights over the reference's rows. So a score is a
function of the point alone, the same in any batch: while the stream's points follow the
reference's law, so do its scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anharmonic._core.columns import shown
from anharmonic._core.margins import (
    by_class,
    decides,
    labels_of,
    margins_of,
    of_classes,
    probabilities_of,
)
from anharmonic._core.protocols import Array, Ball, Floats, Model
from anharmonic._core.reductions import Reduction, chosen_reduction
from anharmonic.errors import OutputError, PointsError, SettingsError
from anharmonic.measures.gamma.choosing import check_room
from anharmonic.measures.gamma.measure import gamma_once
from anharmonic.measures.over_data.fitted import FittedWeights
from anharmonic.measures.setup.batching import answers, caller_for
from anharmonic.measures.setup.scale import with_neighbourhood
from anharmonic.measures.setup.settling import Setup, settle
from anharmonic.measures.setup.sphere import Sphere, rows_on_device
from anharmonic.measures.stability import nstep_robustness
from anharmonic.monitor.inputs import Inputs
from anharmonic.monitor.rows import count_of, unusable
from anharmonic.regions import Region, unmoved
from anharmonic.regions import points as as_points
from anharmonic.regions.tables import TableNeighbourhood

__all__ = [
    "ANSWERS",
    "DATA",
    "INPUTS",
    "PREDICTION",
    "STEPS",
    "Scorer",
    "Watch",
    "Watched",
    "chosen_watch",
    "only_asks_rows",
    "usual_watch",
    "without_rounding",
]

Watched = str | Callable[[Array], ArrayLike]
"""One of `NAMES`, or a function from points to numbers."""
Watch = Watched | Sequence[Watched] | Mapping[str, Watched]
"""One thing watched, several, or several by names of the user's own."""
DATA = "gamma data"
"""Gamma over the data: other rows, the reference's, take the place of a sphere."""
INPUTS, PREDICTION = "inputs", "prediction"
NAMES = (INPUTS, PREDICTION, "confidence", "margin", "gamma", "flip", DATA)
ANSWERS = "answers"
"""Among scores, the model's answers (rows, columns): no score, and watched by no channel."""
OF_ANSWERS = (PREDICTION, "confidence", "margin", DATA)
"""What is made of the model's answers at the rows alone: one query serves all of them."""
STEPS = 25
"""Random steps that the flip chance is about, as in the paper's search."""
ROUNDING = 1e-9
"""Of the model's output: a smaller gamma is rounding, and rounding drifts with its inputs."""


@dataclass(frozen=True)
class Scorer:
    """How the model is measured: in which directions, how far, in which units.

    Parameters
    ----------
    model
        The model that answers.
    columns
        The columns that move.
    shape
        Of one point.
    still
        Whether other columns stay as they are.
    radius, units
        How far neighbours lie, in units (columns,) of the features.
    ball
        The directions, drawn once; None where nothing moves, because rows alone are asked for.
    reduction, bounds, batch_size, output
        As in `gamma`.
    over_data
        Weights over the reference's rows, where "gamma data" is watched.
    law
        How rows move that are not all numbers.
    inputs
        What rows are compared by, where "inputs" is watched.
    """

    model: Model
    columns: tuple[str, ...]
    shape: tuple[int, ...]
    still: bool
    radius: float
    units: tuple[float, ...]
    ball: Ball | None
    reduction: Reduction
    bounds: object = None
    batch_size: int | None = None
    output: object = None
    over_data: FittedWeights | None = field(default=None, repr=False)
    law: TableNeighbourhood | None = field(default=None, repr=False)
    inputs: Inputs | None = field(default=None, repr=False)
    _settled: list[Setup] = field(default_factory=list, init=False, repr=False, compare=False)

    def region(self, points: object) -> Region:
        """Points with the reference's columns moving."""
        if self.ball is None:
            return unmoved(points)
        if self.law is not None:
            return with_neighbourhood(as_points(points), self.law)
        region = as_points(points, self.columns if self.still else None)
        missing = [name for name in self.columns if name not in region.names]
        if missing:
            raise PointsError(f"no column {shown(missing)}: give the reference's columns")
        # What the reference's rows are is final: a few rows of numbers may look like other kinds.
        return replace(region, plain=True)

    @property
    def verb(self) -> str:
        """What is done along its columns, in a word for people."""
        return "comparing" if self.ball is None else "moving"

    @property
    def complete(self) -> tuple[str, ...]:
        """Columns in which every row must have a cell to be scored."""
        if self.ball is None and self.over_data is not None:
            return self.over_data.complete
        if self.law is not None:
            return tuple(
                name for name, gaps in zip(self.columns, self.law.gaps, strict=True) if not gaps
            )
        return self.columns

    def unusable(self, points: Array) -> NDArray[np.bool_]:
        """Which rows (rows,) lack a cell in one of these columns."""
        if self.ball is None:
            if self.over_data is not None:
                return self.over_data.lacking(unmoved(points))
            # Rows are asked for as they are: the model takes what it takes.
            return np.zeros(count_of(points), dtype=bool)
        if self.law is not None:
            return self.region(points).unusable()
        return unusable(points, self.columns)

    def measure(self, watched: Watched, points: object) -> Floats:
        """Values (rows,) of one thing."""
        return self.measure_all({"": watched}, points)[""]

    def measure_all(
        self, watch: Mapping[str, Watched], points: object, answers: bool = False
    ) -> dict[str, Floats]:
        """Values (rows,) of everything watched; with `answers` those too, (rows, columns)."""
        values, answered = self.measure_asking(watch, points)
        if answers and answered is None:
            answered = self.answers_at(self.region(points))
        if DATA in watch.values():
            assert self.over_data is not None
            answered = self.answers_at(self.region(points)) if answered is None else answered
            scores = self.over_data.score(unmoved(points), answered)
            scores = without_rounding(scores, answered)
            values |= {name: scores for name, thing in watch.items() if thing == DATA}
        measured = {name: values[name] for name in watch}
        return measured if not answers or answered is None else {**measured, ANSWERS: answered}

    def measure_asking(
        self, watch: Mapping[str, Watched], points: object
    ) -> tuple[dict[str, Floats], Floats | None]:
        """Values (rows,) of all but gamma over the data, and the model's answers at the rows,
        (rows, columns), where one of them asked for these.
        """
        values: dict[str, Floats] = {}
        answered: Floats | None = None
        for name, watched in watch.items():
            if callable(watched):
                values[name] = _called(watched, points)
            elif watched == INPUTS:
                assert self.inputs is not None
                values[name] = self.inputs.distances(points)
            elif watched == "gamma":
                values[name], outputs = self._gamma_with_outputs(self.region(points))
                answered = outputs if self._gives_answers else answered
            elif watched == "flip":
                values[name] = self._flip(self.region(points))
        asking = {name: thing for name, thing in watch.items() if thing in OF_ANSWERS[:-1]}
        if asking and answered is None:
            answered = self.answers_at(self.region(points))
        for name, thing in asking.items():
            assert answered is not None
            values[name] = self._of_answers(answered, str(thing))
        return values, answered

    @property
    def _gives_answers(self) -> bool:
        """Whether measuring gamma also tells all of the model's answers at the rows."""
        # Other reductions pick a column before anything is kept.
        return callable(self.reduction) or self.reduction in ("norm", "angle")

    def queries(self, watched: Watched) -> int:
        """What one row of one thing costs by itself; a function of the user's counts nothing."""
        if callable(watched) or watched == INPUTS:
            return 0
        moved = 0 if self.ball is None else self.ball.count
        return 1 + moved if watched in ("gamma", "flip") else 1

    def queries_per_row(self, watch: Mapping[str, Watched], answers: bool = False) -> int:
        """What one row of everything costs: the answers at a row serve all that is made of them."""
        things = list(watch.values())
        moving = sum(self.queries(thing) for thing in things if thing in ("gamma", "flip"))
        asked = "gamma" in things and self._gives_answers
        asking = answers or any(thing in OF_ANSWERS for thing in things if not callable(thing))
        return moving + (1 if asking and not asked else 0)

    def gamma_of(self, region: Region) -> Floats:
        """Gamma (rows,) on the ball that was drawn; what is rounding counts as 0."""
        return self._gamma_with_outputs(region)[0]

    def _gamma_with_outputs(self, region: Region) -> tuple[Floats, Floats]:
        """The same, and the outputs (rows, columns) that the reduction keeps."""
        assert self.ball is not None
        setup = self._setup_at(region)
        reduction = chosen_reduction(self.reduction, self.model.kind)
        sphere = Sphere.of(setup, self.ball, reduction)
        check_room(sphere)
        scores = gamma_once(sphere)
        # Outputs (rows,) or (rows, columns).
        outputs = scores.outputs.reshape(len(scores), -1)
        return without_rounding(scores.values, outputs), outputs

    def _setup_at(self, region: Region) -> Setup:
        """The setup, settled with the first rows and moved to all later ones."""
        if not self._settled:
            first = settle(
                self.model,
                region,
                radius=self.radius,
                scale=self.units,
                bounds=self.bounds,
                batch_size=self.batch_size,
            )
            self._settled.append(first)
            return first
        return self._settled[0].at(region)

    def _flip(self, region: Region) -> Floats:
        """The chance (rows,) that `STEPS` random steps change the decision."""
        assert self.ball is not None
        return nstep_robustness(
            self.model,
            region,
            steps=STEPS,
            # A whole ball gives the same row the same chance whenever it comes; walks are drawn.
            kind="drift",
            radius=self.radius,
            ball=self.ball,
            scale=self.units,
            bounds=self.bounds,
            batch_size=self.batch_size,
        ).values

    def answers_at(self, region: Region) -> Floats:
        """The model's answers (rows, columns) at the rows themselves: one query per row."""
        caller, chunk = caller_for(self.model, region, self.batch_size)
        rows = np.arange(len(region))
        batches = [rows[start : start + chunk] for start in range(0, len(rows), chunk)]
        # A caller takes neighbours (rows, neighbours, features): here a row is its only one.
        return np.concatenate(
            [
                answers(caller, rows_on_device(caller, batch)[:, None, :], batch)[:, 0]
                for batch in batches
            ]
        )

    @property
    def has_classes(self) -> bool:
        """Whether predictions are classes, going by what the model is said to give."""
        return self.model.kind in ("label", "onehot", "probability", "logit")

    def _of_answers(self, outputs: Floats, watched: str) -> Floats:
        """The prediction, or margin or confidence (rows,) of the decision."""
        if watched == PREDICTION and not decides(outputs.shape[-1], self.model.kind):
            return np.asarray(outputs.mean(axis=-1))
        by_classes = by_class(outputs, self.model.kind)
        labels = labels_of(by_classes)
        if watched == PREDICTION:
            return labels.astype(np.float64)
        if watched == "margin":
            return np.asarray(margins_of(by_classes, labels))
        return np.asarray(of_classes(probabilities_of(by_classes, self.model.kind), labels))


def _called(watched: Callable[[Array], ArrayLike], points: object) -> Floats:
    """What a function of the user's gives, checked."""
    values = np.asarray(watched(points), dtype=np.float64)
    if values.ndim != 1:
        raise OutputError(f"what is watched gave shape {values.shape}: one number per point")
    return values


def without_rounding(values: Floats, outputs: Floats) -> Floats:
    """Gamma (rows,) with 0 where it is rounding of the outputs, (rows, columns)."""
    # The size of a row is that of its largest column.
    size = np.abs(outputs).max(axis=1)
    return np.where(values > ROUNDING * size, values, 0.0)


def only_asks_rows(watch: Mapping[str, Watched]) -> bool:
    """Whether rows are taken as they are: inputs or gamma over the data, and nothing that moves
    rows.
    """
    things = [thing for thing in watch.values() if not callable(thing)]
    return not {"gamma", "flip"} & set(things) and bool({DATA, INPUTS} & set(things))


def usual_watch(model: Model, ranks: bool) -> dict[str, Watched]:
    """What is watched if nobody says: how the model bends, its inputs, what it makes of them.

    Inputs and predictions are read by ranks alone.
    """
    classes = model.kind in ("probability", "logit")
    names = [
        "gamma",
        *([INPUTS, PREDICTION] if ranks else []),
        *(["confidence"] if classes else []),
    ]
    return {name: name for name in names}


def chosen_watch(watch: Watch) -> dict[str, Watched]:
    """What is watched, by name."""
    if isinstance(watch, Mapping):
        named = dict(watch)
    else:
        listed = [watch] if isinstance(watch, str) or callable(watch) else list(watch)
        named = {thing if isinstance(thing, str) else thing.__name__: thing for thing in listed}
        if len(named) < len(listed):
            raise SettingsError("two things watched have the same name: give {name: function}")
    unknown = [thing for thing in named.values() if not callable(thing) and thing not in NAMES]
    if unknown or not named:
        raise SettingsError(
            f"cannot watch {unknown or 'nothing'}: choose of {', '.join(NAMES)}, or give a "
            "function from points to numbers"
        )
    return named
