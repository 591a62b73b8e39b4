"""Copies: rows that stand in the reference more than once, and new rows that are in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Integers
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Severity, percent
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import share_above, share_of, sum_above
from anharmonic.auditing.wording import column_named
from anharmonic.measures.over_data.distinct import row_keys

__all__ = ["check_duplicates"]

NAME, TITLE = "duplicates", "Duplicated rows"
LEAST, SEVERE = 0.01, 0.05
"""The share of copied rows, beyond what chance explains, from which it matters."""
NATURAL = 0.5
"""Rows that agree in all columns but one agree in that one too, at most so often, by nature."""


class Twins(NamedTuple):
    """Which rows of each side have a twin in the reference, (rows,)."""

    reference: NDArray[np.bool_]
    new: NDArray[np.bool_]


def check_duplicates(context: Context) -> CheckResult:
    """Exact copies, within the reference and between it and the new rows.

    Rows of few levels agree by nature. Two things tell copies from that. Both sides drawn alike,
    natural twins fall on the two sides like any rows: copies made within the reference lie in it
    alone, and those made from it to the new rows on both sides, more often than that. And natural
    twins agree in a column that is hard to guess no more often than rows that are alike in the
    others do.
    """
    words = context.encoded.words()
    keys = row_keys(words, context.seed)
    known, new = keys[context.new_count :], keys[: context.new_count]
    twins = _twins(known, new)
    sided = _one_sided(known, new)
    column, agreed, alike = _hardest(context, known)
    shares = float(twins.reference.mean()), float(twins.new.mean()) if len(new) else 0.0
    natural = share_above(agreed, alike, NATURAL)
    candidates = []
    rows = _extra(known)
    # Copies within the reference: more twins there than new rows have.
    excess = rows.mean() - (shares[1] if len(new) else 0.0) / 2
    if excess >= LEAST:
        candidates.append(
            _within(rows, shares[1], len(new), min(1.0, 2 * min(sided[0], natural)), column)
        )
    if len(new) and shares[1] - shares[0] >= LEAST:
        candidates.append(_between(twins.new, shares[0], min(1.0, 2 * min(sided[1], natural))))
    elif len(new) and shares[1] >= LEAST and natural < sided[1] and not candidates:
        candidates.append(_between(twins.new, 0.0, min(1.0, 2 * natural)))
    summary = f"{percent(shares[0])} of the reference rows have an exact copy among the others" + (
        f", and {percent(shares[1])} of the new rows are in the reference." if len(new) else "."
    )
    return CheckResult(NAME, TITLE, summary, tuple(candidates), tests=2 if len(new) else 1)


def _twins(known: Integers, new: Integers) -> Twins:
    different, place, counts = np.unique(known, return_inverse=True, return_counts=True)
    return Twins(counts[place.reshape(-1)] > 1, np.isin(new, different))


def _extra(known: Integers) -> NDArray[np.bool_]:
    """Which rows of the reference copy an earlier one, (rows,)."""
    _, first = np.unique(known, return_index=True)
    extra = np.ones(len(known), dtype=bool)
    extra[first] = False
    return extra


def _one_sided(known: Integers, new: Integers) -> tuple[float, float]:
    """The chance of so many kinds of twins in the reference alone, and of so many on both sides.

    Under exchange of rows all t rows of a kind are in the reference with the chance ρᵗ and among
    the new rows with (1−ρ)ᵗ, ρ the reference's share of all rows. Copies within the reference put
    kinds into it; they also raise ρ, so that more kinds than that are among the new rows alone,
    which counts a half: whole, it is better where nearly all rows have twins, and worse elsewhere.
    """
    if not len(new):
        return 1.0, 1.0
    _, place = np.unique(np.concatenate([known, new]), return_inverse=True)
    place = place.reshape(-1)
    kinds = int(place.max()) + 1
    inside = np.bincount(place[: len(known)], minlength=kinds)
    total = inside + np.bincount(place[len(known) :], minlength=kinds)
    several = total > 1
    inside, total = inside[several], total[several]
    share = len(known) / (len(known) + len(new))
    sizes, counts = np.unique(total, return_counts=True)
    here, there = share**sizes, (1 - share) ** sizes
    both = 1 - here - there
    copied = 2 * (inside == total).sum() + (inside == 0).sum()
    mixed = ((inside > 0) & (inside < total)).sum()
    return (
        sum_above(int(copied), counts, np.stack([both, there, here], axis=1)),
        sum_above(int(mixed), counts, np.stack([1 - both, both], axis=1)),
    )


def _hardest(context: Context, known: Integers) -> tuple[str, int, int]:
    """The column that tells natural twins from copies best, and how often twins agree in it.

    Of pairs of rows that agree in all columns but one, the share that agrees in that one too; the
    least of all columns. As hits and a count: pairs of one kind of row are no independent
    evidence, so that there are no more of them than half of the rows.
    """
    words = context.encoded.words()[context.new_count :]
    agreed = _pairs(known)
    name, alike = context.names[0], agreed
    if words.shape[1] > 1:
        others = [
            _pairs(row_keys(np.delete(words, place, axis=1), context.seed))
            for place in range(words.shape[1])
        ]
        place = int(np.argmax(others))
        name, alike = context.names[place], others[place]
    count = min(alike, int(_twins(known, known[:0]).reference.sum()) // 2)
    return name, round(agreed / max(1, alike) * count), count


def _pairs(keys: Integers) -> int:
    """How many pairs of rows are alike."""
    _, counts = np.unique(keys, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _within(
    rows: NDArray[np.bool_], across: float, new: int, chance: float, column: str
) -> Finding:
    share = share_of(int(rows.sum()), len(rows))
    severity: Severity = "high" if share.low >= SEVERE else "medium"
    compared = (
        f"Of the {new:,} new rows {percent(across)} are in the reference: copies by nature would "
        "be as frequent there."
        if new
        else f"Rows that are alike in all columns but {column_named(column)} would mostly differ "
        "in it."
    )
    return Finding(
        check=NAME,
        name="Duplicated rows",
        severity=severity,
        subject="the reference",
        what=f"In the reference, {share} of the rows are exact copies of earlier ones.",
        comparison=compared,
        next_step=(
            "Drop the copies before fitting and before any split: a row on both sides of a split "
            "makes a score too good."
        ),
        measured=share,
        chance=chance,
        rows=tuple(np.flatnonzero(rows)[:20].tolist()),
        side="reference",
        picture=_picture("copies in the reference", share.value, share.low, share.high, across),
    )


def _between(rows: NDArray[np.bool_], within: float, chance: float) -> Finding:
    share = share_of(int(rows.sum()), len(rows))
    severity: Severity = "high" if share.low >= SEVERE else "medium"
    return Finding(
        check=NAME,
        name="New rows that are in the reference",
        severity=severity,
        subject="the new rows",
        what=f"Of the new rows, {share} are exact copies of reference rows.",
        comparison=(
            f"Of the reference rows {percent(within)} have a copy among the others: by nature the "
            "new rows would have as many."
        ),
        next_step=(
            "Leave these rows out of every score: the model has seen them, and a score over them "
            "says nothing about new ones."
        ),
        measured=share,
        chance=chance,
        rows=tuple(np.flatnonzero(rows)[:20].tolist()),
        side="new",
        picture=_picture("new rows in the reference", share.value, share.low, share.high, within),
    )


def _picture(name: str, value: float, low: float, high: float, other: float) -> Picture:
    bars = (Bar(name, value, low, high, "subject"), Bar("by nature", other))
    return Picture("dots", "Share of rows that are copies", unit="share", bars=bars)
