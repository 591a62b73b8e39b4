"""clever: how far an attack must go at least, from the largest slope nearby."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np

from anharmonic._core.margins import by_class, labels_of
from anharmonic._core.progress import Progress, shown
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import SettingsError
from anharmonic.measures.clever.bounds import Seen, bound_rows
from anharmonic.measures.clever.pool import Pool
from anharmonic.measures.clever.result import CleverSettings
from anharmonic.measures.clever.sampling import norm_of, typical_radius
from anharmonic.measures.clever.slopes import ClassPairs, Gradients, slopes_of
from anharmonic.measures.clever.weibull import level
from anharmonic.measures.setup.batching import ModelCaller, answers
from anharmonic.measures.setup.settling import SetupArguments, settle, takes_setup
from anharmonic.measures.setup.sphere import rows_on_device
from anharmonic.scores import Scores

__all__ = ["clever"]


@takes_setup
def clever(
    model: object,
    points: object,
    *,
    norm: object = 2,
    targets: Literal["all", "top2"] | Sequence[int] = "all",
    blocks: int = 64,
    block_size: int = 32,
    gradients: Gradients = "auto",
    guide: object = None,
    count: int | None = None,
    progress: Progress = None,
    **setup: Unpack[SetupArguments],
) -> Scores:
    """CLEVER: an estimated lower bound on the distance of any attack, at every point.

    The margin between the predicted class and a target, over the largest slope of that margin
    within `radius`. The largest is where a law ends that is fitted to maxima of `blocks` blocks of
    `block_size` fresh samples each, shared by all targets, or the steepest slope that was met on a
    climb from those samples, if that is larger. A bound is never above the radius.

    - `norm`: of the attack: 1, 2 or inf. `radius`: in scaled units; "auto" is the median
      nearest-neighbour distance, for other norms the ball whose points lie as far out.
    - `targets`: "all" other classes (the bound is the smallest: untargeted), "top2" (the
      runner-up alone) or class numbers.
    - `gradients`: "torch", "differences" (central, two queries per feature, any model), or
      "auto", the first that is there.
    - `guide`: `spade` scores, or numbers, larger for points to measure first; `count` stops
      after so many. The rest hold NaN.
    - `output`, `scale`, `reference`, `moving`, `bounds` as in `gamma`. Ask for logits: saturated
      probabilities have no slope.
    - `progress`: True shows a bar; a function is called with samples taken and samples in all.

    >>> import numpy as np
    >>> weights = np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> scores = clever(lambda x: x @ weights.T, [[1.0, 0.5]], radius=2.0, scale=None)
    >>> scores.values.round(6).tolist()  # margin 5 over slope 5
    [1.0]

    Reference: Weng et al., Evaluating the Robustness of Neural Networks, ICLR 2018.
    """
    size = norm_of(norm)
    for name, number in {"blocks": blocks - 9, "block_size": block_size}.items():
        if number < 1:
            raise SettingsError(f"{name} is too small to fit a law to: leave it out")
    settled = settle(model, points, **setup)
    if setup.get("radius", "auto") == "auto":
        radius = typical_radius(size, settled.radius, settled.region.dimension)
        settled = replace(settled, radius=radius)
    caller, units = settled.caller, settled.units
    chosen = _order(guide, len(settled.region), count)
    centres = by_class(
        np.concatenate([answers(caller, at, rows)[:, 0] for at, rows in _centres(caller, chosen)]),
        settled.model.kind,
    )
    pairs = _class_pairs(centres, targets)
    slopes = slopes_of(caller, units, size, settled.radius, gradients, setup.get("batch_size"))
    pool = Pool(
        caller,
        slopes,
        size,
        settled.radius * units,
        settled.limits,
        blocks,
        block_size,
        settled.seed,
    )
    with shown(progress) as tell:
        found = pool.maxima(chosen, pairs, tell)
    sloping = (pairs.targets >= 0) & (found.slopes.max(axis=2) > 0)
    jumps = pool.jumps(chosen, pairs, found, sloping)
    bent = sloping & ~jumps & ~level(found.slopes)
    ascent = pool.ascent(chosen, pairs, found, bent)
    climbs = int(bent.sum()) * pool.gradients_per_ascent()
    settings = settled.describe(
        CleverSettings,
        norm="inf" if size == np.inf else int(size),
        targets=targets if isinstance(targets, str) else list(targets),
        blocks=blocks,
        block_size=block_size,
        gradients=len(chosen) * blocks * block_size * pairs.targets.shape[1] + climbs,
        slopes=type(slopes).__name__.lower(),
        guided=guide is not None,
    )
    looked_at = len(chosen) * blocks * block_size + climbs + pool.points_judged(sloping)
    queries = len(chosen) + looked_at * slopes.queries_a_point
    seen = Seen(centres, pairs, found.slopes, ascent, jumps)
    return bound_rows(seen, chosen, len(settled.region), queries, settings)


def _order(guide: Any, many: int, count: int | None) -> Integers:
    """Rows in the order they are measured in."""
    if count is not None and count < 1:
        raise SettingsError(f"count must be at least 1, got {count}")
    if guide is None:
        return np.arange(many)[:count]
    values = np.asarray(getattr(guide, "values", guide), dtype=np.float64)
    if values.shape != (many,):
        raise SettingsError(
            f"the guide has shape {values.shape} for {many} points: give one number for each"
        )
    known = np.where(np.isfinite(values), values, -np.inf)
    return np.argsort(-known, kind="stable")[:count].astype(np.int64)


def _centres(caller: ModelCaller, rows: Integers) -> Any:
    for begin in range(0, len(rows), 4096):
        part = rows[begin : begin + 4096]
        yield rows_on_device(caller, part)[:, None], part


def _class_pairs(centres: Floats, targets: Any) -> ClassPairs:
    """Predicted classes and their rivals."""
    classes = labels_of(centres)
    many = centres.shape[1]
    every = np.broadcast_to(np.arange(many), centres.shape)
    if isinstance(targets, str) and targets == "all":
        rivals = every[every != classes[:, None]].reshape(len(centres), many - 1)
    elif isinstance(targets, str) and targets == "top2":
        rivals = np.argsort(-centres, axis=1, kind="stable")[:, 1:2]
    else:
        wanted = [] if isinstance(targets, str) else [int(each) for each in targets]
        if not wanted or not all(0 <= each < many for each in wanted):
            raise SettingsError(
                f'targets {targets!r}: give "all", "top2" or numbers of classes below {many}'
            )
        rivals = np.where(np.array(wanted) == classes[:, None], -1, np.array(wanted))
    return ClassPairs(classes, np.ascontiguousarray(rivals))
