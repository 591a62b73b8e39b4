"""Compare models over a source: a folder of scores for each, compared part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
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
from anharmonic.measures.streaming.on_sample import SAMPLE, check_dropped, inputs_of, within_bounds
from anharmonic.measures.streaming.placing import Frames, without_unanswered
from anharmonic.measures.streaming.running import stream
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
        if not isinstance(other, StoredBrackets):
            return
        if self.stored.shard != other.stored.shard:
            raise SettingsError("the two runs are cut in different places: compare them anew")
        for name, rows, mine in self.stored.pieces():
            if (its := other.stored.piece(name)) is None:
                continue  # it lost all rows of this part
            _, here, there = np.intersect1d(rows, its[0], return_indices=True)
            one, two = bracket(mine), bracket(its[1])
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
    reference, output = arguments.get("reference"), arguments.get("output")
    named = [inputs_of(model, output) for model in models.values()]
    wanted = tuple(dict.fromkeys(name for names in named for name in names))
    # It is opened for every model, and standard input can be read once.
    piped = TemporaryFolder()
    source = source.kept(piped.path)
    dataset = source.open(seed=seed, wanted=wanted)
    check_dropped(source, dataset, reference, seed)
    source = replace(source, drop=tuple(name for name in source.drop if name in dataset.named))
    sample = dataset.sample(SAMPLE, seed)
    if isinstance(reference, Source):
        reference = reference.open(seed=seed, wanted=wanted).sample(SAMPLE, seed).table
    known = [reference] if hasattr(reference, "column_names") else []
    frames = Frames.like(sample.table, *known)
    frame = reference if not known else frames.frame(reference)
    adapted = [as_model(model, output=output) for model in models.values()]
    region = as_region(
        frames.frame(sample.take(~frames.gaps(sample.table)).table), arguments.get("moving")
    )
    for model in adapted:
        region, _ = without_unanswered(model, region, numbers=False)
    setup = {name: value for name, value in arguments.items() if name in DEFAULTS}
    setup = {**setup, "reference": frame, "moving": None}
    for model in adapted:
        region = within_bounds(model, region, False, {**setup, "output": None})
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
                wanted=wanted,
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
