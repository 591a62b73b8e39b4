"""How often intervals in tables hold the truth, where every neighbour can be asked for.

    python -m benchmarks.table_coverage

Small tables of categories, flags and steps, whose neighbours are few enough to list: gamma of the
whole list is the truth. The same models are then measured with neighbours that are drawn, with 4
and with 16 turns, and the share of 95% intervals that hold the truth is printed for points with
gamma above 0. Bar: at least 0.93, and none of width 0 that misses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah
from anharmonic.measures.setup.table_rows import table_ball

BAR = 0.93
ROWS, DIRECTIONS, REPETITIONS = 60, 12, 8
MODELS: dict[str, Callable[[int], Any]] = {
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "forest": lambda seed: RandomForestClassifier(30, random_state=seed),
    "boosted": lambda seed: HistGradientBoostingClassifier(max_iter=30, random_state=seed),
    "logistic": lambda seed: LogisticRegression(max_iter=500),
    "network": lambda seed: MLPClassifier((20,), max_iter=300, random_state=seed),
}


def small_table(seed: int, gaps: bool) -> tuple[pd.DataFrame, Any]:
    """Rows of a category, a flag, an order and perhaps gaps, and labels that hang on all."""
    random = np.random.default_rng(seed)
    colour = random.integers(3, size=300)
    frame = pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue"])[colour],
            "member": random.random(300) < 0.3 + 0.2 * (colour == 1),
            "rooms": np.clip(colour + random.integers(0, 3, 300), 0, 3),
        }
    )
    score = colour + frame["rooms"] - 2 * frame["member"] + random.normal(0, 1.5, 300)
    labels = (score > score.median()).to_numpy().astype(int)
    if gaps:
        frame["member"] = frame["member"].astype("boolean").mask(random.random(300) < 0.1)
    return frame, labels


def coverage(name: str, turns: int, gaps: bool, output: str | None) -> tuple[float, int]:
    """The share of intervals that hold the truth, and how many there were."""
    import warnings

    held, count = 0, 0
    for seed in range(REPETITIONS):
        frame, labels = small_table(seed, gaps)
        model = make_pipeline(
            OneHotEncoder(handle_unknown="ignore", sparse_output=False), MODELS[name](seed)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(frame[:240].astype(str), labels[:240])

        def asked(rows: Any, model: Any = model) -> Any:
            return model.predict_proba(rows.astype(str))

        kept = {"reference": frame[:240], "output": output, "seed": seed}
        truth = ah.gamma(asked, frame[240:], **kept)
        assert truth.settings.complete, "neighbours are too many to list: no truth is known"
        drawn = ah.gamma(
            asked,
            frame[240:],
            ball=table_ball(None, DIRECTIONS, paired=False),
            rotations=turns,
            radius=truth.settings.radius,
            **kept,
        )
        low, high = drawn.intervals()
        bends = truth.values > 1e-9
        inside = (low <= truth.values + 1e-12) & (truth.values <= high + 1e-12)
        held, count = held + int(inside[bends].sum()), count + int(bends.sum())
    return held / count, count


def main() -> int:
    """Print the table; 1 where the bar is missed."""
    print("model      gaps  turns  held (points)")
    missed = 0
    for name in MODELS:
        for gaps in (False, True):
            for turns in (4, 16):
                share, count = coverage(name, turns, gaps, None)
                missed += share < BAR
                print(f"{name:9}  {gaps!s:5} {turns:5}  {share:.3f} ({count})", flush=True)
    print(f"bar: at least {BAR}; {missed} cells below it")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
