"""What the numbers say, in plain words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from anharmonic._core.estimate import Estimate
from anharmonic._core.settings import COMPARABLE, DRAWN
from anharmonic.measures.compare import Comparison, Difference
from anharmonic.scores import Scores

__all__ = ["WORDS", "Headline", "headline", "how_to_read", "joined", "unlike"]

WORDS = {
    "radius": "radius, in units of each feature",
    "nearest_distance": "usual distance between neighbours",
    "ball": "ball",
    "directions": "directions per turn",
    "rotations": "turns of the ball",
    "kind": "output",
    "reduction": "reduction",
    "region": "region",
    "points": "points",
    "dimension": "features that move",
    "columns": "their names",
    "kinds": "their kinds",
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
    "neighbours": "neighbours",
    "rank": "eigenvectors behind node scores",
    "components": "an output graph in parts",
    "search": "search",
    "copies": "copies among them",
    "residual": "share to which the score is known",
    "block_size": "points of a block",
    "weights_options": "settings of the weights",
    "reference_rows": "distinct rows that are weighed",
    "referenced": "weighed rows are a reference's",
}
"""What a setting is called in a table."""

ALIKE = (
    *("points", "columns"),
    *(name for name in COMPARABLE if name not in ("columns", "bounds")),
    *(name for name in DRAWN if name != "rotations"),
)
"""Settings that must agree before a difference between models means anything."""

NOISE = 3
"""A mean must be so many times what noise reads before it says something of the model."""


class Headline(NamedTuple):
    """One sentence to remember, and what stands behind it."""

    lead: str
    rest: list[str]


def unlike(models: dict[str, Scores]) -> list[str]:
    """What was not the same for all models, in words; empty when they can be compared."""
    first = next(iter(models.values())).settings
    if len({scores.metric for scores in models.values()}) > 1:
        return ["measures"]
    # What a measure adds of its own, such as weights.
    own = [name for name in first.compared if name not in (*COMPARABLE, *ALIKE)]
    differing = [
        # Columns, radius and scale go by their short names in a sentence.
        "output" if name == "kind" else name
        for name in (*ALIKE, *own)
        if any(scores.settings.differing(first, [name]) for scores in models.values())
    ]
    lengths = {len(scores) for scores in models.values()}
    return ["points", *differing] if len(lengths) > 1 and "points" not in differing else differing


def headline(models: dict[str, Scores], judged: Comparison | None) -> Headline:
    """Which model is the most harmonic, and which differences are real."""
    if len(models) == 1:
        return _alone(*next(iter(models.items())))
    if judged is None:
        return Headline(
            f"{len(models)} models that were not measured alike.",
            [
                f"Their {joined(unlike(models))} differ, so a difference between their numbers may "
                "come from that: measure them together with compare before ranking them."
            ],
        )
    best, last = judged.ranking[0], judged.ranking[-1]
    real = [{pair.smaller, pair.larger} for pair in judged.differences if pair.real]
    level = [name for name in judged.ranking if name == best or {best, name} not in real]
    rest = [_verdict(judged)]
    if judged.labelled:
        rest.insert(0, _frontier(judged))
    if {best, last} in real:
        rest.insert(0, _gap(judged, best, last))
    caution = judged.scores[best].about.caution
    return Headline(_first(judged, level), [*rest, *([caution] if caution else [])])


def how_to_read(compared: Comparison) -> list[str]:
    """What the numbers on a page mean, a sentence or two each, for those who see it first."""
    first = next(iter(compared.scores.values()))
    about, metric = first.about, compared.metric
    sentences = list(about.reading)
    if any(scores.share_of_spread for scores in compared.scores.values()):
        sentences.append(
            f"“Of the spread” is {metric} beside the outputs' spread, the usual distance of the "
            "model's answers from their mean. It has no unit: 0% is a straight line; at 100% an "
            "answer is as far from what is around it as answers usually are from one another."
        )
    if compared.at_reference:
        sentences.append(compared.reading)
    if compared.labelled:
        sentences.append(
            f"Choose by both: no other model is better in {compared.label_metric} and {metric} "
            "than one on the frontier. “Perhaps behind” means that one of the two differences may "
            "be chance."
        )
    if about.ranks:
        perfect = (
            "a perfectly harmonic model"
            if first.settings.moves
            else "a model whose answers are just what other rows say"
        )
        sentences.append(
            f"± is one standard error. “Noise reads” is what the mean would show for {perfect}: "
            "means near it say nothing."
        )
    return sentences


def _alone(name: str, scores: Scores) -> Headline:
    share = f", {scores.share_of_spread}," if scores.share_of_spread else ""
    lead = (
        f"{name} has a mean {scores.metric} of {_mean(scores)}{share} over {len(scores):,} points."
    )
    caution = [scores.about.caution] if scores.about.caution else []
    if not scores.about.ranks:
        return Headline(lead, caution)
    if scores.mean == 0:
        noise = (
            "It is harmonic at every point, as far as this radius sees."
            if scores.settings.moves
            else "At every row the answer is what other rows say."
        )
    elif not scores.mean > NOISE * scores.floor:
        noise = f"Noise alone would read {scores.floor:.2g}, so most of it may be noise."
    else:
        noise = f"Noise alone would read {scores.floor:.2g}: this is the model."
    alone = "It ranks models measured alike; alone it is a baseline."
    return Headline(lead, [noise, *caution, alone])


def _first(judged: Comparison, level: list[str]) -> str:
    count, best, metric = len(judged.scores), level[0], judged.metric
    praise = judged.scores[best].about.best
    same = {frozenset((pair.larger, pair.smaller)) for pair in judged.differences if pair.same}
    alike = all(frozenset((best, name)) in same for name in level[1:])
    within = f"the same within {100 * judged.equivalence:.4g}%"
    if len(level) == count:
        if alike:
            return f"The mean {metric} of all {count} models is {within}."
        return f"No model is told apart from the {praise} one, {best}."
    if len(level) > 1:
        how = within if alike else "and not told apart"
        return f"{joined(level)} are the {praise} of {count} models, {how}."
    mean = judged.overall(best)
    return f"{best} is the {praise} of {count} models, with a mean {metric} of {mean}."


def _frontier(judged: Comparison) -> str:
    """Who is on the frontier of score and gamma, and who is the most right."""
    edge, metric = judged.frontier, judged.label_metric
    best = max(judged.labelled, key=lambda name: judged.labelled[name].estimate.value)
    right = f"{best} has the best {metric}, {judged.labelled[best].text(judged.level)}."
    verb = "is" if len(edge) == 1 else "are"
    return f"On the frontier of {metric} and {judged.metric} {verb} {joined(edge)}. {right}"


def _gap(judged: Comparison, best: str, last: str) -> str:
    one, other = judged.overall(best), judged.overall(last)
    # What noise reads is nothing to multiply by.
    clear = one.value > NOISE * judged.counted(best).floor
    times = f", {other.value / one.value:.3g} times that of {best}" if clear else ""
    end = "largest" if judged.scores[last].fragile == "large" else "smallest"
    return f"{last} has the {end}, {other}{times}."


def _verdict(judged: Comparison) -> str:
    pairs = judged.differences
    same = [pair for pair in pairs if pair.same and not pair.real]
    unsure = [pair for pair in pairs if not pair.same and not pair.real]
    wide = f"{judged.level:.0%} intervals" + (
        ", widened for the number of pairs," if len(pairs) > 1 else ""
    )
    real = len(pairs) - len(same) - len(unsure)
    if real == len(pairs):
        what = "The difference is" if len(pairs) == 1 else f"All {len(pairs)} differences are"
        return f"{what} real: {wide} exclude 0."
    if not real:
        first = f"No difference is real: all {wide} include 0."
        return first if not same else f"{first} {_listed(same[0].verdict.capitalize(), same)}"
    parts = [f"{real} of {len(pairs)} differences are real ({wide} exclude 0)."]
    parts += [_listed(group[0].verdict.capitalize(), group) for group in (same, unsure) if group]
    return " ".join(parts)


def _listed(what: str, pairs: list[Difference]) -> str:
    names = "; ".join(f"{pair.smaller} and {pair.larger}" for pair in pairs[:4])
    return f"{what}: {names}" + (f"; and {len(pairs) - 4} more pairs." if pairs[4:] else ".")


def _mean(scores: Scores) -> str:
    return str(Estimate(scores.mean, scores.error))


def joined(words: Iterable[object]) -> str:
    """Words with commas, and "and" before the last."""
    listed = [str(word) for word in words]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
