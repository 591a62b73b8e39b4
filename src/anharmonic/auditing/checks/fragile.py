"""Fragile decisions: those that change when a row is measured again a little differently."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import above, ratio_of, share_of
from anharmonic.auditing.yardsticks import Yardstick
from anharmonic.errors import AnharmonicError, first_line
from anharmonic.measures.baselines import flip_rate
from anharmonic.measures.over_data.encoding_further import encode_further
from anharmonic.measures.setup.settling import settle
from anharmonic.models import as_model
from anharmonic.regions import Region, unmoved
from anharmonic.scores import Scores

__all__ = ["check_fragile", "flip_chances"]

NAME, TITLE = "fragile", "Fragile decisions"
WORSE = 1.5
"""How many times the decisions of a quick model change, from which it matters."""
LEAST = 0.02
"""And by how much of all neighbours at least."""
FRAGILE = 0.25
"""A chance to flip from which a decision is fragile."""
REFERENCE = 1_000
"""Reference rows that say how far neighbours are."""


def flip_chances(hits: Integers, count: int) -> tuple[Floats, Floats]:
    """The chance of each decision to flip, and the chance that it is `FRAGILE` or more.

    Each row's share of neighbours with another decision, drawn towards what all rows have in
    common: a beta law fitted to the shares (its first two moments), then Bayes.
    """
    shares = hits / count
    mean = min(max(float(shares.mean()), 1e-4), 1 - 1e-4)
    # Var(share) = m(1−m)·(1 + (n−1)ρ)/n, with ρ = 1/(a+b+1).
    excess = float(shares.var()) / (mean * (1 - mean))
    rho = min(max((excess * count - 1) / (count - 1), 1e-3), 0.999)
    weight = 1 / rho - 1
    a, b = mean * weight + hits, (1 - mean) * weight + count - hits
    return np.asarray(a / (a + b)), np.asarray(1 - betainc(a, b, FRAGILE))


def check_fragile(context: Context) -> CheckResult:
    """The share of close neighbours that are decided otherwise, for the model and for quick ones.

    Of the quick models that are about as good as the best one, the one whose decisions change most
    is what the model is held against: a model that is no less steady than that is not fragile.
    """
    if context.task != "classes":
        return CheckResult(NAME, TITLE, "", skipped="the model answers numbers", tests=0)
    side = context.new or context.reference
    count = min(context.plan.fragile_rows, len(side.sample))
    if count < 20:
        return CheckResult(NAME, TITLE, "", skipped="the budget leaves no queries for it", tests=0)
    random = generator(context.seed, Stream.AUDIT_FRAGILE)
    chosen = np.sort(random.choice(len(side.sample), count, replace=False))
    points, known = side.region.rows(side.sample[chosen]), _known(context)
    directions = context.plan.directions
    try:
        radius = _half_radius(context, points, known)
        own = _flips(context, context.model, points, known, radius)
    except AnharmonicError as problem:
        return CheckResult(NAME, TITLE, "", skipped=first_line(problem), tests=0)
    context.meter.queries += own.queries
    hits = np.round(own.values * directions).astype(np.int64)
    chances, surely = flip_chances(hits, directions)
    fragile = int((surely > 0.5).sum())
    share = share_of(fragile, count)
    summary = (
        f"{share} of {count:,} decisions have a chance of {FRAGILE:.0%} or more to flip when the "
        "row is measured again half as far away as its nearest neighbour."
    )
    if not context.peers:
        return CheckResult(NAME, TITLE, summary, tests=0, queries=own.queries)
    quick = [
        (peer, _flips(context, _as_function(context, peer), points, known, radius).values)
        for peer in context.peers
    ]
    least_steady, other = max(quick, key=lambda pair: float(pair[1].mean()))
    ratio = ratio_of(own.values, other)
    worse = own.values.mean() - other.mean() >= LEAST and ratio.value >= WORSE
    summary += f" Its decisions flip {ratio} as often as those of {least_steady.words}."
    finding = _finding(
        context,
        share,
        ratio,
        own.values,
        other,
        least_steady.words,
        side.sample[chosen],
        chances,
        own.queries,
    )
    return CheckResult(
        NAME, TITLE, summary, (finding,) if worse else (), tests=1, queries=own.queries
    )


def _known(context: Context) -> Region:
    """Some rows of the reference, which say how far neighbours are."""
    side = context.reference
    places = np.linspace(0, len(side.sample) - 1, min(REFERENCE, len(side.sample))).astype(int)
    return side.region.rows(side.sample[places])


def _half_radius(context: Context, points: Region, known: Region) -> float:
    """Half as far as the nearest row usually is: what `baselines.smoothed_margin` takes too."""
    moving = list(context.names) if points.is_table else None
    settled = settle(
        context.model,
        _given(points),
        reference=_given(known),
        moving=moving,
        seed=context.seed,
    )
    return settled.radius / 2


def _flips(context: Context, model: Any, points: Region, known: Region, radius: float) -> Scores:
    moving = list(context.names) if points.is_table else None
    return flip_rate(
        model,
        _given(points),
        directions=context.plan.directions,
        reference=_given(known),
        moving=moving,
        radius=radius,
        seed=context.seed,
    )


def _given(region: Region) -> Any:
    """Rows as a user hands them over."""
    if region.is_table:
        return region.source.to_native()
    return np.asarray(region.source).reshape(-1, *region.shape)


def _as_function(context: Context, yardstick: Yardstick) -> Any:
    """A yardstick as a model of the same rows."""
    earlier, rules = context.part(context.reference, sampled=False), context.encoded.rules

    def ask(points: Any) -> Floats:
        encoded = encode_further(unmoved(points), earlier)
        features = encoded.for_trees(rules) if yardstick.by_trees else encoded.for_distances(rules)
        return yardstick.predict(features)

    return as_model(ask, output="logit")


def _finding(
    context: Context,
    share: Measured,
    ratio: Measured,
    own: Floats,
    other: Floats,
    words: str,
    rows: Integers,
    chances: Floats,
    queries: int,
) -> Finding:
    order = np.argsort(-chances, kind="stable")[:20]
    return Finding(
        check=NAME,
        name="Fragile decisions",
        severity="medium",
        subject="the model's decisions",
        what=(
            f"Measured again a little differently, the model's decisions flip {ratio} as often as "
            f"those of {words}."
        ),
        comparison=(
            f"Close neighbours are decided otherwise in {own.mean():.1%} of cases, by {words}, the "
            f"least steady quick model of about the best score, in {other.mean():.1%}; {share} of "
            f"the decisions have a chance of {FRAGILE:.0%} or more."
        ),
        next_step=(
            "Have a person look at the listed rows before acting on them, and compare with a "
            "smoother model (ah.compare)."
        ),
        measured=ratio,
        chance=above(own - WORSE * other),
        queries=queries,
        rows=tuple(rows[order].tolist()),
        side="new" if context.new is not None else "reference",
        picture=Picture(
            "dots",
            "Share of close neighbours that are decided otherwise",
            unit="share",
            bars=(
                _bar("the model", own, "subject"),
                _bar(words, other, "other"),
            ),
        ),
    )


def _bar(name: str, shares: Floats, role: Any) -> Bar:
    mean, reach = float(shares.mean()), 1.96 * float(shares.std(ddof=1)) / len(shares) ** 0.5
    return Bar(name, mean, max(0.0, mean - reach), mean + reach, role)
