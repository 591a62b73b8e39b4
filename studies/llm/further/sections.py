"""Sections of the page of further answers that follow from kept scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import spearmanr

from anharmonic._core.auroc import auroc_interval
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments, Rate
from studies.llm.further.ensembles import Fitted
from studies.llm.further.likelihood import LIKELIHOODS, likelihoods_of
from studies.llm.further.magnitude import magnitudes
from studies.llm.headline import Told
from studies.llm.scored import MAIN, Scored
from studies.page import Grid, Row, Section

__all__ = [
    "STEADY",
    "by_kind",
    "ensembles",
    "lengths",
    "likelihoods",
    "mean_of",
    "reworded",
    "shown",
]

WANTED = 0.80
STEADY = 0.1
"""The paper's band: below it an answer is probably trustworthy."""
Known = Mapping[str, Mapping[str, float]]


def mean_of(values: Floats) -> Estimate:
    """With its error."""
    moments = Moments.of(values)
    return Estimate(float(moments.mean), float(moments.error))


def shown(value: float, low: float, high: float) -> str:
    """A figure and its interval."""
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def ensembles(kept: Mapping[str, Fitted]) -> Told:
    """Fitted on one half of the questions, read on the other, at 11 calls."""
    lines: list[tuple[str, ...]] = []
    best: dict[str, tuple[str, Fitted]] = {}
    for key, found in kept.items():
        source, group, name = key.split(" | ")
        lines.append(_line(source, MAIN[group], name, found))
        if source not in best or found.ensemble[0] > best[source][1].ensemble[0]:
            best[source] = (f"{MAIN[group]}, {name}", found)
    more = any("token" in key for key in kept)
    verdict = []
    for source, (name, found) in best.items():
        reached = "reached" if found.ensemble[0] >= WANTED else "not reached"
        verdict.append(
            f"""{source}: the best ensemble ({name}) has an AUROC of {shown(*found.ensemble)} on
            the halves it was not fitted on ({found.halves[0]:.3f} and {found.halves[1]:.3f}), the
            best single number, chosen the same way, {shown(*found.rival)}: a lead of
            {found.lead[0]:+.3f} [{found.lead[1]:+.3f}, {found.lead[2]:+.3f}]. {WANTED:.2f} at 11
            calls was aimed at: {reached}."""
        )
    text = f"""Halves by the last digit of a question's fingerprint. On each half four ensembles
    (mean rank, logistic regression on ranks, extremely randomised trees, boosted trees) are
    compared by cross-validation, the best is fitted, and the other half is read; both ways, and the
    mean of the two. Inputs: gamma, five rivals and the length, from the original answer and ten
    others of one kind, 11
    calls{" and, without a further call, token probabilities of the original" if more else ""}. The
    single number is the best of the inputs on the half that chooses. 95% intervals over questions.
    Which line of the table is the best is hindsight."""
    heads = ("source", "others", "inputs", "chosen", "ensemble", "best single", "its AUROC", "lead")
    section = Section("Ensembles on halves", text, grid=Grid(heads, tuple(lines)))
    return Told(section, tuple(verdict))


def _line(source: str, words: str, name: str, found: Fitted) -> tuple[str, ...]:
    chosen = " / ".join(dict.fromkeys(found.chosen))
    singles = " / ".join(dict.fromkeys(found.rivals))
    lead = f"{found.lead[0]:+.3f} [{found.lead[1]:+.3f}, {found.lead[2]:+.3f}]"
    return source, words, name, chosen, shown(*found.ensemble), singles, shown(*found.rival), lead


def by_kind(parts: Sequence[Scored]) -> Told:
    """Mean gamma by kind of character, and what unicode has more than control characters."""
    rows, verdict = [], []
    for scored in parts:
        means = {group: mean_of(scored.gamma(group)) for group in scored.groups()}
        rows += [Row(f"{scored.source}: {group}", mean) for group, mean in means.items()]
        step = scored.gamma("unicode") - scored.gamma("control")
        low, high = (float(end) for end in Moments.of(step).interval())
        more = "more than" if low > 0 else "less than" if high < 0 else "not told from"
        verdict.append(
            f"""{scored.source}: gamma is {means["unicode"]} with printable characters of any script
            and {means["control"]} with control characters, a difference of
            {float(step.mean()):+.3f} [{low:+.3f}, {high:+.3f}]: {more} ASCII's; typos move answers
            by {means["typos"]}, and asking again at temperature 1 by {means["resample"]}."""
        )
    text = """Mean gamma over the same 200 questions of a source, ten prompts each, by what is put
    into the prompt: 1 to 3 characters at its end (control: ASCII 1 to 31; unicode: printable ones
    of any script; whitespace; zero_width), slips of the finger, letters in the other case; sampled
    ones beside them."""
    return Told(Section("Gamma by kind of character", text, tuple(rows)), tuple(verdict))


