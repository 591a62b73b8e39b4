"""The tables of a report, as plain rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.columns import words_for
from anharmonic._core.estimate import Estimate
from anharmonic.measures.compare import Comparison, Difference
from anharmonic.plots.style import model_styles
from anharmonic.report.words import WORDS
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

SETTINGS = (
    *("radius", "nearest_distance", "ball", "directions", "rotations", "kind", "reduction"),
    *("region", "points", "dimension", "columns", "still", "scale", "bounds", "noise"),
    *("weights_options", "referenced", "reference_rows"),
    *("budget", "tolerance", "clipped", "seed", "model", "classes"),
)
"""Settings that a report lists where they were recorded."""
LISTED = 40
"""Entries of a list that are shown."""


class ModelRow(NamedTuple):
    """A model in the first table.

    `mean`, `interval`, `relative`, `floor` and the bar's `share` are of the scores it counts with,
    which are at `place`; `others` are its means elsewhere. `score` and `standing` are known with
    labels alone.
    """

    name: str
    colour: str
    mean: str
    relative: str
    place: str
    others: list[tuple[str, str]]
    interval: str
    floor: str
    share: float
    queries: str
    queries_per_point: str
    score: str
    score_interval: str
    standing: str


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


def models_table(compared: Comparison, order: list[str]) -> list[ModelRow]:
    """From the most harmonic on, with errors and costs."""
    styles = model_styles(compared.scores)
    means = [compared.overall(name).value for name in order]
    largest = max((mean for mean in means if np.isfinite(mean)), default=0.0)
    return [_row(compared, name, styles[name]["color"], largest) for name in order]


def _row(compared: Comparison, name: str, colour: str, largest: float) -> ModelRow:
    scores, places = compared.counted(name), compared.places(name)
    low, high = scores.interval(compared.level)
    # Queries are shared out over all points that cost any, those of the reference too.
    paid = sum(int(np.isfinite(there.values).sum()) for there in places.values())
    queries = sum(there.queries for there in places.values())
    labelled = compared.labelled.get(name)
    if labelled is not None:
        queries += labelled.queries
    where = compared.where(name)
    others = [
        (place, str(Estimate(there.mean, there.error)))
        for place, there in places.items()
        if place != where
    ]
    relative = scores.relative.percent if scores.share_of_spread else ""
    return ModelRow(
        name,
        colour,
        str(compared.overall(name)),
        relative,
        where,
        others,
        f"{low:.3g} … {high:.3g}" if np.isfinite(low) else "–",
        f"{scores.floor:.2g}" if scores.about.ranks and np.isfinite(scores.floor) else "–",
        100 * scores.mean / largest if largest > 0 and np.isfinite(scores.mean) else 0.0,
        f"{queries:,}",
        f"{queries / max(1, paid):.1f}",
        *("", "") if labelled is None else labelled.texts(compared.level),
        "" if labelled is None else str(compared.standings[name]),
    )


def differences(pairs: Sequence[Difference]) -> list[DifferenceRow]:
    """Every pair, largest first."""
    return [
        DifferenceRow(
            pair.larger,
            pair.smaller,
            str(pair.estimate),
            "{:.3g} … {:.3g}".format(*pair.interval),
            pair.real,
            pair.verdict,
            pair.why,
        )
        for pair in pairs
    ]


def settings(models: dict[str, Scores]) -> list[SettingRow]:
    """Settings that are there, each once where all models share it."""
    rows = []
    facts = {name: scores.settings.plain() for name, scores in models.items()}
    compared = [its.settings for its in models.values() if not its.settings.moves]
    words = WORDS | words_for(compared[0]) if len(compared) == len(models) else WORDS
    for key in SETTINGS:
        texts = [(name, shown(recorded.get(key))) for name, recorded in facts.items()]
        if not any(text for _, text in texts):
            continue
        same = len({text for _, text in texts}) == 1
        rows.append(SettingRow(words[key], [("", texts[0][1])] if same else texts))
    return rows


def shown(value: object) -> str:
    """A setting as text; nothing where there is none."""
    if value is None or value == [] or value == "":
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {shown(entry)}" for key, entry in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and value and all(_is_named(entry) for entry in value):
        return shown(dict(value))
    if isinstance(value, list):
        listed = ", ".join(shown(entry) for entry in value[:LISTED])
        return listed if len(value) <= LISTED else f"{listed}, … ({len(value):,} in all)"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_named(entry: object) -> bool:
    """Whether an entry is a name and its value."""
    return isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str)
