"""The page: what predicts that a decision about an image will not last."""

from __future__ import annotations

import math
from pathlib import Path

from anharmonic.reproduce.images.contest import FEW, MARGIN, Contest
from anharmonic.reproduce.images.measurements import read_measurements
from anharmonic.reproduce.images.outcome import flips_found
from anharmonic.reproduce.images.ranking import Interval
from anharmonic.reproduce.images.reduced import few_photos
from anharmonic.reproduce.images.scoring import RECOMMENDED, known_scores
from anharmonic.reproduce.images.tables import sections
from anharmonic.reproduce.page import Page, Tell, silent

__all__ = ["image_stability"]

WANTED = 0.9
CLAIM = """Climbing gamma changes an image's class in a few steps, and P·exp(−N·gamma), from one
probability and one gamma, tells which images are stable (section 5, Figs. 3 to 5; supplement,
Table 1)."""


def image_stability(
    data: Path, seed: int = 0, tell: Tell = silent, model: str | None = None
) -> Page:
    """The page from measurements in a folder (.npz), or from a few of its photos measured now."""
    saved = model is None and data.is_dir() and any(data.glob("*.npz"))
    found = read_measurements(data) if saved else [few_photos(data, model, seed, tell)]
    tell("ranking every score against every label …")
    contest = Contest(found, seed)
    title = "Which decisions about images last?"
    return Page("images", title, CLAIM, sections(contest), _verdict(contest), seed, "--data DIR")


def _verdict(contest: Contest) -> tuple[str, ...]:
    if all(math.isnan(rank.value) for rank in contest.ranks(MARGIN, contest.halves[0])):
        return ("Too few photos: on the half to choose on, all are stable or none is.",)
    return (_half(contest), _above_margin(contest), _paper(contest), _price(contest))


def _half(contest: Contest) -> str:
    best, first = contest.ordered[0]
    lowest, margin = (contest.worst(each, contest.halves[1]) for each in (best, MARGIN))
    reached = "reached" if lowest >= WANTED else "not reached"
    known = " (this is `nstep_robustness(kind='sway')`)" if best.name == RECOMMENDED else ""
    return f"""Chosen on one half of the photos, among {len(contest.ordered)} ways with at most
        {FEW} queries: {best}{known}. Its smallest AUROC over networks and labels was {first:.3f}
        there, and is {lowest:.3f} on the other half, where the margin's is {margin:.3f}. Aimed at,
        {WANTED:.2f} on every network and label with at most {FEW} queries: {reached}. (On all
        photos: {contest.worst(best):.3f}, the margin's {contest.worst(MARGIN):.3f}.)"""


def _above_margin(contest: Contest) -> str:
    best = contest.ordered[0][0]
    half, average = contest.gains(best, contest.halves[1])
    whole, in_all = contest.gains(best)
    reached = "reached" if _clear(half) == len(half) else "not reached"
    return f"""Above the margin on that other half by {average.signed} on average over networks and
        labels (95% interval, paired bootstrap over photos), and significantly so in
        {_clear(half)} of {len(half)} of them taken alone; aimed at, all: {reached}. On all photos,
        which includes those it was chosen on: {in_all.signed}, {_clear(whole)} of {len(whole)}."""


def _clear(gains: list[Interval]) -> int:
    return sum(gain.low > 0 for gain in gains)


def _paper(contest: Contest) -> str:
    budget = contest.allowed[-1]
    scores = {each.name: each for each in known_scores([budget])}
    metric, alone = scores["P·exp(−25·gamma), singles"], scores["softmax P"]
    said = {
        name: _span(contest.ranks(scores[name]))
        for name in ("gamma, singles", metric.name, alone.name, "margin")
    }
    gains = contest.gains(metric, rival=alone)[0]
    worse = sum(gain.high < 0 for gain in gains)
    return f"""Corrected: gamma alone says little, AUROC {said["gamma, singles"]} with {budget}
        queries. The paper's metric has {said[metric.name]}, P alone, without a further query,
        {said[alone.name]}: the metric is significantly better in {_clear(gains)} and worse in
        {worse} of {len(gains)} comparisons. The margin alone has {said["margin"]}."""


def _span(ranks: list[Interval]) -> str:
    known = [rank.value for rank in ranks if math.isfinite(rank.value)]
    return f"{min(known):.2f} to {max(known):.2f}"


def _price(contest: Contest) -> str:
    told = []
    for found in contest.found:
        climbs = flips_found(found, contest.seed)
        if "gamma" in climbs and climbs["gamma"].rate.value > 0:
            more = climbs["margin"].rate.value / climbs["gamma"].rate.value
            told.append(
                f"{found.network}: margin {climbs['margin'].share.value:.0%} of walks, gamma "
                f"{climbs['gamma'].share.value:.0%}, random {climbs['random'].share.value:.0%}; "
                f"{more:,.0f} times the flips a query"
            )
    return f"""Corrected: climbing gamma is a poor way to change a class; lowering the margin finds
        more, for less ({". ".join(told) or "no gamma ascent was made"})."""
