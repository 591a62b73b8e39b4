"""Ensembles of what a question's answers say, fitted on one half of the questions.

    python -m studies.llm.further.ensembles docs/reproduce/results

fits all of them, a minute on a core, and keeps what comes out in llm-further/ensembles.json.

Halves go by the last digit of a question's fingerprint, even or odd, and were fixed before anything
was fitted. Each half is read by what the other one fitted and chose. All of an ensemble comes from
the same 11 calls: the original answer and ten others of one group.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.auroc import auroc
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from studies.llm.scored import Scored
from studies.streams import LanguageStudyStream

__all__ = ["ENSEMBLES", "Fitted", "columns_of", "fitted", "halves", "kept_ensembles", "measure"]

FOLDS = 5
DRAWS = 1000

Fit = Callable[[Floats, Array], Callable[[Floats], Floats]]
"""From numbers (questions, columns) and whether each answer is wrong, to a score of others."""


def halves(scored: Scored) -> tuple[Array, Array]:
    """Rows of the first and of the second half."""
    last = np.array([int(name[-1], 16) for name in scored.columns["question"]])
    return np.flatnonzero(last % 2 == 0), np.flatnonzero(last % 2 == 1)


def columns_of(
    scored: Scored, group: str, more: Mapping[str, Floats] | None = None
) -> dict[str, Floats]:
    """Gamma, every rival and the length, from the original and ten answers of a group."""
    return {
        "gamma": scored.gamma(group),
        **scored.rivals(group),
        "length": scored.length,
        **(more or {}),
    }


def _ranked(values: Floats, known: Floats) -> Floats:
    """Each value's place among known ones, from 0 to 1, column by column."""
    ordered = np.sort(known, axis=0)
    places = [
        np.searchsorted(ordered[:, at], values[:, at], "left")
        + np.searchsorted(ordered[:, at], values[:, at], "right")
        for at in range(values.shape[1])
    ]
    return np.stack(places, axis=1) / (2 * len(known))


def _mean_rank(values: Floats, wrong: Array) -> Callable[[Floats], Floats]:
    """Ranks averaged, of those columns that are above one half here."""
    useful = [at for at in range(values.shape[1]) if auroc(values[:, at], wrong) > 0.55]
    taken = useful or list(range(values.shape[1]))
    return lambda others: _ranked(others, values)[:, taken].mean(axis=1)


