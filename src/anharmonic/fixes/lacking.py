"""Which region lacks data: conditions under which a model does badly far from training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import rankdata

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.measures.over_data.encoding import Column, Encoded, Rule, encode
from anharmonic.measures.over_data.encoding_further import encode_further
from anharmonic.regions import unmoved

__all__ = ["Flags", "WorstRegion", "find_region", "sparseness"]

DEPTH = 3
"""Conditions at most."""
LEAST_SHARE, LEAST_ROWS = 0.05, 20
"""A region has at least this share of the rows it is found on, and this many."""
CAUTION = 1.0
"""Standard errors that a region's mean loss is lowered by before regions are compared."""
COMPARED, NEAREST = 5000, 5
"""Training rows among which the nearest are looked for, at most, and how many of them count."""

Flags = NDArray[np.bool_]


class Feature(NamedTuple):
    """A column of yes/no or a number that conditions are about, and what they say.

    `words` takes a threshold and whether the value lies above it.
    """

    values: Floats
    words: Callable[[float, bool], str]


class WorstRegion(NamedTuple):
    """Conditions on columns, in words, and how to tell whether rows meet them.

    Parameters
    ----------
    words
        Such as "age > 52 and job is sales".
    encoded
        The rows it was found on.
    cuts
        For each condition the number of its feature, the threshold, and whether values lie above.
    """

    words: str
    encoded: Encoded
    cuts: tuple[tuple[int, float, bool], ...]

    def __str__(self) -> str:
        return self.words

    def holds(self, rows: object) -> Flags:
        """Which rows lie inside, (rows,)."""
        features = _features(encode_further(unmoved(rows), self.encoded), self.encoded.rules)
        inside = np.ones(len(features[0].values), dtype=bool)
        for number, threshold, above in self.cuts:
            inside &= (features[number].values > threshold) == above
        return inside


def find_region(rows: object, losses: Floats) -> WorstRegion | None:
    """The leaf of a shallow tree over losses that is worst, cautiously; None where all is alike.

    Parameters
    ----------
    rows
        Where the model was asked.
    losses : (rows,)
        How badly it did there, weighted by how far from training rows that is: see `sparseness`.
    """
    needs("sklearn", "sklearn")
    from sklearn.tree import DecisionTreeRegressor

    encoded = encode([unmoved(rows)], None)
    features = _features(encoded, encoded.rules)
    least = max(LEAST_ROWS, int(LEAST_SHARE * len(losses)))
    tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=least, random_state=0)
    values = np.stack([feature.values for feature in features], axis=1)
    tree.fit(values, losses)
    leaf = tree.apply(values)
    bounds = {number: _cautious(losses[leaf == number]) for number in np.unique(leaf).tolist()}
    worst = max(bounds, key=lambda number: bounds[number])
    if bounds[worst] <= float(losses.mean()):
        return None
    cuts = _path(tree.tree_, worst)
    return WorstRegion(_in_words(cuts, features), encoded, cuts)


def _cautious(losses: Floats) -> float:
    """A mean loss, lowered by its error: few rows make extremes."""
    return float(losses.mean() - CAUTION * losses.std(ddof=1) / np.sqrt(len(losses)))


def _path(tree: Any, leaf: int) -> tuple[tuple[int, float, bool], ...]:
    """The conditions from the root to a leaf; of several on one side of a feature the last."""
    parents = {}
    for node in range(tree.node_count):
        for child, above in ((tree.children_left[node], False), (tree.children_right[node], True)):
            if child >= 0:
                parents[int(child)] = (node, above)
    cuts: dict[tuple[int, bool], float] = {}
    node = leaf
    while node in parents:
        parent, above = parents[node]
        # From the leaf up: the first cut of a feature on one side is the narrowest.
        cuts.setdefault((int(tree.feature[parent]), above), float(tree.threshold[parent]))
        node = parent
    return tuple((number, threshold, above) for (number, above), threshold in cuts.items())[::-1]


def _in_words(cuts: Sequence[tuple[int, float, bool]], features: Sequence[Feature]) -> str:
    return " and ".join(
        features[number].words(threshold, above) for number, threshold, above in cuts
    )


def _features(encoded: Encoded, rules: Sequence[Rule]) -> list[Feature]:
    """What conditions can be about: numbers, levels, and cells that are missing."""
    return [
        feature
        for column, rule in zip(encoded.columns, rules, strict=True)
        for feature in _features_of(column, rule)
    ]


def _features_of(column: Column, rule: Rule) -> list[Feature]:
    missing = ~np.isfinite(column.values)
    name = column.name
    made = []
    if column.levels:
        made += [
            Feature(
                np.asarray(column.values == level, dtype=np.float64), _level_words(column, level)
            )
            for level in rule.kept.tolist()
        ]
    else:
        made.append(Feature(np.where(missing, rule.middle, column.values), _number_words(column)))
    if rule.gaps:

        def gap_words(threshold: float, above: bool) -> str:
            return f"{name} is missing" if above else f"{name} is not missing"

        made.append(Feature(missing.astype(np.float64), gap_words))
    return made


def _level_words(column: Column, level: int) -> Callable[[float, bool], str]:
    def words(threshold: float, above: bool) -> str:
        return f"{column.name} is {'' if above else 'not '}{column.texts[level]}"

    return words


def _number_words(column: Column) -> Callable[[float, bool], str]:
    def words(threshold: float, above: bool) -> str:
        if column.unit:
            shown = str(np.array(round(threshold)).astype(column.unit))
        else:
            shown = f"{threshold:.4g}"
        return f"{column.name} {'>' if above else '≤'} {shown}"

    return words


def sparseness(rows: object, training: object, seed: int) -> Floats:
    """How far rows are from training rows, (rows,): ranks from 0 to 1 of the mean distance to the
    `NEAREST` of them.
    """
    encoded = encode([unmoved(rows), unmoved(training)], None).for_distances()
    count = len(unmoved(rows))
    among = encoded[count:]
    if len(among) > COMPARED:
        chosen = generator(seed, Stream.FIX_DENSITY).choice(len(among), COMPARED, replace=False)
        among = among[np.sort(chosen)]
    nearest = min(NEAREST, len(among))
    away = cKDTree(among).query(encoded[:count], k=nearest)[0].reshape(count, -1).mean(axis=1)
    return np.asarray(rankdata(away) / count)
