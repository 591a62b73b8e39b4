"""What `fix` was given, looked at before any work."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from anharmonic.errors import SettingsError
from anharmonic.fixes.capacity import Grid
from anharmonic.fixes.copies import are_texts_alone, with_keys, without_copies_of
from anharmonic.fixes.result import KINDS, Kind
from anharmonic.fixes.rows import Data, with_columns_of

__all__ = ["check_settings", "compared_tables", "left_out_before"]


def compared_tables(
    reference: object, labels: object, held_out: tuple[object, object] | None, seed: int
) -> tuple[Data, Data | None, list[str]]:
    """Both tables with what tells copies, held-out rows that the reference has left out, and notes
    that say so.
    """
    training = Data.of(reference, labels, "reference")
    if held_out is None:
        return with_keys([training], seed)[0], None, []
    rows = with_columns_of(reference, held_out[0], "held-out table")
    given = Data.of(rows, held_out[1], "held-out table")
    training, given = with_keys([training, given], seed)
    apart = without_copies_of(training, given)
    if len(apart) == len(given):
        return training, apart, []
    note = (
        f"{len(given) - len(apart):,} of {len(given):,} held-out rows are copies of reference "
        "rows and were left out."
    )
    return training, apart, [note]


def left_out_before(
    estimator: Any | None,
    training: Data,
    pool: object,
    grid: Grid | None,
    kinds: Collection[Kind],
) -> dict[Kind, str]:
    """Kinds that cannot be tried, known before any work."""
    reasons: dict[Kind, str] = {}
    if pool is None:
        reasons["label"] = "give pool=<rows without labels>"
    if estimator is None:
        reasons["capacity"] = "the model cannot be fitted anew: give a scikit-learn estimator"
    elif grid is None:
        reasons["capacity"] = (
            f"which parameter limits {type(estimator).__name__} is not known: give grid={{name: "
            "values}"
        )
    reasons |= _left_out_of_texts(training, kinds)
    return {kind: why for kind, why in reasons.items() if kind in kinds}


def _left_out_of_texts(training: Data, kinds: Collection[Kind]) -> dict[Kind, str]:
    """Kinds that compare rows with one another, where these are texts alone."""
    comparing: tuple[Kind, ...] = ("look", "region", "capacity")
    if not set(kinds) & set(comparing) or not are_texts_alone(training.rows):
        return {}
    why = (
        "rows are compared for it, and texts that differ in every row cannot be: give vectors of "
        "the texts as rows, and an estimator of vectors"
    )
    return {kind: why for kind in comparing if kind in kinds}


def check_settings(
    kinds: Collection[Kind], count: int, error_rate: float, tolerance: float, folds: int
) -> None:
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds or isinstance(kinds, str):
        raise SettingsError(f"kinds={kinds!r}: give some of {', '.join(KINDS)}")
    if count < 1 or folds < 2:
        raise SettingsError("count is at least 1, folds at least 2")
    if not (0 < error_rate < 0.5 and tolerance >= 0):
        raise SettingsError("error_rate lies between 0 and 0.5, tolerance is at least 0")
