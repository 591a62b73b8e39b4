"""The page's tables."""

from __future__ import annotations

import math

from studies.images.choosing import ROUNDS, Choice
from studies.images.contest import FEW, MARGIN, Contest
from studies.images.measurements import NOT_WALKED, Measurements
from studies.images.outcome import (
    accuracy,
    brier,
    budgets_left,
    flips_found,
    queries,
)
from studies.images.ranking import Interval
from studies.images.scoring import LABELS, Score, known_scores
from studies.page import Grid, Section
from studies.pictures import Dot, Picture, dots

__all__ = ["sections"]

SHOWN = 12
"""Candidates in the table; their number is told."""

AGAIN = Section(
    "Measuring again",
    """On a GPU, `python -m studies.images lite0 --photos DIR --out MEASURED` measures
    one network (also `resnet50` and `vit`, with `--weights`) and keeps every piece in
    MEASURED/NAME.npz, answers only and no pixels; `--resume` goes on from there. This page comes
    from such a folder: `anharmonic reproduce images --data MEASURED --out docs/reproduce`. Given a
    folder of photos instead, the same command measures 20 of them on this machine in some minutes,
    with EfficientNet-Lite0 where its packages are installed, or with any classifier given as
    `--model` (a transformers folder or id, or an .onnx file); 20 photos show the procedure and
    settle nothing.""",
)


def sections(contest: Contest, made: Choice) -> tuple[Section, ...]:
    """Every table, in the order of the page."""
    return (
        _networks(contest),
        *_labels(contest),
        _chosen(contest, made),
        _tested(contest, made),
        _climbs(contest),
        _chances(contest),
        AGAIN,
    )


def _networks(contest: Contest) -> Section:
    lines = []
    for each in contest.found:
        shares = [accuracy(each, top) for top in (1, 5)]
        walked = [contest.labels[each.network, name] for name in LABELS]
        lines.append(
            (
                each.network,
                str(each.facts.get("trained on", "")),
                *("–" if share is None else str(share) for share in shares),
                *(f"{int(label.unstable.sum())} of {int(label.known.sum())}" for label in walked),
                f"{queries(each):,}",
            )
        )
    headings = ("network", "trained on", "top-1", "top-5", *LABELS, "queries")
    return Section(
        "What was measured",
        f"""{len(contest.found[0])} grey photos of animals, 100×100 (they may have been trained on,
        so top-1 and top-5 are no benchmark), the paper's settings: steps of 100 grey levels on one
        pixel, within 0 to 255, logits, {_effort(contest.found[0])}. {_where(contest.found)} A photo
        is unstable if most seeds of a climb change its class: by gamma ascent (Algorithm 2) within
        25 steps, by lowering the margin within 25, and within 5; these columns count unstable
        photos among those a label is known for. {_hurried(contest.found)}
        {_trained(contest.found)}""",
        grid=Grid(headings, tuple(lines)),
        asked=sum(queries(each) for each in contest.found),
    )


def _hurried(found: list[Measurements]) -> str:
    """Whether some photos were left without a gamma ascent."""
    if not any((each.arrays["gamma/flips"][0] == NOT_WALKED).any() for each in found):
        return ""
    return """The gamma ascent costs most, and where its column counts fewer photos time ran out:
        blocks of photos were taken in random order."""


def _effort(found: Measurements) -> str:
    neighbours, seeds, directions, gamma_directions = found.facts["effort"][:4]
    return (
        f"{seeds} seed{'s' if seeds > 1 else ''}, {directions} neighbours a step "
        f"({gamma_directions} around each of {gamma_directions} for gamma), and {neighbours} "
        "neighbours or walks of each kind for the scores"
    )


def _where(found: list[Measurements]) -> str:
    facts = found[0].facts
    machine = f"{facts['device']}, precision {facts['precision']}"
    version = f", torch {facts['torch']}, {facts['date']}" if "date" in facts else ""
    return f"Run on: {machine}{version}. {facts.get('remark', '')}"


def _trained(found: list[Measurements]) -> str:
    return " ".join(
        f"""The {each.network} was trained for this page, on pictures of ten classes enlarged to
        100×100, and has {each.facts["test accuracy"]:.1%} of its test pictures right."""
        for each in found
        if "test accuracy" in each.facts
    )


Told = list[tuple[Score, list[Interval], list[Interval]]]
"""Each score's AUROC, and how much it is above the margin's, in every cell."""


def _labels(contest: Contest) -> list[Section]:
    told = [
        (score, contest.ranks(score), contest.gains(score)[0])
        for score in known_scores(contest.allowed)
    ]
    return [_label(contest, name, told) for name in LABELS]


