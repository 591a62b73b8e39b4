"""Data sets that NannyML ships with a model's outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.performance.cases import Case, matrix, table


def _bundled(
    name: str,
    kind: str,
    reference: Any,
    analysis: Any,
    columns: list[str],
    target: str,
    outputs: list[str],
    window: int,
    seed: int,
) -> Case:
    """A data set that comes with a model's outputs; each seed refers to another two thirds."""
    import pandas as pd

    rows = np.sort(
        np.random.default_rng(seed).permutation(len(reference))[: len(reference) * 2 // 3]
    )
    reference = reference.iloc[rows]
    analysis = analysis.iloc[: len(analysis) // window * window]
    both = pd.concat([reference[columns], analysis[columns]])
    features, listed = matrix(both)
    count = len(reference)
    labels = np.concatenate([reference[target].to_numpy(), analysis[target].to_numpy()])
    if kind == "classes":
        labels = np.unique(labels, return_inverse=True)[1]
    given = np.concatenate([reference[outputs].to_numpy(), analysis[outputs].to_numpy()])
    given = given.astype(np.float64)
    if kind == "numbers":
        given = given[:, 0]
    elif given.shape[1] == 1:
        given = np.concatenate([1 - given, given], axis=1)
    return Case(
        name,
        kind,
        given[:count],
        labels[:count],
        features[:count],
        given[count:],
        labels[count:],
        features[count:],
        listed,
        tuple(columns),
        window,
    )


def car_loan(folder: Path, rival: Path, seed: int) -> Case:
    """NannyML's made loans: whether one is repaid; the mix of customers changes midway."""
    reference = table(rival / "synthetic_car_loan_reference.csv")
    analysis = table(rival / "synthetic_car_loan_analysis.csv").merge(
        table(rival / "synthetic_car_loan_analysis_target.csv"), on="id"
    )
    columns = list(reference.columns[1:8])
    arguments = ("repaid", ["y_pred_proba"], 2500, seed)
    return _bundled("car_loan", "classes", reference, analysis, columns, *arguments)


def car_price(folder: Path, rival: Path, seed: int) -> Case:
    """NannyML's made car prices."""
    reference = table(rival / "regression_synthetic_reference.csv")
    analysis = table(rival / "regression_synthetic_analysis.csv")
    truth = table(rival / "regression_synthetic_analysis_targets.csv")
    key = "id" if "id" in truth.columns else None
    analysis = analysis.merge(truth, on=key) if key else analysis.join(truth[["y_true"]])
    columns = list(reference.columns[1:8])
    arguments = ("y_true", ["y_pred"], 2500, seed)
    return _bundled("car_price", "numbers", reference, analysis, columns, *arguments)


def cards(folder: Path, rival: Path, seed: int) -> Case:
    """NannyML's made credit cards, three classes."""
    reference = table(rival / "mc_reference.csv")
    analysis = table(rival / "mc_analysis.csv").merge(table(rival / "mc_analysis_gt.csv"), on="id")
    columns = list(reference.columns[1:8])
    outputs = [
        f"y_pred_proba_{card}" for card in ("highstreet_card", "prepaid_card", "upmarket_card")
    ]
    return _bundled("cards", "classes", reference, analysis, columns, "y_true", outputs, 2500, seed)


def employment(folder: Path, rival: Path, seed: int) -> Case:
    """Work in Massachusetts, a census of several years: NannyML's copy, its first 60,000 rows."""
    reference = table(rival / "employment_MA_reference.pq").iloc[:30000]
    analysis = table(rival / "employment_MA_analysis.pq")
    truth = table(rival / "employment_MA_analysis_target.pq")
    analysis = analysis.merge(truth, on="id") if "employed" not in analysis.columns else analysis
    analysis = analysis.iloc[:: len(analysis) // 50000]
    columns = list(reference.columns[1:17])
    arguments = ("employed", ["predicted_probability"], 2500, seed)
    return _bundled("employment", "classes", reference, analysis, columns, *arguments)


def housing(folder: Path, rival: Path, seed: int) -> Case:
    """Houses in California, dear or not, as NannyML ships them."""
    reference = table(rival / "california_housing_reference.csv")
    analysis = table(rival / "california_housing_analysis.csv").merge(
        table(rival / "california_housing_analysis_gt.csv"), on="id"
    )
    columns = list(reference.columns[1:9])
    arguments = ("clf_target", ["y_pred_proba"], 500, seed)
    return _bundled("housing", "classes", reference, analysis, columns, *arguments)
