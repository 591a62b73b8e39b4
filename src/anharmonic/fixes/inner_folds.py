"""Folds within the rows that a value is chosen on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Integers
from anharmonic.errors import PointsError
from anharmonic.fixes.copies import keys_of, numbered
from anharmonic.fixes.rows import Data

__all__ = ["INNER", "inner_folds", "is_classifying"]

INNER = 3
"""Folds, where no number is given."""


def is_classifying(estimator: Any) -> bool:
    """Whether scikit-learn takes an estimator's labels for classes."""
    needs("sklearn", "sklearn")
    from sklearn.base import is_classifier

    try:
        return bool(is_classifier(estimator))
    except AttributeError:  # a class without scikit-learn's tags
        return False


def inner_folds(data: Data, classes: bool) -> list[tuple[Integers, Integers]]:
    """Rows to fit to and rows to score at, a pair for each fold.

    As `GridSearchCV` cuts them, but copies of a row are in one fold, and the only rows of a class
    are fitted to: an estimator that has not seen a class can often not be fitted at all.

    Parameters
    ----------
    data
        What is cut.
    classes
        Whether labels are classes, of which every fold gets its share.
    """
    needs("sklearn", "sklearn")
    from sklearn.model_selection import KFold, StratifiedKFold

    of_row = numbered(keys_of(data, 0))
    first = np.unique(of_row, return_index=True)[1]
    labels = np.array([str(label) for label in data.labels.tolist()]) if classes else data.labels
    if len(first) < INNER:
        raise PointsError(
            f"{len(first)} distinct rows are too few to choose a value on: give {INNER} at least"
        )
    largest = int(np.unique(labels[first], return_counts=True)[1].max())
    cut = (StratifiedKFold if classes and largest >= INNER else KFold)(INNER)
    folds = []
    with warnings.catch_warnings():
        # That a class has fewer rows than folds is seen to below.
        warnings.simplefilter("ignore")
        for _, chosen in cut.split(first, labels[first]):
            outside = np.isin(of_row, chosen)
            if classes:
                outside &= np.isin(labels, labels[~outside])
            folds.append((np.flatnonzero(~outside), np.flatnonzero(outside)))
    if not all(len(outside) for _, outside in folds):
        raise PointsError(
            "classes have a row each, and none is left to score at: give more rows of a class"
        )
    return folds
