"""NannyML's estimates for the windows in a folder: run with the Python that has NannyML.

`python rival.py FOLDER` reads every `*.case.npz` there and writes `*.rival.npz` beside it.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def _frame(arrays: Any, part: str) -> Any:
    import pandas as pd

    names = [f"x{number}" for number in range(arrays[f"{part}features"].shape[1])]
    frame = pd.DataFrame(arrays[f"{part}features"], columns=names)
    for name, listed in zip(names, arrays["categories"], strict=True):
        if listed:
            frame[name] = frame[name].astype("category")
    outputs = arrays[f"{part}outputs"]
    if outputs.ndim == 1:
        frame["y_pred"] = outputs
    else:
        frame["y_pred"] = outputs.argmax(axis=1)
        for number in range(outputs.shape[1]):
            frame[f"p{number}"] = outputs[:, number]
    frame["y_true"] = arrays[f"{part}labels"]
    return frame


def estimate(arrays: Any) -> dict[str, Any]:
    """Estimates per window of each metric."""
    import nannyml  # type: ignore[import-not-found]

    window = int(arrays["window"])
    reference, traffic = _frame(arrays, ""), _frame(arrays, "traffic_")
    classes = arrays["outputs"].shape[1] if arrays["outputs"].ndim == 2 else 0
    if classes:
        names = ["accuracy", "roc_auc"]
        binary = classes == 2
        made = nannyml.CBPE(
            y_pred="y_pred",
            y_pred_proba="p1" if binary else {k: f"p{k}" for k in range(classes)},
            y_true="y_true",
            problem_type="classification_binary" if binary else "classification_multiclass",
            metrics=names,
            chunk_size=window,
        )
    else:
        names = ["mae", "rmse"]
        made = nannyml.DLE(
            feature_column_names=[name for name in reference.columns if name.startswith("x")],
            y_pred="y_pred",
            y_true="y_true",
            metrics=names,
            chunk_size=window,
        )
    made.fit(reference)
    found = made.estimate(traffic.drop(columns="y_true")).filter(period="analysis").to_df()
    # Their sampling error is of one standard deviation.
    parts = {"": "value", "_low": "lower_confidence_boundary", "_high": "upper_confidence_boundary"}
    return {
        f"{ours}{part}": found[(name, column)].to_numpy(dtype=float)
        for name, ours in zip(names, ["accuracy", "auc"] if classes else names, strict=True)
        for part, column in parts.items()
    }


def main() -> None:
    warnings.simplefilter("ignore")
    for path in sorted(Path(sys.argv[1]).glob("*.case.npz")):
        target = path.with_name(path.name.replace(".case.", ".rival."))
        if not target.exists():
            with np.load(path, allow_pickle=False) as arrays:
                np.savez(target, **estimate(arrays))


if __name__ == "__main__":
    main()
