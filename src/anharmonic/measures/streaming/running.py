"""Measure a source: settle once on a sample, share out runs of rows, keep what is finished."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from anharmonic._core.progress import Progress, shown
from anharmonic._core.protocols import Map
from anharmonic._core.settings import Settings
from anharmonic.errors import MeasurementStopped, SettingsError
from anharmonic.measures.setup.batching import BatchSizer
from anharmonic.measures.setup.scale import with_neighbourhood
from anharmonic.measures.setup.settling import DEFAULTS, Setup, settle
from anharmonic.measures.streaming.faults import Measure
from anharmonic.measures.streaming.folder import MANIFEST, SOURCE, STAGED, SUMMARY, RunFolder
from anharmonic.measures.streaming.manifest import (
    ANSWERS,
    Manifest,
    model_hash,
    rows_per_shard,
    versions,
)
from anharmonic.measures.streaming.placing import (
    Frames,
    Placing,
    answered_rows,
    light,
    outputs_at,
    without_unanswered,
)
from anharmonic.measures.streaming.shard_work import Report, ShardWork
from anharmonic.measures.streaming.stored import StoredScores, summarise
from anharmonic.models import as_model
from anharmonic.models.named import load_by_name
from anharmonic.regions import as_region
from anharmonic.regions.tables import TableNeighbourhood
from anharmonic.sources import Dataset, Rows, Shard, Source
from anharmonic.sources.locations import PathLike
from anharmonic.sources.temporary import TemporaryFolder

__all__ = ["SAMPLE", "Prepared", "Preparing", "run_shards", "settle_on_sample", "stream"]

SAMPLE = 20_000
"""Rows that scale, radius and the ball are settled on, where no reference is given."""
CALL = 8192
"""Rows per call of a model in main memory where nobody said: always the same, because in batches
of another size a model that multiplies matrices may answer with other last digits."""
SHARD_SECONDS = 20.0
"""Work that a part takes about, and that a kill loses at most."""


@dataclass(frozen=True)
class Prepared:
    """A measure that is ready for any rows.

    Parameters
    ----------
    measure
        Measures at a setup's region; it pickles.
    metric, settings
        What is measured, and how.
    setup
        What was settled on the sample.
    rows_at_once
        Rows that are measured together, always the same.
    queries_per_row
        What a row costs, about.
    queries
        What settling took.
    """

    measure: Measure
    metric: str
    settings: Settings
    setup: Setup
    rows_at_once: int
    queries_per_row: float
    queries: int = 0


Preparing = Callable[[Setup, Mapping[str, Any], Settings | None], Prepared]
"""From a setup on a sample, the measure's own arguments and the settings of an earlier start of
the same run to what measures rows."""


def stream(
    model: object,
    source: Source,
    prepare: Preparing,
    arguments: Mapping[str, Any],
    *,
    engine: Map = map,
    out: PathLike | None = None,
    fresh: bool = False,
    progress: Progress = None,
    numbers: bool = False,
    shard: int | None = None,
) -> StoredScores:
    """Measure every row of a source; what is finished stays finished, whatever stops the run.

    Parameters
    ----------
    model, source
        Anything `as_model` takes, and where the rows are.
    prepare, arguments
        The measure, and what it was called with.
    engine
        Who does the work: see `workers`.
    out, fresh
        The folder of the run, and whether one that is there is begun anew.
    progress
        As in `gamma`.
    numbers
        Whether only numbers move.
    shard
        Rows of a part; some seconds of work if not given.
    """
    if isinstance(model, str | os.PathLike):
        # Each worker loads it where it is.
        model = load_by_name(os.fspath(model), arguments.get("output"))
        arguments = {name: value for name, value in arguments.items() if name != "output"}
    with ExitStack() as stack:
        held = TemporaryFolder() if out is None else None
        folder = RunFolder.at(held.path if held is not None else cast(PathLike, out))
        folder.check_ours()
        stack.enter_context(folder.claimed())
        if fresh:
            folder.clear()
        seed = int(arguments.get("seed", DEFAULTS["seed"]))
        dataset = source.open(folder.staging, seed)
        sample = dataset.sample(SAMPLE, seed)
        written = folder.read(MANIFEST)
        earlier = None if written is None else Settings.read(Manifest.read(written).settings)
        placing, prepared = settle_on_sample(model, sample, prepare, arguments, numbers, earlier)
        return run_shards(
            folder,
            source,
            dataset,
            prepared,
            lambda folder, block: ShardWork(dataset, folder, placing, prepared.measure, block),
            engine=engine,
            progress=progress,
            shard=shard,
            held=held,
        )


def run_shards(
    folder: RunFolder,
    source: Source,
    dataset: Dataset,
    prepared: Prepared,
    work_in: Callable[[RunFolder, int], Callable[[Shard], Report]],
    *,
    engine: Map = map,
    progress: Progress = None,
    shard: int | None = None,
    held: TemporaryFolder | None = None,
) -> StoredScores:
    """Measure what a folder does not hold yet, and all of it together.

    `work_in` makes, of the folder and the rows of a block, what measures a shard.
    """
    manifest = _manifest(source, dataset, prepared, shard)
    written = folder.read(MANIFEST)
    if written is None:
        folder.write(MANIFEST, manifest.plain())
    else:
        earlier = Manifest.read(written)
        manifest.check_same(earlier, folder.path)
        # Its parts are cut as they were.
        manifest = earlier
    if folder.read(SUMMARY) is not None:
        return summarise(folder, manifest, held=held)
    folder.write_aside(SOURCE, list(dataset.broken))
    work = work_in(folder, manifest.block)
    reports = _run(folder, dataset, work, manifest, prepared.queries_per_row, engine, progress)
    result = summarise(folder, manifest, reports, held)
    folder.write(SUMMARY, result.summary())
    folder.clear(STAGED)
    return result


def settle_on_sample(
    model: object,
    sample: Rows,
    prepare: Preparing,
    arguments: Mapping[str, Any],
    numbers: bool = False,
    earlier: Settings | None = None,
    *,
    law: TableNeighbourhood | None = None,
    frames: Frames | None = None,
) -> tuple[Placing, Prepared]:
    """How rows become points and how these are measured, from a sample of the rows.

    `law` and `frames` are those of an earlier run, where that has settled them.
    """
    reference = arguments.get("reference")
    seed = int(arguments.get("seed", DEFAULTS["seed"]))
    if isinstance(reference, Source):
        reference = reference.open(seed=seed).sample(SAMPLE, seed).table
    known = [reference] if hasattr(reference, "column_names") else []
    frames = frames or Frames.like(sample.table, *known)
    whole = sample.take(~frames.gaps(sample.table))
    region = as_region(frames.frame(whole.table), arguments.get("moving"))
    adapted = as_model(model, output=arguments.get("output"))
    region, asked = without_unanswered(adapted, replace(region, addresses=whole.addresses), numbers)
    if law is not None:
        region = with_neighbourhood(region, law)
    given: dict[str, Any] = {name: arguments[name] for name in DEFAULTS if name in arguments}
    given.pop("moving", None)
    if known:
        given["reference"] = frames.frame(reference)
    setup = _with_fixed_calls(settle(model, region, numbers=numbers, **given))
    try:
        prepared = prepare(setup, arguments, earlier)
    except MeasurementStopped:
        # Some row of the sample is one that the model cannot answer.
        prepared = prepare(setup.at(answered_rows(setup)), arguments, earlier)
    return Placing(light(prepared.setup), frames), replace(
        prepared, queries=prepared.queries + asked
    )


def _with_fixed_calls(setup: Setup) -> Setup:
    """Calls of one size, so that the same rows are asked for together wherever they are."""
    sizer = setup.caller.sizer
    if sizer.fixed:
        return setup
    call = min(CALL, setup.chunk)
    return replace(setup, caller=setup.caller._replace(sizer=BatchSizer(call, fixed=True)))


def _manifest(source: Source, dataset: Dataset, prepared: Prepared, shard: int | None) -> Manifest:
    """What this run is, to be held against an earlier one."""
    setup = prepared.setup
    few = setup.region.rows(np.arange(min(ANSWERS, len(setup.region))))
    answers = outputs_at(setup, few)
    sizer = setup.caller.sizer
    per_query = sizer.seconds_per_row
    per_row = None if per_query is None else per_query * prepared.queries_per_row
    settings = prepared.settings.with_facts(
        points=len(dataset), fingerprint=None, call=sizer.size(), key=dataset.key
    )
    return Manifest(
        measure=prepared.metric,
        settings=settings.plain(),
        source=str(source),
        fingerprint=dataset.fingerprint,
        rows=len(dataset),
        model=model_hash(setup.model),
        answers=[] if answers is None else answers[:, :16].tolist(),
        block=prepared.rows_at_once,
        shard=shard or rows_per_shard(prepared.rows_at_once, len(dataset), per_row, SHARD_SECONDS),
        queries=prepared.queries,
        versions=versions(),
    )


def _run(
    folder: RunFolder,
    dataset: Dataset,
    work: Callable[[Shard], Report],
    manifest: Manifest,
    queries_per_row: float,
    engine: Map,
    progress: Progress,
) -> dict[str, Report]:
    """Measure what is not there yet."""
    done = set(folder.parts())
    shards = dataset.shards(manifest.shard)
    waiting = [shard for shard in shards if shard.name not in done]
    reports: dict[str, Report] = {}
    expected = int(manifest.rows * queries_per_row)
    waiting_rows = sum(dataset.count(shard) for shard in waiting)
    queries = int((manifest.rows - waiting_rows) * queries_per_row)
    with shown(progress) as report_progress:
        for report in engine(work, waiting) if waiting else ():
            reports[report.shard] = report
            queries += report.queries
            if report_progress is not None:
                report_progress(queries, max(expected, queries))
    missing = {shard.name for shard in shards} - set(folder.parts())
    if missing:
        raise SettingsError(
            f"{len(missing):,} of {len(shards):,} parts are not in {folder.path}: workers must "
            "write to the same folder, so give one on a disk or a store that all of them share"
        )
    return reports