def _label(contest: Contest, name: str, all_told: Told) -> Section:
    """A line a score, a column a network."""
    cells = [at for at, cell in enumerate(contest.cells()) if cell[1] == name]
    lines, marks = [], []
    for score, ranks, gains in all_told:
        told = [f"{ranks[at]}{_sign(score, gains[at].low, gains[at].high)}" for at in cells]
        lines.append((score.name, f"{score.queries}", *told))
        if score.queries in (0, FEW):
            marks += [
                Dot(name, score.name, each.network, *ranks[at])
                for each, at in zip(contest.found, cells, strict=True)
                if math.isfinite(ranks[at].low)
            ]
    caption = f"""AUROC and its 95% interval for {name}, with {FEW} queries a photo (margin and P:
        none). The dotted line is 0.9."""
    pictures = (
        (Picture(name.replace(" ", "-"), caption, dots(marks, "AUROC", 0.9)),) if marks else ()
    )
    return Section(
        f"Told from the others: {name}",
        """AUROC for telling unstable photos from the others, with a 95% interval (Newcombe's
        fifth method, widened to DeLong's variance); ▲ and ▼ stand where it is significantly above
        or below the margin's (a paired bootstrap, each comparison by itself). Queries are those
        beside the one at the photo.""",
        pictures=pictures,
        grid=Grid(("score", "queries", *(each.network for each in contest.found)), tuple(lines)),
    )


def _sign(score: Score, low: float, high: float) -> str:
    if score.name == MARGIN.name:
        return ""
    return " ▲" if low > 0 else " ▼" if high < 0 else ""


def _chosen(contest: Contest, made: Choice) -> Section:
    lines = []
    for score, worst in made.ordered[:SHOWN]:
        values = [rank.value for rank in contest.ranks(score)]
        known = [value for value in values if math.isfinite(value)]
        mean = sum(known) / len(known) if known else math.nan
        figures = (f"{score.queries}", f"{worst:.3f}", f"{mean:.3f}")
        behind = "" if score == made.best else made.behind[str(score)].signed
        lines.append((score.name, *figures, f"{made.shares.get(str(score), 0):.0%}", behind))
    lines.append(("margin", "0", f"{contest.worst(MARGIN):.3f}", "", "", ""))
    return Section(
        "Chosen, and how sure that is",
        f"""The best {SHOWN} of {len(made.ordered)} candidates on {len(contest.found[0])} photos, by
        their smallest AUROC over networks and labels; how often each was chosen in {ROUNDS}
        resamples of the photos, and how far it is from the best (95% interval, paired: where it
        holds 0, the two are not told apart). Every candidate sets the margin against how the
        margin changes, one step away (one-hot singles, one-hot pairs, dense pairs) or at the ends
        of random walks of 25 or 100 steps. sway: the margin over the root mean square change;
        spread, mean size, largest drop: over the standard deviation, the mean absolute change, the
        largest fall; z: the expected margin at the end over its spread; end margin, median, worst
        and end less one or two standard deviations: margins at the end.""",
        grid=Grid(
            ("candidate", "queries", "smallest AUROC", "mean AUROC", "chosen", "from the best"),
            tuple(lines),
        ),
    )


def _tested(contest: Contest, made: Choice) -> Section:
    best = made.best
    gains, average = contest.gains(best)
    lines = [
        (
            *(found.network, name, f"{int(unstable.sum())} of {len(known)}"),
            *(str(own), str(margin), gain.signed),
        )
        for (found, name, known, unstable), own, margin, gain in zip(
            contest.cells(), contest.ranks(best), contest.ranks(MARGIN), gains, strict=True
        )
    ]
    lines.append(("all", "average", "", "", "", average.signed))
    return Section(
        "The chosen one beside the margin",
        f"""{best}, beside the margin on the same photos. 95% intervals; the differences are paired.
        These photos had a part in choosing it: what is left of the difference on photos that had
        none stands among the findings.""",
        grid=Grid(
            ("network", "label", "unstable", "AUROC", "margin's", "difference"), tuple(lines)
        ),
    )


def _climbs(contest: Contest) -> Section:
    lines = [
        (
            *(found.network, climb, f"{told.walks}", str(told.share)),
            *(
                f"{told.queries:,.0f}",
                f"{told.rate.value:.3g} [{told.rate.low:.3g}, {told.rate.high:.3g}]",
            ),
        )
        for found in contest.found
        for climb, told in flips_found(found, contest.seed).items()
    ]
    return Section(
        "Flips and what they cost",
        """Walks of 25 steps that end at their first flip, two seeds a photo (the first two: a third
        gamma ascent was only made where two disagreed). Queries are a walk's average. The share's
        interval takes walks as independent; the other one is a bootstrap over photos.""",
        grid=Grid(
            ("network", "climb", "walks", "flipped", "queries", "flips in 1,000 queries"),
            tuple(lines),
        ),
    )


def _chances(contest: Contest) -> Section:
    lines = []
    for found in contest.found:
        for budget in budgets_left(found, contest.allowed[1:]):
            told = brier(found, budget)
            lines.append((found.network, f"{budget}", *(str(each) for each in told.values())))
    return Section(
        "Do the chances come true?",
        """Brier scores (mean squared distance of chance and outcome, 0 at best) of the chance that
        a random walk of 25 steps ends in another class: from one step around the photo
        (`kind="drift"`), from the ends of other walks (`kind="walks"`), and from giving everybody
        the average rate.""",
        grid=Grid(("network", "queries", "drift", "walks", "average rate"), tuple(lines)),
    )
