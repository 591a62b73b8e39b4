"""Weights fitted once to reference rows, and further rows scored by them, each by itself.

A reference row is scored by the fits that did not see its group. A further row takes the group
that its hash falls into among the reference's, so that the same number of fits, as much data
each, score it: its score has the law that the reference's scores have. Over all fits its mean
would vary less, and its score would be a bit smaller.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers, Kind
from anharmonic._core.reductions import Reduction, chosen_reduction, picked
from anharmonic.errors import OutputError, SettingsError
from anharmonic.measures.over_data.arranging import check_distinct
from anharmonic.measures.over_data.distinct import cut_groups, distinct_rows, mean_answers, row_keys
from anharmonic.measures.over_data.encoding import Encoded, encode
from anharmonic.measures.over_data.encoding_further import encode_further
from anharmonic.measures.over_data.fitting import Fits, fit_boosted, fit_forest
from anharmonic.measures.over_data.leaving_out import scores_of
from anharmonic.measures.over_data.measure import check_kind
from anharmonic.measures.over_data.nearest import neighbour_parts
from anharmonic.measures.over_data.recorded import Answered
from anharmonic.measures.over_data.smoothing import Data
from anharmonic.measures.over_data.weights import (
    Boosted,
    Forest,
    Given,
    Neighbours,
    chosen_weights,
)
from anharmonic.regions import Region

__all__ = ["FittedWeights", "fit_encoded", "fit_weights"]


@dataclass(frozen=True, eq=False)
class FittedWeights:
    """Reference rows with the model's answers, and weights that were fitted to them.

    The first five fields say it all: the same ones fit the same weights.

    Parameters
    ----------
    encoded
        The reference rows as numbers.
    answers : (reference rows, columns)
        The model's.
    weights, reduction, seed
        As in `gamma_data`.
    keys : (distinct rows,)
        Hashes of the distinct reference rows, ascending.
    data
        The distinct reference rows, of which each has a group.
    fits
        To these rows; None where weights are those of the nearest rows.
    """

    encoded: Encoded
    answers: Floats
    weights: Forest | Boosted | Neighbours
    reduction: Reduction
    seed: int
    keys: Integers
    data: Data
    fits: Fits | None

    def score(self, region: Region, answers: Floats) -> Floats:
        """Gamma over the data (rows,) of rows with the model's answers, (rows, columns)."""
        if answers.shape[1] != self.answers.shape[1]:
            raise OutputError(
                f"the model gave {answers.shape[1]} numbers per row and {self.answers.shape[1]} "
                "at the reference: it must answer every row alike"
            )
        return self._scores(encode_further(region, self.encoded), answers)

    @cached_property
    def reference_scores(self) -> Floats:
        """Of the reference rows themselves, (reference rows,): as `gamma_data` scores them."""
        return self._scores(self.encoded, self.answers)

    @cached_property
    def complete(self) -> tuple[str, ...]:
        """The columns in which no reference row lacks a cell."""
        return tuple(
            column.name for column in self.encoded.columns if np.isfinite(column.values).all()
        )

    def lacking(self, region: Region) -> NDArray[np.bool_]:
        """Which rows (rows,) lack a cell that no reference row lacks: nothing says whether the
        model can answer them.
        """
        columns = encode_further(region, self.encoded).columns
        cells = [column.values for column in columns if column.name in self.complete]
        return (
            np.asarray(~np.isfinite(np.stack(cells, axis=1)).all(axis=1))
            if cells
            else (np.zeros(len(region), dtype=bool))
        )

    def _scores(self, encoded: Encoded, answers: Floats) -> Floats:
        centre = picked(self.reduction, answers, answers)
        return scores_of(self.reduction, answers, centre, self._means(encoded)[:, None])[:, 0]

    def _means(self, encoded: Encoded) -> Floats:
        """Means of the reference's answers for each row, (rows, columns)."""
        keys = row_keys(encoded.words(), self.seed)
        position = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        if self.fits is not None:
            features = encoded.for_trees(self.encoded.rules)
            return self.fits.means(features, self.data.group[position])
        assert isinstance(self.weights, Neighbours)
        own = np.where(self.keys[position] == keys, position, -1)
        scored = encoded.for_distances(self.encoded.rules)
        parts = neighbour_parts(
            self.weights, replace(self.data, scored=scored, own=own), further=True
        )
        return np.concatenate([part.mean for part in parts])


def fit_weights(
    reference: Answered,
    *,
    kind: Kind,
    weights: object = "auto",
    columns: list[str] | None = None,
    reduction: Reduction | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> FittedWeights:
    """Weights fitted to reference rows and the model's answers there; see `gamma_data`."""
    check_kind(kind)
    return fit_encoded(
        encode([reference.region], columns),
        reference.answers,
        weights=weights,
        reduction=chosen_reduction(reduction or "norm", kind),
        seed=seed,
        workers=workers,
    )


def fit_encoded(
    encoded: Encoded,
    answers: Floats,
    *,
    weights: object,
    reduction: Reduction,
    seed: int,
    workers: int | None = None,
) -> FittedWeights:
    """The same from rows that are numbers already, such as those that were kept in a file."""
    chosen = chosen_weights(weights)
    if isinstance(chosen, Given):
        raise SettingsError("a matrix has no weights for further rows: name the weights instead")
    distinct = distinct_rows(encoded.words(), seed)
    check_distinct(len(distinct))
    nearest = isinstance(chosen, Neighbours)
    features = encoded.for_distances() if nearest else encoded.for_trees()
    data = Data(
        features=features[distinct.first],
        answers=mean_answers(answers, distinct),
        count=distinct.copies,
        group=cut_groups(len(distinct)),
        number=distinct.first,
        scored=features[:0],
        own=np.empty(0, dtype=np.int64),
        seed=seed,
    )
    fits: Fits | None = None
    if isinstance(chosen, Forest):
        fits = fit_forest(chosen, data, workers or os.cpu_count() or 1)
    elif isinstance(chosen, Boosted):
        fits = fit_boosted(chosen, data)
    return FittedWeights(encoded, answers, chosen, reduction, seed, distinct.keys, data, fits)