def _logistic(values: Floats, wrong: Array) -> Callable[[Floats], Floats]:
    """A ridge logistic regression on ranks, its strength by cross-validation."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    strengths = {"C": [0.01, 0.1, 1.0, 10.0]}
    model = GridSearchCV(LogisticRegression(max_iter=2000), strengths, scoring="roc_auc", cv=FOLDS)
    model.fit(_ranked(values, values), wrong)
    return lambda others: np.asarray(model.predict_proba(_ranked(others, values))[:, 1])


def _forest(values: Floats, wrong: Array) -> Callable[[Floats], Floats]:
    from sklearn.ensemble import ExtraTreesClassifier

    model = ExtraTreesClassifier(300, min_samples_leaf=10, random_state=0).fit(values, wrong)
    return lambda others: np.asarray(model.predict_proba(others)[:, 1])


def _boosted(values: Floats, wrong: Array) -> Callable[[Floats], Floats]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=4, learning_rate=0.08, min_samples_leaf=15, random_state=0
    ).fit(values, wrong)
    return lambda others: np.asarray(model.predict_proba(others)[:, 1])


ENSEMBLES: dict[str, Fit] = {
    "mean rank": _mean_rank,
    "logistic regression": _logistic,
    "extremely randomised trees": _forest,
    "boosted trees": _boosted,
}


@dataclass(frozen=True)
class Fitted:
    """What each half has by what the other chose, and both together.

    `chosen` is the ensemble each half chose for the other, `halves` its AUROC there, `ensemble` the
    mean with a 95% interval over questions; `rival` the same for the best single column.
    """

    chosen: tuple[str, str]
    halves: tuple[float, float]
    ensemble: tuple[float, float, float]
    rivals: tuple[str, str]
    rival: tuple[float, float, float]
    lead: tuple[float, float, float]


def fitted(
    columns: Mapping[str, Floats], wrong: Array, parts: tuple[Array, Array], seed: int
) -> Fitted:
    """Choose and fit on one half, read the other, both ways."""
    names = list(columns)
    values = np.stack([columns[name] for name in names], axis=1)
    chosen, singles, scores, best = [], [], [], []
    for inside, outside in (parts, parts[::-1]):
        kind = max(
            ENSEMBLES,
            key=lambda name: _cross_validated(ENSEMBLES[name], values[inside], wrong[inside], seed),
        )
        chosen.append(kind)
        scores.append(ENSEMBLES[kind](values[inside], wrong[inside])(values[outside]))
        areas = [auroc(values[inside, at], wrong[inside]) for at in range(len(names))]
        singles.append(names[int(np.argmax(areas))])
        best.append(values[outside, int(np.argmax(areas))])
    read = [wrong[parts[1]], wrong[parts[0]]]
    areas = [auroc(score, bad) for score, bad in zip(scores, read, strict=True)]
    both = _interval(scores, read, seed)
    single = _interval(best, read, seed)
    lead = tuple(np.quantile(both[1] - single[1], (0.025, 0.975)))
    return Fitted(
        (chosen[0], chosen[1]),
        (float(areas[0]), float(areas[1])),
        _shown(*both),
        (singles[0], singles[1]),
        _shown(*single),
        (both[0] - single[0], float(lead[0]), float(lead[1])),
    )


def _cross_validated(fit: Fit, values: Floats, wrong: Array, seed: int) -> float:
    """Mean AUROC on folds that were left out."""
    fold = generator(seed, LanguageStudyStream.ENSEMBLE_FOLDS).permutation(len(wrong)) % FOLDS
    areas = []
    for left_out in range(FOLDS):
        inside = fold != left_out
        score = fit(values[inside], wrong[inside])(values[~inside])
        areas.append(auroc(score, wrong[~inside]))
    return float(np.nanmean(areas))


def _interval(scores: list[Floats], wrong: list[Array], seed: int) -> tuple[float, Floats]:
    """The mean of the halves' AUROCs, and what it is when questions are drawn anew."""
    random = generator(seed, LanguageStudyStream.ENSEMBLE_BOOTSTRAP)
    draws = []
    for _ in range(DRAWS):
        areas = []
        for score, bad in zip(scores, wrong, strict=True):
            rows = random.integers(len(bad), size=len(bad))
            areas.append(auroc(score[rows], bad[rows]))
        draws.append(np.mean(areas))
    value = float(np.mean([auroc(score, bad) for score, bad in zip(scores, wrong, strict=True)]))
    return value, np.array(draws)


def _shown(value: float, draws: Any) -> tuple[float, float, float]:
    low, high = np.nanquantile(draws, (0.025, 0.975))
    return value, float(low), float(high)


def measure(data: Path, seed: int = 0) -> dict[str, Fitted]:
    """Every source, way of asking and set of inputs: by "source | group | inputs"."""
    from studies.llm.further.likelihood import LIKELIHOODS, likelihoods_of, read_likelihoods
    from studies.llm.scored import MAIN, read_scored

    path = data / "llm-further" / "likelihood.npz"
    known = read_likelihoods(path) if path.exists() else {}
    found = {}
    for scored in read_scored(data / "llm"):
        if scored.part:
            continue
        inputs: dict[str, dict[str, Floats]] = {"answers alone": {}}
        columns = likelihoods_of(scored, known)
        free = {name: columns[name] for name in LIKELIHOODS[:4]}
        if all(np.isfinite(values).all() for values in free.values()):
            inputs["and token probabilities"] = free
        for group in MAIN:
            for name, more in inputs.items():
                found[f"{scored.source} | {group} | {name}"] = fitted(
                    columns_of(scored, group, more), scored.wrong, halves(scored), seed
                )
    return found


def kept_ensembles(path: Path) -> dict[str, Fitted]:
    """What was kept of `measure`."""
    held = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Fitted(**{field: tuple(values) for field, values in each.items()})
        for name, each in held.items()
    }


if __name__ == "__main__":
    _data = Path(sys.argv[1])
    _out = _data / "llm-further" / "ensembles.json"
    _out.parent.mkdir(parents=True, exist_ok=True)
    _found = {name: asdict(each) for name, each in measure(_data).items()}
    _out.write_text(json.dumps(_found, indent=0), encoding="utf-8")
