"""Compare models over a source: a folder of scores for each, compared part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from anharmonic._core.checkpoints import PathLike
from anharmonic._core.progress import Progress, parts, shown
from anharmonic._core.protocols import Map
from anharmonic._core.statistics import Moments
from anharmonic.errors import SettingsError
from anharmonic.measures.compare.differences import Bracket, Brackets, bracket
from anharmonic.measures.gamma.over_sources import prepare_gamma
from anharmonic.measures.setup.settling import DEFAULTS, SetupArguments, settle_points
from anharmonic.measures.streaming import StoredScores
from anharmonic.measures.streaming.placing import Frames, without_unanswered
from anharmonic.measures.streaming.running import SAMPLE, stream
from anharmonic.models import as_model
from anharmonic.regions import as_region
from anharmonic.scores import Scores
from anharmonic.sources import Source
from anharmonic.sources.locations import join_address
from anharmonic.sources.temporary import TemporaryFolder

__all__ = ["brackets_of", "compare_over_source"]

SHARD = 1 << 15
"""Rows of a part: the same for all models, so that parts match."""


@dataclass(frozen=True)
class StoredBrackets:
    """Brackets of scores in a folder, one part at a time."""

    stored: StoredScores

    def pieces(self) -> Iterator[Bracket]:
        """All points, part by part."""
        for _, _, scores in self.stored.pieces():
            yield bracket(scores)

    @property
    def mean(self) -> float:
        """Of the middle, over the points that have one."""
        total = Moments.of(np.empty(0))
        for piece in self.pieces():
            total = total.merge(Moments.of(piece.middle[np.isfinite(piece.middle)]))
        return float(total.mean) if total.count else float("nan")

    def beside(self, other: Any) -> Iterator[tuple[Bracket, Bracket]]:
        """Parts of two models at the rows that both have a score at."""
        theirs = other.stored.pieces() if isinstance(other, StoredBrackets) else ()
        for (name, rows, mine), (other_name, other_rows, its) in zip(
            self.stored.pieces(), theirs, strict=True
        ):
            if name != other_name:
                raise SettingsError("the two runs are cut in different places: compare them anew")
            _, here, there = np.intersect1d(rows, other_rows, return_indices=True)
            one, two = bracket(mine), bracket(its)
            yield Bracket(one.low[here], one.high[here]), Bracket(two.low[there], two.high[there])


def brackets_of(scores: Scores | StoredScores) -> Brackets:
    """The two columns of scores in memory, or of scores in a folder."""
    return StoredBrackets(scores) if isinstance(scores, StoredScores) else bracket(scores)


def compare_over_source(
    models: Mapping[str, object],
    source: Source,
    measure: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    at_reference: bool,
    engine: Map | None,
    out: PathLike | None,
    fresh: bool,
    progress: Progress,
) -> tuple[dict[str, Scores], dict[str, Scores]]:
    """Scores of every model at the source and, in memory, at the reference.

    What moves, its units and the radius are settled once for all models, on a sample.
    """
    held = TemporaryFolder() if out is None else None
    folder = held.path if held is not None else cast(PathLike, out)
    seed = int(arguments.get("seed", DEFAULTS["seed"]))
    reference = arguments.get("reference")
    if isinstance(reference, Source):
        reference = reference.open(seed=seed).sample(SAMPLE, seed).table
    sample = source.open(seed=seed).sample(SAMPLE, seed)
    known = [reference] if hasattr(reference, "column_names") else []
    frames = Frames.like(sample.table, *known)
    frame = reference if not known else frames.frame(reference)
    adapted = [as_model(model, output=arguments.get("output")) for model in models.values()]
    region = as_region(
        frames.frame(sample.take(~frames.gaps(sample.table)).table), arguments.get("moving")
    )
    for model in adapted:
        region, _ = without_unanswered(model, region, numbers=False)
    setup = {name: value for name, value in arguments.items() if name in DEFAULTS}
    setup = {**setup, "reference": frame, "moving": None}
    settled = settle_points(adapted, region, cast(SetupArguments, setup))
    shared = {
        **{name: value for name, value in arguments.items() if name not in ("scale", "moving")},
        "reference": frame,
        "moving": list(settled.region.columns),
        "radius": settled.radius,
    }
    if settled.region.neighbourhood is None:
        shared["scale"] = settled.units
    with shown(progress) as report_all:
        reports = parts(report_all, len(models) * (2 if at_reference else 1))
        familiar = {
            name: measure(model, frame, progress=next(reports), **_in_memory(shared))
            for name, model in (models.items() if at_reference else ())
        }
        stored = {
            name: stream(
                model,
                source,
                prepare_gamma,
                shared,
                engine=engine or map,
                out=join_address(folder, name),
                fresh=fresh,
                progress=next(reports),
                shard=SHARD,
            )
            for name, model in models.items()
        }
    if held is not None:
        for one in stored.values():
            object.__setattr__(one, "held", held)
    return cast(dict[str, Scores], stored), familiar


def _in_memory(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for the reference itself: it is where units and radius came from."""
    return {name: value for name, value in shared.items() if name != "reference"}
