"""Weights over the reference's rows in a file: the rows and answers, to which they are refitted.

The same rows, answers and seed fit the same trees, so that no tree is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import SettingsError
from anharmonic.measures.over_data.encoding import Column, Encoded
from anharmonic.measures.over_data.fitted import FittedWeights, fit_encoded
from anharmonic.measures.over_data.weights import NAMES

__all__ = ["check_refitted", "weights_arrays", "weights_facts", "weights_from"]

SAME = 1e-6
"""Relative tolerance of scores by weights that were fitted again."""


def weights_arrays(fitted: FittedWeights) -> dict[str, Array]:
    """The reference's cells as numbers, (rows, columns), and its answers."""
    cells = np.stack([column.values for column in fitted.encoded.columns], axis=1)
    return {"data.cells": cells, "data.answers": fitted.answers}


def weights_facts(fitted: FittedWeights) -> dict[str, object]:
    """What these numbers mean, and how weights are fitted to them, ready for JSON."""
    encoded = fitted.encoded
    return {
        "columns": [
            {"name": column.name, "levels": column.levels, "texts": column.texts}
            | {"unit": column.unit}
            for column in encoded.columns
        ],
        "used": encoded.used,
        "left_out": encoded.left_out,
        "weights": fitted.weights.name,
        "options": asdict(fitted.weights),
        "reduction": fitted.reduction,
        "seed": fitted.seed,
    }


def weights_from(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> FittedWeights:
    """The weights that `weights_facts` and `weights_arrays` describe, fitted again."""
    columns = [
        Column(about["name"], cells, about["levels"], tuple(about["texts"]), about["unit"])
        for about, cells in zip(facts["columns"], arrays["data.cells"].T, strict=True)
    ]
    encoded = Encoded(tuple(columns), tuple(facts["used"]), tuple(facts["left_out"]))
    return fit_encoded(
        encoded,
        arrays["data.answers"],
        weights=NAMES[facts["weights"]](**facts["options"]),
        reduction=facts["reduction"],
        seed=facts["seed"],
    )


def check_refitted(fitted: FittedWeights, scores: Floats) -> None:
    """Refuse weights that give the reference other scores (rows,) than those in the file."""
    apart = np.abs(fitted.reference_scores - scores).max()
    if apart > SAME * np.abs(fitted.answers).max():
        raise SettingsError(
            "the weights over the reference's rows could not be fitted as they were: load with the "
            "version of scikit-learn that the monitor was saved with, or fit a new monitor"
        )
