"""The study's main tables: how many answers are right, and what tells them at equal calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments
from studies.llm.choosing import lead, lead_in_other_half
from studies.llm.ranking import Ranked, Ranking
from studies.llm.scored import MAIN, Scored
from studies.page import Row, Section

__all__ = ["Headline", "Told", "answered", "compared", "ranked", "ranked_row"]

HOW = """SmolLM2-135M-Instruct from its GGUF file, at most 48 tokens an answer. {count} An answer
of WebQuestions is right when the words of an alias stand in it; this forgives an answer that names
much, or repeats the question. One of TruthfulQA counts as right when it is more like a right answer
than like any wrong one to the embedder: a proxy, made by the judge that also makes gamma. The noise
of the model itself, gamma0, is that of the same prompt in another batch. Gamma is in sqrt(1 − cos
θ), embedded by MiniLM."""


BELOW = """{source}: both lie below one half, so on these questions the steadier answers are the
ones more often judged wrong. Why was not tested; a mistake that is made every time has a small
gamma, these questions are chosen for mistakes that many repeat, and the judge is a proxy. A rival
that says the same of every answer has 0.500, and is ahead of both."""


class Told(NamedTuple):
    """A section with what it comes to in words."""

    section: Section
    verdict: tuple[str, ...] = ()


@dataclass(frozen=True)
class Headline:
    """One source: which answers are wrong, and the columns of numbers at equal calls."""

    scored: Scored
    ranking: Ranking

    @classmethod
    def of(cls, scored: Scored, seed: int, rounds: int) -> Headline:
        return cls(scored, Ranking(scored.wrong, seed, rounds))

    @property
    def source(self) -> str:
        return self.scored.source

    @cached_property
    def gammas(self) -> dict[str, Ranked]:
        """Gamma of the main groups."""
        return self.gammas_of(MAIN)

    def gammas_of(self, groups: Iterable[str]) -> dict[str, Ranked]:
        """Gamma by group."""
        return {group: self.ranking.of(self.scored.gamma(group)) for group in groups}

    @cached_property
    def rival_columns(self) -> dict[str, dict[str, Floats]]:
        """The rivals' numbers by main group, then by name."""
        return {group: self.scored.rivals(group) for group in MAIN}

    @cached_property
    def rivals(self) -> dict[str, dict[str, Ranked]]:
        """By main group, then by name."""
        return {group: self.ranking.every(found) for group, found in self.rival_columns.items()}

    @cached_property
    def lead(self) -> Ranked:
        """The best gamma less the best rival, both chosen anew in every resampling."""
        rivals = [at for found in self.rivals.values() for at in found.values()]
        return lead(self.gammas.values(), rivals)

    def lead_elsewhere(self, seed: int = 0, hindsight: bool = False) -> float:
        """The same in one half of the questions, chosen by the other; see `choosing`."""
        gammas = {group: self.scored.gamma(group) for group in MAIN}
        rivals = {
            f"{group} {name}": column
            for group, found in self.rival_columns.items()
            for name, column in found.items()
        }
        return lead_in_other_half(gammas, rivals, self.ranking.wrong, seed, hindsight=hindsight)


def ranked_row(case: str, found: Ranked, paper: str = "") -> Row:
    """An AUROC or a difference, with its interval."""
    low, high = found.interval
    return Row(case, found.estimate, paper, remark=f"[{low:.3f}, {high:.3f}]")


def answered(found: Sequence[Headline], made: str) -> Told:
    """How many answers are right, and how noisy the model is; `made` tells how they came about."""
    rows = []
    for each in found:
        good = Moments.of((~each.ranking.wrong).astype(float))
        rows += [
            Row(
                f"{each.source}: share right",
                Estimate(float(good.mean), float(good.error)),
                queries=int(each.scored.facts["calls"]),
                remark=f"{int((~each.ranking.wrong).sum())} of {len(each.scored)}",
            ),
            _mean(f"{each.source}: gamma0", each.scored.noise, _same(each.scored)),
            _mean(f"{each.source}: gamma, control", each.scored.gamma("control")),
            _mean(f"{each.source}: gamma, asked again", each.scored.gamma("resample")),
        ]
    count = f"{sum(len(each.scored) for each in found):,} questions, {made}"
    return Told(Section("The answers", HOW.format(count=count), tuple(rows)))


def _mean(case: str, values: Floats, remark: str = "") -> Row:
    found = Moments.of(values)
    return Row(case, Estimate(float(found.mean), float(found.error)), remark=remark)


def _same(scored: Scored) -> str:
    return f"{scored.facts['same']:.1%} the same to the letter"


