"""The paper's open questions: which characters, how many prompts, which unit and embedder."""

from __future__ import annotations

from collections.abc import Sequence

from anharmonic._core.estimate import Estimate
from studies.llm.headline import Headline, Told, ranked_row
from studies.llm.scored import LETTERS, MAIN
from studies.llm.scoring import PROMPTS
from studies.page import Row, Section
from studies.pictures import Curve, Picture, curves

__all__ = ["counts", "embedders", "evenness", "kinds"]

BOTH = "control, sampled"


def kinds(found: Sequence[Headline]) -> Told:
    """AUROC of gamma by the way prompts are changed, and what changing adds to sampling."""
    rows, verdict = [], []
    for each in found:
        gammas = each.gammas_of(each.scored.groups())
        rows += [ranked_row(f"{each.source}: {group}", at) for group, at in gammas.items()]
        if BOTH in gammas:
            noise = each.scored.gamma("resample")
            excess = each.ranking.of(each.scored.gamma(BOTH) - noise)
            rows.append(ranked_row(f"{each.source}: {BOTH}: excess", excess))
        values = {group: at.value for group, at in gammas.items()}
        order = sorted(values, key=values.__getitem__, reverse=True)
        step = gammas[order[0]] - gammas[order[1]]
        sure = "" if step.interval[0] > 0 else ", not to be told apart"
        verdict.append(
            f"{each.source}, {len(each.scored)} questions: by AUROC of gamma the order is "
            f"{'; '.join(order)} (the first two differ by {step.estimate}{sure})."
        )
    text = """Questions drawn at random, 200 of a source, here and below. Gamma with 10 others,
    the prompt changed in each of these ways (open question 1).
    "resample" asks the same prompt at temperature 1, "cooler" at 0.5; "control, sampled" changes
    the prompt and samples at temperature 1, and its excess is over "resample": what control
    characters add to the sampler's noise."""
    return Told(Section("Which change", text, tuple(rows)), tuple(verdict))


def evenness(found: Sequence[Headline]) -> Told:
    """How far each change moves a prompt in the embedder's space, and how evenly."""
    scored = found[0].scored
    rows = []
    for kind, moved in scored.facts.get("moved", {}).items():
        same = f"{moved['unchanged']:.0%} unchanged"
        shape = f"{moved['dimensions']:.0f} directions of {moved['even']:.0f}"
        rows += [
            Row(f"{kind}: distance", Estimate(*moved["distance"]), remark=same),
            Row(f"{kind}: drift", Estimate(*moved["drift"]), remark=shape),
        ]
    text = f"""{PROMPTS} prompts of {scored.source}, each changed ten times, embedded by MiniLM
    (open question 1). Drift is the share of the step that all changes of a prompt have in common:
    0 for a ball about the prompt, 1 where all go to the same side. The directions are those that
    the steps fill, of as many as an even ball would show. An embedder that ignores characters
    without a shape sees no step at all, though the model does."""
    return Told(Section("How evenly prompts move", text, tuple(rows)))


def counts(found: Sequence[Headline]) -> Told:
    """AUROC of gamma by the number of other answers."""
    rows, lines = [], []
    for each in found:
        for group, words in MAIN.items():
            many = each.scored.counts(group)
            ranks = [each.ranking.of(each.scored.gamma(group, count)) for count in many]
            rows += [
                ranked_row(f"{each.source}, {words}: N = {count}", at)
                for count, at in zip(many, ranks, strict=True)
            ]
            values = [at.value for at in ranks]
            errors = [at.estimate.error for at in ranks]
            lines.append(Curve(f"{each.source}, {group}", many, values, errors))
    picture = Picture(
        "counts",
        "AUROC of gamma against the number N of other answers, one standard error.",
        curves(lines, "other answers N", "AUROC of gamma"),
    )
    text = "Gamma from the first N of the same answers (open question 2)."
    return Told(Section("How many", text, tuple(rows), (picture,)))


def embedders(found: Sequence[Headline]) -> Told:
    """AUROC of gamma when letters alone are embedded; the unit changes no rank."""
    rows = []
    for each in found:
        for group, words in MAIN.items():
            other = each.ranking.of(each.scored.gamma(group, embedder=LETTERS))
            rows.append(ranked_row(f"{each.source}, {words}: character runs", other))
            step = each.gammas[group] - other
            rows.append(ranked_row(f"{each.source}, {words}: MiniLM − character runs", step))
    text = """Gamma with 10 others from a second embedder that knows no meaning: counts of runs of
    three to five characters, hashed (open question 5). The labels stay those of the main table.
    The unit, sqrt(1 − cos θ) or θ, cannot change a rank: one grows with the other."""
    return Told(Section("Which embedder and unit", text, tuple(rows)))
