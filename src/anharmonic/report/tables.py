"""The tables of a report, as plain rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic.measures.compare import Comparison
from anharmonic.plots.style import model_styles
from anharmonic.scores import Scores

__all__ = [
    "DifferenceRow",
    "ModelRow",
    "SettingRow",
    "differences",
    "models_table",
    "settings",
    "shown",
]

WORDS = {
    "radius": "radius, in units of each feature",
    "nearest_distance": "usual distance between neighbours",
    "ball": "ball",
    "directions": "directions a turn",
    "rotations": "turns of the ball",
    "kind": "output",
    "reduction": "reduction",
    "region": "region",
    "points": "points",
    "dimension": "features that move",
    "columns": "their names",
    "still": "held still",
    "scale": "unit of each feature",
    "bounds": "bounds",
    "noise": "the model's own noise",
    "budget": "budget",
    "tolerance": "tolerance",
    "clipped": "share of queries moved by the bounds",
    "seed": "seed",
    "model": "model",
    "classes": "classes",
}
LISTED = 40


class ModelRow(NamedTuple):
    """A model in the first table.

    `mean`, `interval`, `floor` and the bar's `share` are of the scores it counts with; `places`
    are all means by where they are, and which of them that is.
    """

    name: str
    colour: str
    mean: str
    places: list[tuple[str, str, bool]]
    interval: str
    floor: str
    share: float
    points: str
    queries: str
    each: str


class DifferenceRow(NamedTuple):
    """A pair in the second."""

    larger: str
    smaller: str
    estimate: str
    interval: str
    real: bool
    verdict: str
    why: str


class SettingRow(NamedTuple):
    """A setting: the same for all, or one text for each model."""

    name: str
    values: list[tuple[str, str]]


def models_table(found: Comparison, order: list[str]) -> list[ModelRow]:
    """From the most harmonic on, with errors and costs."""
    styles = model_styles(found.scores)
    means = [found.overall(name).value for name in order]
    largest = max((mean for mean in means if np.isfinite(mean)), default=0.0)
    return [_row(found, name, styles[name]["color"], largest) for name in order]


def _row(found: Comparison, name: str, colour: str, largest: float) -> ModelRow:
    scores, places = found.counted(name), found.places(name)
    low, high = scores.interval(found.level)
    measured = int(np.isfinite(found.scores[name].values).sum())
    whole = sum(int(np.isfinite(each.values).sum()) for each in places.values())
    queries = sum(each.queries for each in places.values())
    points = len(found.scores[name])
    means = [
        (place, str(Estimate(each.mean, each.error)), place == found.where(name))
        for place, each in places.items()
    ]
    return ModelRow(
        name,
        colour,
        str(found.overall(name)),
        means,
        f"{low:.3g} … {high:.3g}" if np.isfinite(low) else "–",
        f"{scores.floor:.2g}" if np.isfinite(scores.floor) else "–",
        100 * scores.mean / largest if largest > 0 and np.isfinite(scores.mean) else 0.0,
        f"{measured:,}" if measured == points else f"{measured:,} of {points:,}",
        f"{queries:,}",
        f"{queries / max(1, whole):.1f}",
    )


def differences(judged: Comparison | None) -> list[DifferenceRow]:
    """Every pair, largest first."""
    if judged is None:
        return []
    return [
        DifferenceRow(
            each.larger,
            each.smaller,
            str(each.estimate),
            "{:.3g} … {:.3g}".format(*each.interval),
            each.real,
            each.verdict,
            each.why,
        )
        for each in judged.differences
    ]


def settings(models: dict[str, Scores]) -> list[SettingRow]:
    """Settings that are there, each once where all models share it."""
    rows = []
    for key, word in WORDS.items():
        texts = [(name, shown(scores.settings.plain().get(key))) for name, scores in models.items()]
        if not any(each for _, each in texts):
            continue
        same = len({each for _, each in texts}) == 1
        rows.append(SettingRow(word, [("", texts[0][1])] if same else texts))
    return rows


def shown(value: Any) -> str:
    """A setting as text; nothing where there is none."""
    if value is None or value == [] or value == "":
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        listed = ", ".join(shown(each) for each in value[:LISTED])
        return listed if len(value) <= LISTED else f"{listed}, … ({len(value):,} in all)"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
