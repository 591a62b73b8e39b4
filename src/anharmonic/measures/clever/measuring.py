"""clever: how far an attack must go at least, from the largest slope nearby."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np

from anharmonic._core.checkpoints import PathLike
from anharmonic._core.margins import by_class, labels_of
from anharmonic._core.progress import Progress, shown
from anharmonic._core.protocols import Array, Floats, Integers, Map
from anharmonic.errors import SettingsError
from anharmonic.measures.clever.bounds import SampledSlopes, bound_rows
from anharmonic.measures.clever.pool import Pool
from anharmonic.measures.clever.result import CleverSettings
from anharmonic.measures.clever.sampling import norm_of, typical_radius
from anharmonic.measures.clever.slopes import ClassPairs, Differences, Gradients, slopes_of
from anharmonic.measures.clever.weibull import level
from anharmonic.measures.setup.batching import ModelCaller, answers
from anharmonic.measures.setup.settling import Setup, SetupArguments, settle, takes_setup
from anharmonic.measures.setup.sphere import rows_on_device
from anharmonic.measures.streaming import called_on_blocks, takes_source
from anharmonic.scores import Scores

__all__ = ["clever"]

BATCH = 4096
"""Points whose own outputs are asked for at once."""


@takes_source(
    lambda measure: called_on_blocks(measure, radius=_radius),
    numbers=True,
    without=("guide", "count"),
)
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
    engine: Map | None = None,
    out: PathLike | None = None,
    fresh: bool = False,
    **setup: Unpack[SetupArguments],
) -> Scores:
    """CLEVER: an estimated lower bound on the distance of any attack, at every point.

    The margin between the predicted class and a target, over the largest slope of that margin
    within `radius`. The largest is the end of a reverse Weibull law fitted to the maxima of blocks
    of fresh samples, shared by all targets, or the steepest slope that gradient ascent from those
    samples met, if that is larger. A bound is never above the radius.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    points
        Rows, a DataFrame, a `regions.Region` or a `sources.Source`.
    norm : 1, 2 or inf
        Of the attack.
    radius : float or "auto"
        In scaled units; "auto" is the median nearest-neighbour distance, for other norms than 2
        the ball whose points lie as far out.
    targets : "all", "top2" or class numbers
        All other classes (the bound is the smallest: untargeted), the runner-up alone, or these.
    blocks, block_size
        Blocks per point, and fresh samples per block.
    gradients : "auto", "torch" or "differences"
        The model's own; central differences, two queries per feature, of any model; or the first
        of the two that is there.
    guide
        `spade` scores, or numbers, larger for points to measure first.
    count
        Stop after so many points. The rest hold NaN.
    output
        As in `gamma`. Ask for logits: saturated probabilities have no slope.
    scale, reference, moving, bounds, batch_size, seed
        As in `gamma`.
    progress
        True shows a bar; a function is called with samples taken and samples in all.
    engine, out, fresh
        Of a source: who does the work, the folder for the scores, and whether to start over.

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> scores = clever(lambda x: x @ weights.T, [[1.0, 0.5]], radius=2.0, scale=None)
    >>> scores.values.round(6).tolist()  # margin 5 over slope 5
    [1.0]

    References
    ----------
    Weng et al., Evaluating the Robustness of Neural Networks, ICLR 2018.
    """
    order = norm_of(norm)
    for name, number in {"blocks": blocks - 9, "block_size": block_size}.items():
        if number < 1:
            raise SettingsError(f"{name} is too small to fit a law to: leave it out")
    # A bound on distances is one between numbers: all else stays.
    settled = settle(model, points, numbers=True, **setup)
    settled = replace(settled, radius=_radius(settled, {"norm": norm, **setup}))
    caller, units = settled.caller, settled.units
    chosen = _rows_to_measure(guide, len(settled.region), count)
    centres = by_class(
        np.concatenate(
            [answers(caller, batch, rows)[:, 0] for batch, rows in _batches(caller, chosen)]
        ),
        settled.model.kind,
    )
    pairs = _class_pairs(centres, targets)
    slopes = slopes_of(caller, units, order, settled.radius, gradients, setup.get("batch_size"))
    pool = Pool(
        caller,
        slopes,
        order,
        settled.radius * units,
        settled.limits,
        blocks,
        block_size,
        settled.seed,
    )
    with shown(progress) as tell:
        maxima = pool.maxima(chosen, pairs, tell)
    # Which fits have a slope at all, and which one that varies: (rows, targets).
    sloping = (pairs.targets >= 0) & (maxima.slopes.max(axis=2) > 0)
    jumps = pool.jumps(chosen, pairs, maxima, sloping)
    varying = sloping & ~jumps & ~level(maxima.slopes)
    ascent = pool.ascent(chosen, pairs, maxima, varying)
    ascent_gradients = int(varying.sum()) * pool.gradients_per_ascent()
    settings = settled.describe(
        CleverSettings,
        norm="inf" if order == np.inf else int(order),
        targets=targets if isinstance(targets, str) else list(targets),
        blocks=blocks,
        block_size=block_size,
        gradients=len(chosen) * blocks * block_size * pairs.targets.shape[1] + ascent_gradients,
        slopes="differences" if isinstance(slopes, Differences) else "pulled",
        guided=guide is not None,
    )
    samples = len(chosen) * blocks * block_size
    gradient_points = samples + ascent_gradients + pool.points_judged(sloping)
    queries = len(chosen) + gradient_points * slopes.queries_per_point
    sampled = SampledSlopes(centres, pairs, maxima.slopes, ascent, jumps)
    scores = bound_rows(sampled, chosen, len(settled.region), queries, settings)
    return replace(scores, index=settled.region.index)


def _radius(settled: Setup, given: Mapping[str, Any]) -> float:
    """The radius that was given, or the ball of this norm whose points lie as far out."""
    if given.get("radius", "auto") != "auto":
        return settled.radius
    order = norm_of(given.get("norm", 2))
    return typical_radius(order, settled.radius, settled.region.dimension)


def _rows_to_measure(guide: object, points: int, count: int | None) -> Integers:
    """Row numbers in the order they are measured in."""
    if count is not None and count < 1:
        raise SettingsError(f"count must be at least 1, got {count}")
    if guide is None:
        return np.arange(points)[:count]
    values = np.asarray(getattr(guide, "values", guide), dtype=np.float64)
    if values.shape != (points,):
        raise SettingsError(
            f"the guide has shape {values.shape} for {points} points: give one number for each"
        )
    # Points that the guide has no number for come last.
    ranked = np.where(np.isfinite(values), values, -np.inf)
    return np.argsort(-ranked, kind="stable")[:count].astype(np.int64)


def _batches(caller: ModelCaller, rows: Integers) -> Iterator[tuple[Array, Integers]]:
    """The points themselves, (batch, 1, n), and their row numbers."""
    for begin in range(0, len(rows), BATCH):
        part = rows[begin : begin + BATCH]
        yield rows_on_device(caller, part)[:, None], part


def _class_pairs(centres: Floats, targets: Literal["all", "top2"] | Sequence[int]) -> ClassPairs:
    """Predicted classes (rows,) and their rivals (rows, targets), -1 for the class itself."""
    classes = labels_of(centres)
    count = centres.shape[1]
    every = np.broadcast_to(np.arange(count), centres.shape)
    if isinstance(targets, str) and targets == "all":
        rivals = every[every != classes[:, None]].reshape(len(centres), count - 1)
    elif isinstance(targets, str) and targets == "top2":
        rivals = np.argsort(-centres, axis=1, kind="stable")[:, 1:2]
    else:
        wanted = [] if isinstance(targets, str) else [int(target) for target in targets]
        if not wanted or not all(0 <= target < count for target in wanted):
            raise SettingsError(
                f'targets {targets!r}: give "all", "top2" or numbers of classes below {count}'
            )
        rivals = np.where(np.array(wanted) == classes[:, None], -1, np.array(wanted))
    return ClassPairs(classes, np.ascontiguousarray(rivals))
