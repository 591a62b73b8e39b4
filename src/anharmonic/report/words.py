"""What the numbers say, in plain words."""

from __future__ import annotations

from typing import Any, NamedTuple

from anharmonic._core.estimate import Estimate
from anharmonic.measures.compare import Comparison, Difference
from anharmonic.scores import Scores

__all__ = ["Headline", "headline", "joined", "unlike"]

ALIKE = {
    "points": "points",
    "columns": "columns",
    "kind": "output",
    "reduction": "reduction",
    "radius": "radius",
    "scale": "scale",
    "ball": "ball",
    "directions": "directions",
    "seed": "seed",
}
"""Settings that must agree before a difference between models means anything."""


NOISE = 3
"""A mean must be so many times what noise reads before it says something of the model."""


class Headline(NamedTuple):
    """One sentence to remember, and what stands behind it."""

    lead: str
    rest: list[str]


def unlike(models: dict[str, Scores]) -> list[str]:
    """What was not the same for all models, in words; empty when they can be compared."""
    every = list(models.values())
    differing = [
        word
        for name, word in ALIKE.items()
        if any(scores.settings.differing(every[0].settings, [name]) for scores in every)
    ]
    lengths = {len(each) for each in every}
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
    real = [{each.smaller, each.larger} for each in judged.differences if each.real]
    level = [name for name in judged.ranking if name == best or {best, name} not in real]
    rest = [_verdict(judged)]
    if judged.at_reference:
        rest.append(
            "Each model counts with the larger of its means at these points and at the reference "
            "points: memorising may show at either."
        )
    if {best, last} in real:
        rest.insert(0, _gap(judged, best, last))
    return Headline(_first(judged, level), rest)


def _alone(name: str, scores: Scores) -> Headline:
    lead = f"{name} has a mean {scores.metric} of {_mean(scores)} over {len(scores):,} points."
    if scores.mean == 0:
        noise = "It is harmonic at every point, as far as this radius sees."
    elif not scores.mean > NOISE * scores.floor:
        noise = f"Noise alone would read {scores.floor:.2g}, so most of it may be noise."
    else:
        noise = f"Noise alone would read {scores.floor:.2g}: this is the model."
    return Headline(lead, [noise, "It ranks models measured alike; alone it is a baseline."])


def _first(judged: Comparison, level: list[str]) -> str:
    many, best, metric = len(judged.scores), level[0], judged.metric
    praise = "most harmonic" if metric == "gamma" else "least fragile"
    same = {frozenset((each.larger, each.smaller)) for each in judged.differences if each.same}
    alike = all(frozenset((best, name)) in same for name in level[1:])
    within = f"the same within {100 * judged.equivalence:.4g}%"
    if len(level) == many:
        if alike:
            return f"The mean {metric} of all {many} models is {within}."
        return f"No model is told apart from the {praise} one, {best}."
    if len(level) > 1:
        how = within if alike else "and not told apart"
        return f"{joined(level)} are the {praise} of {many} models, {how}."
    mean = judged.overall(best)
    return f"{best} is the {praise} of {many} models, with a mean {metric} of {mean}."


def _gap(judged: Comparison, best: str, last: str) -> str:
    one, other = judged.overall(best), judged.overall(last)
    # What noise reads is nothing to multiply by.
    clear = one.value > NOISE * judged.counted(best).floor
    times = f", {other.value / one.value:.3g} times that of {best}" if clear else ""
    end = "largest" if judged.scores[last].fragile == "large" else "smallest"
    return f"{last} has the {end}, {other}{times}."


def _verdict(judged: Comparison) -> str:
    found = judged.differences
    same = [each for each in found if each.same and not each.real]
    unsure = [each for each in found if not each.same and not each.real]
    wide = f"{judged.level:.0%} intervals" + (
        ", widened for the number of pairs," if len(found) > 1 else ""
    )
    real = len(found) - len(same) - len(unsure)
    if real == len(found):
        what = "The difference is" if len(found) == 1 else f"All {len(found)} differences are"
        return f"{what} real: {wide} exclude 0."
    if not real:
        first = f"No difference is real: all {wide} include 0."
        return first if not same else f"{first} {_listed(same[0].verdict.capitalize(), same)}"
    parts = [f"{real} of {len(found)} differences are real ({wide} exclude 0)."]
    parts += [_listed(pairs[0].verdict.capitalize(), pairs) for pairs in (same, unsure) if pairs]
    return " ".join(parts)


def _listed(what: str, pairs: list[Difference]) -> str:
    few = "; ".join(f"{each.smaller} and {each.larger}" for each in pairs[:4])
    return f"{what}: {few}" + (f"; and {len(pairs) - 4} more pairs." if pairs[4:] else ".")


def _mean(scores: Scores) -> str:
    return str(Estimate(scores.mean, scores.error))


def joined(words: list[Any]) -> str:
    """Words with commas, and "and" before the last."""
    listed = [str(word) for word in words]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
