"""`gamma_data`: how far answers are from the weighted mean of other rows' answers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.frames import as_table
from anharmonic._core.metrics import Metric, register
from anharmonic._core.progress import Progress, Telling, shown
from anharmonic._core.protocols import Floats, Integers, Kind
from anharmonic._core.reductions import Reduction, chosen_reduction
from anharmonic._core.settings import COMPARABLE, Settings
from anharmonic._core.statistics import half_widths
from anharmonic._core.uncertainty import precision
from anharmonic.errors import OutputError, PointsError, SettingsError, listed
from anharmonic.measures.over_data.distinct import cut_groups, distinct_rows, mean_answers, row_keys
from anharmonic.measures.over_data.encoding import Encoded, encode
from anharmonic.measures.over_data.fitting import boosted_parts, forest_parts
from anharmonic.measures.over_data.leaving_out import Rows, leave_out
from anharmonic.measures.over_data.nearest import checked_matrix, given_parts, neighbour_parts
from anharmonic.measures.over_data.smoothing import Data, Part
from anharmonic.measures.over_data.weights import (
    Boosted,
    Forest,
    Given,
    Neighbours,
    Weights,
    chosen_weights,
)
from anharmonic.measures.setup.fingerprints import fingerprint_of_words
from anharmonic.measures.setup.settling import name_of
from anharmonic.regions import Region, unmoved
from anharmonic.scores import Scores

__all__ = [
    "GAMMA_DATA",
    "Answered",
    "DataSettings",
    "arrange",
    "check_distinct",
    "check_kind",
    "gamma_data",
    "score_answers",
]


@dataclass(frozen=True, kw_only=True)
class DataSettings(Settings):
    """How gamma was measured over data.

    Parameters
    ----------
    weights
        Where they came from: "forest", "neighbours", "boosted" or "given".
    weights_options
        Their own settings, such as the number of trees.
    reference_rows
        How many distinct rows the weights are on.
    referenced
        Whether those are other rows than the scored ones.
    group_scores
        One value per group of rows, whose mean is the average and whose spread is its error.
    """

    compared: ClassVar[tuple[str, ...]] = (
        *(*COMPARABLE, "weights", "weights_options", "referenced"),
    )
    moves: ClassVar[bool] = False

    weights: str = ""
    weights_options: tuple[tuple[str, float], ...] = ()
    reference_rows: int = 0
    referenced: bool = False
    group_scores: tuple[float, ...] = ()


def _independent(scores: Scores) -> Floats:
    """Values whose mean is the scores' and that are independent: the groups'."""
    return np.array(scores.settings.as_kind(DataSettings).group_scores)


def _intervals(scores: Scores, level: float) -> tuple[Floats, Floats]:
    """Student's, with the degrees of freedom that each row's mean has."""
    reach = half_widths(scores.errors, scores.column("freedom") + 1, level) + scores.rounding
    # The length of a vector of noise is never near 0, so the lower end starts below it.
    low = np.sqrt(np.maximum(scores.squared, 0.0))
    return np.maximum(low - reach, 0.0), np.minimum(scores.values + reach, scores.most)


def _drawn(scores: Scores) -> Floats:
    """The variance that more fits would remove: none where rows are weighed without any draw."""
    return np.asarray(scores.column("drawn"))


def _others(scores: Scores) -> Floats:
    """What other rows say: f(x) − (f(x) − Σ w·f(other rows)), in the shape of the outputs."""
    return np.asarray(scores.outputs - scores.signed)


GAMMA_DATA = register(
    Metric(
        "gamma over data",
        settings=DataSettings,
        intervals=_intervals,
        bounded=True,
        independent=_independent,
        noise=_drawn,
        columns={"others": _others},
        best="most harmonic over the data",
        caution=(
            "It sees memorising and unsteadiness, not bias or underfitting: a model that says too "
            "little reads small too."
        ),
        reading=(
            "Gamma over data is how far a model's answer at a row is from the weighted mean of "
            "its answers at other rows.",
            "Other rows take the place of a sphere: nothing is moved, and the model is asked at "
            "real rows alone. 0 means that a row's answer is what the weighted mean of other "
            "rows' answers says, copies of the row left out.",
            "It sees memorising and unsteadiness: a model that learnt single rows by heart stands "
            "out from what it says itself at rows like them.",
            "It does not see bias or underfitting: a constant reads 0, and a model that is wrong "
            "in the same way at all rows alike reads little. Read it beside a measure of how "
            "often the model is right.",
            "Only models measured alike compare: the same rows, columns, weights and kind of "
            "output.",
        ),
    )
)


class Answered(NamedTuple):
    """Rows, the model's answers at them, (rows, columns), and the queries these took."""

    region: Region
    answers: Floats
    queries: int = 0


