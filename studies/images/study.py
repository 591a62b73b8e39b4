"""The page: what predicts that a decision about an image will not last."""

from __future__ import annotations

import math
from pathlib import Path

from studies.images.choosing import ROUNDS, Choice, choice
from studies.images.contest import FEW, MARGIN, Contest
from studies.images.measurements import Measurements, read_measurements
from studies.images.outcome import flips_found
from studies.images.ranking import Interval
from studies.images.reduced import few_photos
from studies.images.scoring import RECOMMENDED, known_scores
from studies.images.tables import sections
from studies.page import Page, Tell, silent

__all__ = ["image_stability"]

WANTED = 0.9
ENOUGH = 60
"""Photos below which nothing is settled."""
NAMED = 3
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
    made = choice(contest)
    told = sections(contest, made), _verdict(contest, made)
    return Page("images", title, CLAIM, *told, seed, "--data DIR")


def _verdict(contest: Contest, made: Choice) -> tuple[str, ...]:
    if all(math.isnan(rank.value) for rank in contest.ranks(MARGIN)):
        return ("Too few photos: all are stable or none is.",)
    few = len(contest.found[0]) < ENOUGH
    settled = (f"Fewer than {ENOUGH} photos show the procedure and settle nothing.",) if few else ()
    lines = (_chosen(contest, made), _above_margin(contest, made), _paper(contest), _price(contest))
    return (*settled, *lines)


def _chosen(contest: Contest, made: Choice) -> str:
    best, worst = made.ordered[0]
    known = " (this is `nstep_robustness(kind='sway')`)" if best.name == RECOMMENDED else ""
    reached = "reached" if made.unseen.low >= WANTED else "not shown"
    names = ", ".join(str(each) for each in made.untold[:NAMED])
    untold = f"{len(made.untold)} others are not told from it" + (f" ({names})" if names else "")
    return f"""Chosen among {len(made.ordered)} ways with at most {FEW} queries: {best}{known}, in
        {made.shares.get(str(best), 0):.0%} of {ROUNDS} resamples of the photos; {untold}. Its
        smallest AUROC over networks and labels is {worst:.3f}, of which choosing adds
        {made.optimism:.3f}: {made.corrected:.3f}. On photos that had no part in choosing, what was
        chosen has {made.unseen} at worst, the margin {contest.worst(MARGIN):.3f} on all. Aimed at,
        {WANTED:.2f} on every network and label with at most {FEW} queries: {reached}."""


def _above_margin(contest: Contest, made: Choice) -> str:
    gains, average = contest.gains(made.best)
    return f"""Above the margin by {made.gain.signed} on average over networks and labels, on photos
        that had no part in choosing (95% of resamples). On all photos, which includes those it was
        chosen on: {average.signed} (paired bootstrap), and significantly so in {_clear(gains)} of
        {len(gains)} networks and labels taken alone."""


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
    gains = contest.gains(metric, alone)[0]
    worse = sum(gain.high < 0 for gain in gains)
    return f"""Corrected: gamma alone says little, AUROC {said["gamma, singles"]} with {budget}
        queries. The paper's metric has {said[metric.name]}, P alone, without a further query,
        {said[alone.name]}: the metric is significantly better in {_clear(gains)} and worse in
        {worse} of {len(gains)} comparisons. The margin alone has {said["margin"]}."""


def _span(ranks: list[Interval]) -> str:
    known = [rank.value for rank in ranks if math.isfinite(rank.value)]
    return f"{min(known):.2f} to {max(known):.2f}"


def _price(contest: Contest) -> str:
    told = [_prices(found, contest.seed) for found in contest.found]
    return f"""Corrected: climbing gamma is a poor way to change a class; lowering the margin finds
        more, for less ({". ".join(told)})."""


def _prices(found: Measurements, seed: int) -> str:
    """What walks of each kind found in one network."""
    climbs = flips_found(found, seed)
    if "gamma" not in climbs:
        return f"{found.network}: no gamma ascent was made"
    shares = ", ".join(
        f"{climb} {climbs[climb].share.value:.0%} of {climbs[climb].walks} walks"
        for climb in ("margin", "gamma", "random")
    )
    if not climbs["gamma"].rate.value:
        return f"{found.network}: {shares}"
    more = climbs["margin"].rate.value / climbs["gamma"].rate.value
    return f"{found.network}: {shares}; {more:,.0f} times the flips per query"