def ranked(found: Sequence[Headline]) -> Told:
    """AUROC of gamma and of every rival, all from the same number of calls."""
    rows, verdict = [], []
    for each in found:
        calls = each.scored.others + 1
        length = each.ranking.of(each.scored.length)
        rows.append(ranked_row(f"{each.source}, 1 call: length", length))
        for group, words in MAIN.items():
            name = f"{each.source}, {words}"
            rows.append(ranked_row(f"{name}: gamma", each.gammas[group]))
            if group == "control":
                excess = each.ranking.of(each.scored.gamma(group) - each.scored.noise)
                rows.append(ranked_row(f"{name}: excess gamma", excess))
            rows += [ranked_row(f"{name}: {rival}", at) for rival, at in each.rivals[group].items()]
        verdict.append(
            f"{each.source}: AUROC of gamma {_shown(each.gammas['control'])} with the paper's "
            f"control characters and {_shown(each.gammas['resample'])} when the same prompt is "
            f"asked again at temperature 1; the best rival is {_best(each)}. All from {calls} "
            f"calls per question."
        )
        if all(each.gammas[group].interval[1] < 0.5 for group in MAIN):
            verdict.append(BELOW.format(source=each.source))
    text = """AUROC against correctness: the chance that a wrong answer has the larger number than a
    right one; one half is a coin. The remark is the 95% interval over questions (Newcombe's fifth
    method, widened to DeLong's variance). Every row of a group sees the same answers, the original
    and as many others. Clusters for semantic entropy are those of the embedder (1 − cosine
    below 0.2); no NLI model was at hand. Excess is gamma less gamma0, which costs one call
    more."""
    return Told(Section("What tells right from wrong", text, tuple(rows)), tuple(verdict))


def _best(each: Headline) -> str:
    every = {
        f"{rival} ({MAIN[group]})": at
        for group, rivals in each.rivals.items()
        for rival, at in rivals.items()
    }
    name = max(every, key=lambda key: every[key].value)
    return f"{name} with {_shown(every[name])}"


def _shown(found: Ranked) -> str:
    low, high = found.interval
    return f"{found.value:.3f} [{low:.3f}, {high:.3f}]"


def compared(found: Sequence[Headline]) -> Told:
    """Paired differences: what control characters add to asking again, gamma to its rivals."""
    rows, verdict = [], []
    for each in found:
        step = each.gammas["control"] - each.gammas["resample"]
        rows.append(ranked_row(f"{each.source}: gamma, control − asked again", step))
        for group, words in MAIN.items():
            rows += [
                ranked_row(f"{each.source}, {words}: gamma − {rival}", each.gammas[group] - at)
                for rival, at in each.rivals[group].items()
            ]
        halves = each.lead_elsewhere(), each.lead_elsewhere(hindsight=True)
        row = ranked_row(f"{each.source}: best gamma − best rival, chosen anew", each.lead)
        said = f"{row.remark}; {halves[0]:+.3f} in other halves, {halves[1]:+.3f} in hindsight"
        rows.append(replace(row, remark=said))
        verdict.append(f"{each.source}: control characters {_against(step)} asking again.")
        verdict.append(f"{each.source}: {_leads(each.lead, *halves)}")
    verdict.append(_default(found))
    text = """Differences of AUROC at equal calls, paired: both sides see the same questions in
    every resampling. Where the interval holds 0 the two cannot be told apart here. The best of
    several is best in part because of these questions; so the lead of the best gamma over the
    best rival is taken with both chosen anew in every resampling, and in one half of the
    questions with both chosen by the other half. Half of the questions choose worse among ten
    rivals than among two gammas, which helps gamma; in hindsight the rival is the best of the
    very half that is read, which helps the rivals."""
    return Told(Section("Paired differences", text, tuple(rows)), tuple(verdict))


def _default(found: Sequence[Headline]) -> str:
    """The way of asking that has the larger AUROC of gamma, mean over the sources."""
    means = {group: np.mean([each.gammas[group].value for each in found]) for group in MAIN}
    best = max(means, key=lambda group: means[group])
    return (
        f'The default these answers support is `perturb="{best}"` (mean AUROC '
        f"{means[best]:.3f}, the other's {min(means.values()):.3f}); the paper's procedure is "
        '`perturb="control"`.'
    )


def _leads(ahead: Ranked, elsewhere: float, hindsight: float) -> str:
    """Whether the best gamma is ahead of the best rival, the choice of both counted in."""
    low, high = ahead.interval
    words = "is not told from"
    if low > 0 and hindsight > 0:
        words = "is ahead of"
    elif high < 0 and elsewhere < 0:
        words = "is behind"
    return (
        f"on these questions the best gamma {words} the best rival ({ahead.value:+.3f} "
        f"[{low:+.3f}, {high:+.3f}] with both chosen anew; {elsewhere:+.3f} where other questions "
        f"chose them, {hindsight:+.3f} where the rival was chosen in hindsight)."
    )


def _against(step: Ranked) -> str:
    low, high = step.interval
    words = "do better than" if low > 0 else "do worse than" if high < 0 else "are not told from"
    return f"(difference {step.value:+.3f} [{low:+.3f}, {high:+.3f}]) {words}"