def gamma_data(
    inputs: object,
    outputs: object,
    *,
    weights: object = "auto",
    reference: tuple[object, object] | None = None,
    columns: list[str | int] | None = None,
    kind: Kind | None = None,
    reduction: Reduction | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = None,
) -> Scores:
    """Gamma over recorded answers: |f(x) − weighted mean of f at other rows|, without a model.

    Parameters
    ----------
    inputs
        Rows of any kind: an array, embeddings, or a table with categories and missing cells.
    outputs
        What the model answered: a number or a vector per row, or class labels as text.
    weights : "auto", "forest", "neighbours", "boosted", a matrix or a graph
        What makes other rows neighbours. "auto" is a forest, or without scikit-learn the nearest
        rows. `Forest`, `Neighbours` and `Boosted` take settings of their own.
    reference
        (inputs, outputs) of other rows to weigh, such as the training data; the rows themselves
        where none are given. No row is ever weighed for itself or for a copy of itself.
    columns
        The columns that make rows alike; all but an index and ids if not given.
    kind
        What the outputs are: "probability", "onehot", "value" or "logit". If not given, it is
        told from the numbers, and of probabilities the decisions count (the largest of each row),
        which tell more of overfitting than probabilities do.
    reduction
        How a vector of deviations becomes a number: "norm" if not given.
    seed
        Of all that is random.
    workers
        Threads that fit trees; as many as there are cores if not given. They change no bit.
    progress
        True shows a bar; a function is called with the rows done and the rows in all.

    Notes
    -----
    Constants read 0, and so does any f with f = Wf. It sees memorising and unsteadiness, not bias:
    an underfit model reads small.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(60.0)[:, None]
    >>> line = gamma_data(rows, 3 * rows[:, 0], weights=Neighbours(2))
    >>> line.values[1:-1].max()
    np.float64(0.0)
    """
    recorded = [_as_array(outputs)]
    if reference is not None:
        recorded.append(_as_array(reference[1]))
    classes = _classes(recorded)
    answers, found = _answers(recorded[0], kind, classes)
    rows = Answered(unmoved(inputs), answers)
    _check_lengths(rows, "outputs")
    others = None
    if reference is not None:
        other_answers, other_kind = _answers(recorded[1], kind, classes)
        others = Answered(unmoved(reference[0]), other_answers)
        _check_lengths(others, "the reference's outputs")
        if other_answers.shape[1] != answers.shape[1] or other_kind != found:
            raise OutputError("the reference's outputs are of another kind than the rows'")
    return score_answers(
        rows,
        others,
        kind=found,
        weights=weights,
        columns=None if columns is None else [str(name) for name in columns],
        reduction=reduction,
        seed=seed,
        workers=workers,
        progress=progress,
        facts={"classes": list(classes)} if classes else None,
    )


