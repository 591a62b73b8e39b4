"""`fix`: what would make a model better, each proposal measured before it is made."""

from __future__ import annotations

from collections.abc import Callable, Collection

from anharmonic.errors import AnharmonicError, InputError
from anharmonic.fixes.capacity import Grid, check_grid, fitting, grid_for
from anharmonic.fixes.checking import check_settings, compared_tables, left_out_before
from anharmonic.fixes.holding_out import cut_folds
from anharmonic.fixes.proposing_labels import propose_labels
from anharmonic.fixes.proposing_looking import propose_looking
from anharmonic.fixes.proposing_models import propose_capacity
from anharmonic.fixes.proposing_region import propose_region
from anharmonic.fixes.proposing_smoothing import propose_smoothing
from anharmonic.fixes.refitting import estimator_in
from anharmonic.fixes.result import KINDS, Fixes, Kind, Proposal
from anharmonic.fixes.rows import with_columns_of
from anharmonic.fixes.trial import Trial, begin_trial
from anharmonic.models import as_model

__all__ = ["fix"]

FOLDS = 8
COUNT = 100
"""Rows to label, if not told."""
TESTS: dict[Kind, int] = {"label": 1, "look": 1, "region": 1, "capacity": 2, "smooth": 2}
"""Intervals that may say that a proposal helps: a better score, or steadiness at an equal one."""

Stages = Callable[[str], None]
"""Called with the name of every stage as it begins."""


def fix(
    model: object,
    reference: object,
    labels: object,
    *,
    pool: object = None,
    held_out: tuple[object, object] | None = None,
    kinds: Collection[Kind] = tuple(KINDS),
    count: int = COUNT,
    grid: Grid | None = None,
    metric: str | None = None,
    error_rate: float = 0.05,
    tolerance: float = 0.01,
    folds: int = FOLDS,
    seed: int = 0,
    trust: bool = False,
    progress: Stages | None = None,
) -> Fixes:
    """What would make a model better: each proposal measured on held-out rows, with an interval.

    Parameters
    ----------
    model
        A scikit-learn estimator or pipeline, fitted or not, which is fitted anew to parts of the
        reference; or anything else that `as_model` takes, which is only asked.
    reference, labels
        Training rows as they came, and a label for each.
    pool
        Rows without labels, to choose from what to label next.
    held_out
        (rows, labels) that the model has not seen. A model that cannot be fitted anew needs them;
        for others the reference is cut into folds if they are not given. Copies of reference rows
        among them are left out.
    kinds
        What to try: "label" (rows of the pool to label), "look" (training rows to look at),
        "region" (a region that lacks data), "capacity" (another capacity or penalty), "smooth".
    count
        How many rows to label.
    grid
        Values of parameters to try for "capacity", as in `GridSearchCV`; one parameter that
        limits the estimator, if not given.
    metric
        "accuracy" (for classes, if not told), "brier", "log_loss"; "r2" for numbers.
    error_rate
        The chance that any proposal says it helps and does not, over all of them.
    tolerance
        How much of the score a proposal may give up to make the model steadier.
    folds
        Parts of the reference that are held out in turn.
    seed
        Of all that is random.
    trust
        Whether to read model files whose reading can run code.
    progress
        Called with the name of every stage as it begins; `print` will do.

    Returns
    -------
    Fixes
        `proposals` help by their intervals; `tried` has the others too, `left_out` what could not
        be tried and why.

    Notes
    -----
    Everything that a proposal needs (rows, regions, values) is found on some folds and measured on
    another, so that its gain is that of the procedure on rows that it has not seen. Intervals are
    as wide as the number of tests asks for (Bonferroni). A model that cannot be fitted anew is
    told which rows to label, to look at and where more are needed, but what these bring is not
    measured then, and none of it is said to help.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rows = np.random.default_rng(0).normal(size=(300, 2))
    >>> labels = (rows[:, 0] > 0) ^ (np.random.default_rng(1).random(300) < 0.2)
    >>> fixes = fix(DecisionTreeClassifier(random_state=0), rows, labels, kinds=["look"])
    >>> fixes["look"].helps, fixes.error_rate
    (True, 0.05)
    """
    tell = progress or _silent
    check_settings(kinds, count, error_rate, tolerance, folds)
    given, estimator = estimator_in(model, trust)
    training, apart, notes = compared_tables(reference, labels, held_out, seed)
    if pool is not None:
        pool = with_columns_of(reference, pool, "pool")
    if estimator is None and apart is None:
        raise InputError(
            f"{as_model(given, trust=trust).name} cannot be fitted anew, so proposals are measured "
            "on rows it has not seen: give held_out=(rows, labels), or a scikit-learn estimator"
        )
    own_grid = None if estimator is None or grid else grid_for(estimator)
    left_out = left_out_before(estimator, training, pool, grid or own_grid, kinds)
    tried = [kind for kind in KINDS if kind in kinds and kind not in left_out]
    if grid and "capacity" in tried:
        check_grid(estimator, grid)
    tests = sum(TESTS[kind] for kind in tried)
    cut = cut_folds(training, apart, folds, seed)
    tell(f"fitting and asking the model on {len(cut)} part{'s' if len(cut) > 1 else ''}")
    asked = given if estimator is not None else as_model(given, trust=trust)
    trial = begin_trial(
        asked,
        estimator,
        training,
        cut,
        pool=pool,
        metric=metric,
        level=1 - 2 * error_rate / max(1, tests),
        tolerance=tolerance,
        count=count,
        seed=seed,
    )
    proposals: list[Proposal] = []
    for kind in tried:
        tell(KINDS[kind])
        try:
            proposals.append(_proposed(kind, trial, grid, own_grid))
        except AnharmonicError as problem:
            left_out[kind] = str(problem)
    return Fixes(
        proposals,
        left_out,
        error_rate,
        _name(asked),
        str(trial.scoring),
        notes=notes,
        first_queries=trial.first_queries,
        first_refits=trial.first_refits,
    )


def _proposed(kind: Kind, trial: Trial, grid: Grid | None, own_grid: Grid | None) -> Proposal:
    match kind:
        case "label":
            return propose_labels(trial)
        case "look":
            return propose_looking(trial)
        case "region":
            return propose_region(trial)
        case "capacity":
            parts = [trial.reference, *(fold.found_on for fold in trial.folds)]
            own = fitting(own_grid or {}, trial.estimator, parts)
            return propose_capacity(trial, grid or own)
        case "smooth":
            return propose_smoothing(trial)


def _name(model: object) -> str:
    return str(getattr(model, "name", type(model).__name__))


def _silent(stage: str) -> None:
    """Say nothing."""
