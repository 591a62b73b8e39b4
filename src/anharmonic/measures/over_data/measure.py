"""`gamma_data`: how far answers are from the weighted mean of other rows' answers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import numpy as np

from anharmonic._core.progress import Progress, Telling, shown
from anharmonic._core.protocols import Integers, Kind
from anharmonic._core.reductions import Reduction, chosen_reduction
from anharmonic._core.uncertainty import precision
from anharmonic.errors import OutputError, SettingsError
from anharmonic.measures.over_data.arranging import arrange, arrange_given, groups_of_scored
from anharmonic.measures.over_data.distinct import row_keys
from anharmonic.measures.over_data.encoding import Encoded, encode
from anharmonic.measures.over_data.fitting import boosted_parts, forest_parts
from anharmonic.measures.over_data.leaving_out import Rows, leave_out
from anharmonic.measures.over_data.metric import GAMMA_DATA, DataSettings
from anharmonic.measures.over_data.nearest import neighbour_parts
from anharmonic.measures.over_data.recorded import (
    Answered,
    as_array,
    check_lengths,
    classes_in,
    read_answers,
)
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
from anharmonic.regions import unmoved
from anharmonic.scores import Scores

__all__ = [
    "check_kind",
    "gamma_data",
    "score_answers",
]


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
    recorded = [as_array(outputs)]
    if reference is not None:
        recorded.append(as_array(reference[1]))
    classes = classes_in(recorded)
    answers, found = read_answers(recorded[0], kind, classes)
    rows = Answered(unmoved(inputs), answers)
    check_lengths(rows, "outputs")
    others = None
    if reference is not None:
        other_answers, other_kind = read_answers(recorded[1], kind, classes)
        others = Answered(unmoved(reference[0]), other_answers)
        check_lengths(others, "the reference's outputs")
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
            data, order, parts = arrange_given(chosen, encoded, rows, known, seed)
        else:
            data, order = arrange(encoded, rows, known, chosen, seed)
            parts = _parts(chosen, data, workers or os.cpu_count() or 1, report)
        found = leave_out(parts, rows.answers[order], groups_of_scored(data), reduced)
    settings = _described(rows, data, encoded, chosen, found).with_facts(
        kind=kind,
        reduction=name_of(reduced),
        referenced=reference is not None,
        **(facts or {}),
    )
    queries = rows.queries + (0 if reference is None else reference.queries)
    return _scores(found, rows, order, settings, queries)


def check_kind(kind: Kind) -> None:
    """Refuse answers that have no mean."""
    if kind == "label":
        raise SettingsError('labels have no mean: take output="onehot", the share of each class')


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