def score_answers(
    rows: Answered,
    reference: Answered | None,
    *,
    kind: Kind,
    weights: object = "auto",
    columns: list[str] | None = None,
    reduction: Reduction | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = None,
    facts: Mapping[str, object] | None = None,
) -> Scores:
    """Scores of rows whose answers are known; see `gamma_data`. `facts` join the settings."""
    check_kind(kind)
    chosen = chosen_weights(weights)
    reduced = chosen_reduction(reduction or "norm", kind)
    known = rows if reference is None else reference
    encoded = encode([rows.region] if reference is None else [rows.region, known.region], columns)
    with shown(progress) as report:
        if isinstance(chosen, Given):
            data, order, parts = _given(chosen, encoded, rows, known, seed)
        else:
            data, order = arrange(encoded, rows, known, chosen, seed)
            parts = _parts(chosen, data, workers or os.cpu_count() or 1, report)
        found = leave_out(parts, rows.answers[order], _sampled_with(data), reduced)
    settings = _described(rows, data, encoded, chosen, found).with_facts(
        kind=kind,
        reduction=name_of(reduced),
        referenced=reference is not None,
        **(facts or {}),
    )
    queries = rows.queries + (0 if reference is None else reference.queries)
    return _scores(found, rows, order, settings, queries)


def arrange(
    encoded: Encoded, rows: Answered, known: Answered, weights: Weights, seed: int
) -> tuple[Data, Integers]:
    """The data in an order that no permutation changes, and that order of the scored rows."""
    scored, words = len(rows.region), encoded.words()
    reference = slice(0, scored) if known is rows else slice(scored, None)
    distinct = distinct_rows(words[reference], seed)
    check_distinct(len(distinct))
    tree_like = isinstance(weights, Forest | Boosted)
    features = encoded.for_trees() if tree_like else encoded.for_distances()
    mine = distinct_rows(words[:scored], seed)
    # Which reference row each scored one is: both are numbered by the same hash of their cells.
    position = np.minimum(np.searchsorted(distinct.keys, mine.keys), len(distinct) - 1)
    own = np.where(distinct.keys[position] == mine.keys, position, -1)
    # Copies stand side by side, in the order of their answers.
    order = np.lexsort((*rows.answers.T[::-1], mine.of_row))
    data = Data(
        features=features[reference][distinct.first],
        answers=mean_answers(known.answers, distinct),
        count=distinct.copies,
        group=cut_groups(len(distinct)),
        number=distinct.first,
        scored=features[:scored][order],
        own=own[mine.of_row[order]],
        seed=seed,
    )
    return data, order


def _given(
    weights: Given, encoded: Encoded, rows: Answered, known: Answered, seed: int
) -> tuple[Data, Integers, Iterator[Part]]:
    """The same for a matrix, which speaks of every row by itself, copies or not."""
    scored, itself = len(rows.region), known is rows
    words = encoded.words()
    matrix = checked_matrix(weights.matrix, scored, len(known.region), itself)
    mine, other = (distinct_rows(part, seed) for part in (words[:scored], words[scored:]))
    other = mine if itself else other
    check_distinct(len(other))
    order = np.lexsort((*rows.answers.T[::-1], mine.of_row))
    columns = order if itself else np.lexsort((*known.answers.T[::-1], other.of_row))
    arranged = matrix[order][:, columns]
    arranged.sort_indices()
    data = Data(
        features=np.empty((len(columns), 0)),
        answers=known.answers[columns],
        count=np.ones(len(columns), dtype=np.int64),
        group=cut_groups(len(other))[other.of_row[columns]],
        number=columns,
        scored=np.empty((scored, 0)),
        own=np.arange(scored) if itself else np.full(scored, -1),
        seed=seed,
    )
    return data, order, given_parts(arranged, data)


def check_kind(kind: Kind) -> None:
    """Refuse answers that have no mean."""
    if kind == "label":
        raise SettingsError('labels have no mean: take output="onehot", the share of each class')


def check_distinct(count: int) -> None:
    """Refuse so few rows that none can be left out."""
    if count < 4:
        raise PointsError(f"only {count} rows differ: at least 4 are needed to compare them")