def lengths(whole: Sequence[Scored]) -> Told:
    """The magnitude |a − mean| in place of the angle."""
    rows, verdict = [], []
    for scored in whole:
        for group, words in MAIN.items():
            pairs = scored.rivals(group)["mean pairwise cosine"]
            length = magnitudes(scored.gamma(group), pairs, scored.others)
            one, other = (
                auroc_interval(values, scored.wrong) for values in (length, scored.gamma(group))
            )
            rho = float(spearmanr(length, scored.gamma(group)).statistic)
            rows.append((scored.source, words, shown(*one), shown(*other), f"{rho:.3f}"))
            if group == "resample":
                verdict.append(
                    f"""{scored.source}: |answer − mean| has an AUROC of {shown(*one)} where the
                    angle has {shown(*other)} (asked again; rank correlation of the two
                    {rho:.2f})."""
                )
    text = """The paper's notes leave open whether γ is to be an angle or a magnitude. The length of
    the original's vector less the mean of the others' follows from what is kept: the angle gives
    the cosine with the mean, the mean cosine of all pairs the mean's length. AUROC for wrong
    answers."""
    heads = ("source", "others", "magnitude", "angle", "rank correlation")
    return Told(Section("Angle or magnitude", text, grid=Grid(heads, tuple(rows))), tuple(verdict))


def reworded(whole: Sequence[Scored]) -> Told:
    """Right answers whose gamma is as large as that of wrong ones."""
    lines, verdict = [], []
    for scored in whole:
        values, wrong = scored.gamma("control"), scored.wrong
        middle = float(np.median(values[wrong]))
        high = Rate.of(int((values[~wrong] > middle).sum()), int((~wrong).sum()))
        steady = values < STEADY
        right = Rate.of(int((steady & ~wrong).sum()), int(steady.sum()))
        base = Rate.of(int((~wrong).sum()), len(wrong))
        lines.append((scored.source, str(high), str(right), str(base)))
        verdict.append(
            f"""{scored.source}: {high} of right answers have a larger gamma (control characters)
            than half of the wrong ones; of answers in the paper's trustworthy band (below {STEADY})
            {right} are right, of all {base}."""
        )
    text = """Where a right answer comes in other words every time, gamma is large; where a wrong
    one comes every time, it is small. Both for the paper's control characters."""
    above, band = "right, above the wrong ones' median", "right in the band below 0.1"
    grid = Grid(("source", above, band, "right of all"), tuple(lines))
    section = Section("Right and unsteady, wrong and steady", text, grid=grid)
    return Told(section, tuple(verdict))


def likelihoods(whole: Sequence[Scored], known: Known) -> Told:
    """Token probabilities and p(True), beside gamma."""
    lines, verdict = [], []
    for scored in whole:
        columns = likelihoods_of(scored, {k: dict(v) for k, v in known.items()})
        here = np.isfinite(columns[LIKELIHOODS[0]])
        wrong = scored.wrong[here]
        areas = {}
        for name in LIKELIHOODS:
            areas[name] = auroc_interval(columns[name][here], wrong)
            price = "2" if name == LIKELIHOODS[4] else "1"
            lines.append((scored.source, name, price, str(len(wrong)), shown(*areas[name])))
        gamma = scored.gamma("resample")[here]
        own = shown(*auroc_interval(gamma, wrong))
        lines.append((scored.source, "gamma, asked again", "11", str(len(wrong)), own))
        log = columns[LIKELIHOODS[0]][here]
        steady = {
            words: float(spearmanr(log[mine], scored.gamma("control")[here][mine]).statistic)
            for words, mine in (("wrong", wrong), ("right", ~wrong))
        }
        best = max(LIKELIHOODS, key=lambda name: areas[name].value)
        verdict.append(
            f"""{scored.source}: of what the model says itself {best} is best with
            {shown(*areas[best])}, p(True) has {shown(*areas[LIKELIHOODS[4]])}; gamma from ten
            further answers has {shown(*auroc_interval(gamma, wrong))}. Steady wrong answers are
            those the model finds likely: among wrong ones the rank correlation of −mean log p with
            gamma is {steady["wrong"]:+.2f}, among right ones {steady["right"]:+.2f}."""
        )
    text = """The original answers made again, greedily, by the same network on a processor, with
    the probabilities of their tokens; p(True) asks the model whether the proposed answer is true,
    one call more. All are turned so that larger means less trust; AUROC for wrong answers."""
    heads = ("source", "number", "calls", "questions", "AUROC")
    section = Section("What the model says of its answers", text, grid=Grid(heads, tuple(lines)))
    return Told(section, tuple(verdict))
