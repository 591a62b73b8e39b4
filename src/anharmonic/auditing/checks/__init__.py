"""The checks of an audit, one function each from the `Context` to what it saw."""

from collections.abc import Callable

from anharmonic.auditing.checks.accuracy import check_accuracy
from anharmonic.auditing.checks.answering import check_failures, check_repeats
from anharmonic.auditing.checks.dead import check_dead
from anharmonic.auditing.checks.drift import check_drift
from anharmonic.auditing.checks.duplicates import check_duplicates
from anharmonic.auditing.checks.fragile import check_fragile
from anharmonic.auditing.checks.labels import check_labels
from anharmonic.auditing.checks.leak import check_leak
from anharmonic.auditing.checks.leaning import check_leaning
from anharmonic.auditing.checks.memorising import check_memorising
from anharmonic.auditing.checks.rounding import check_rounding
from anharmonic.auditing.checks.segments import check_segments
from anharmonic.auditing.checks.stretching import check_attacks, check_stretching
from anharmonic.auditing.checks.unseen import check_range, check_unseen
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult

__all__ = ["CHECKS"]

CHECKS: dict[str, Callable[[Context], CheckResult]] = {
    "failures": check_failures,
    "repeats": check_repeats,
    "rounding": check_rounding,
    "unseen": check_unseen,
    "range": check_range,
    "drift": check_drift,
    "duplicates": check_duplicates,
    "leak": check_leak,
    "labels": check_labels,
    "memorising": check_memorising,
    "accuracy": check_accuracy,
    "dead region": check_dead,
    "segments": check_segments,
    "fragile": check_fragile,
    "leaning": check_leaning,
    "stretching": check_stretching,
    "attacks": check_attacks,
}
"""By name, in the order they are run."""