def _parts(weights: Weights, data: Data, workers: int, report: Telling | None) -> Iterator[Part]:
    """Means over other rows by the weights that were chosen."""
    match weights:
        case Forest():
            return forest_parts(weights, data, workers, report)
        case Boosted():
            return boosted_parts(weights, data, report)
        case Neighbours():
            return neighbour_parts(weights, data)
    raise AssertionError(weights)


def _sampled_with(data: Data) -> Integers:
    """The group that each scored row is left out with: its own, or one by its place."""
    by_place = cut_groups(max(len(data.own), 2))[: len(data.own)] % data.groups
    return np.where(data.own < 0, by_place, data.own_group)


def _described(
    rows: Answered, data: Data, encoded: Encoded, weights: Weights, found: Rows
) -> DataSettings:
    """All that is needed to do it again, but for the rows themselves."""
    options = [
        [name, float(value)]
        for name, value in vars(weights).items()
        if isinstance(value, int | float)
    ]
    return DataSettings.record(
        region=rows.region.kind,
        points=len(rows.region),
        fingerprint=fingerprint_of_words(row_keys(encoded.words()[: len(rows.region)], data.seed)),
        columns=list(encoded.used),
        still=list(encoded.left_out),
        ball=f"data {weights.name}",
        seed=data.seed,
        precision=precision(rows.answers),
        weights=weights.name,
        weights_options=options,
        reference_rows=len(data.answers),
        group_scores=found.pseudo.tolist(),
    )


def _scores(
    found: Rows, rows: Answered, order: Integers, settings: DataSettings, queries: int
) -> Scores:
    """The scores in the user's own order."""
    back = np.argsort(order)
    values, variances = found.values[back], found.variances[back]
    freedom = found.freedom[back]
    return Scores(
        metric=GAMMA_DATA.name,
        values=values,
        errors=np.sqrt(variances),
        squared=values**2 - variances,
        signed=found.signed[back],
        outputs=found.outputs[back],
        turns=np.maximum(np.round(freedom + 1), 2).astype(np.int64),
        queries=queries,
        settings=settings,
        columns={"freedom": freedom, "drawn": found.drawn[back]},
        index=rows.region.index,
    )


def _as_array(outputs: object) -> Any:
    table = as_table(outputs)
    return table.to_numpy() if table is not None else np.asarray(to_numpy(outputs))


def _is_text(array: Any) -> bool:
    return array.dtype.kind in "OUSb" or str(array.dtype).startswith("str")


def _classes(recorded: Sequence[Any]) -> tuple[str, ...]:
    """The classes of all labels together, so that each has the same column everywhere."""
    return tuple(
        sorted({str(label) for array in recorded if _is_text(array) for label in array.flat})
    )


def _answers(array: Any, kind: Kind | None, classes: Sequence[str]) -> tuple[Floats, Kind]:
    """Recorded outputs as numbers (rows, columns), and what they are."""
    if _is_text(array):
        labels = array.reshape(len(array), -1)
        if labels.shape[1] != 1:
            raise OutputError("class labels are one column: give numbers, or one label per row")
        texts = np.array([str(label) for label in labels[:, 0]])
        return (texts[:, None] == np.array(classes)).astype(np.float64), "onehot"
    numbers = np.asarray(array, dtype=np.float64).reshape(len(array), -1)
    if not np.isfinite(numbers).all():
        bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
        raise OutputError(f"outputs of rows {listed(bad.tolist())} are NaN or infinite: drop them")
    if kind is not None:
        return numbers, kind
    sums = numbers.sum(axis=1)
    if numbers.shape[1] > 1 and (numbers >= 0).all() and np.allclose(sums, 1, atol=1e-4):
        largest = numbers.argmax(axis=1)[:, None] == np.arange(numbers.shape[1])
        return largest.astype(np.float64), "onehot"
    return numbers, "value"


def _check_lengths(answered: Answered, what: str) -> None:
    if len(answered.region) != len(answered.answers):
        raise OutputError(
            f"{what} are {len(answered.answers):,} rows and the inputs {len(answered.region):,}: "
            "give one answer per row"
        )
