"""Measure a source: settle once on a sample, share out runs of rows, keep what is finished."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, cast

from anharmonic._core.progress import Progress, shown
from anharmonic._core.protocols import Map
from anharmonic._core.settings import Settings
from anharmonic.errors import MeasurementStopped, SettingsError
from anharmonic.measures.setup.settling import DEFAULTS
from anharmonic.measures.streaming.answers import Known, answers_of
from anharmonic.measures.streaming.folder import MANIFEST, SOURCE, SUMMARY, RunFolder
from anharmonic.measures.streaming.manifest import Manifest, rows_per_shard, versions
from anharmonic.measures.streaming.on_sample import (
    SAMPLE,
    Prepared,
    Preparing,
    check_dropped,
    inputs_of,
    settle_on_sample,
)
from anharmonic.measures.streaming.shard_work import Report, ShardWork
from anharmonic.measures.streaming.stored import StoredScores, reports_of, summarise
from anharmonic.models.identity import identity
from anharmonic.models.named import load_by_name
from anharmonic.sources import Dataset, Shard, Source
from anharmonic.sources.locations import PathLike
from anharmonic.sources.temporary import TemporaryFolder

__all__ = ["run_shards", "stream"]

SHARD_SECONDS = 20.0
"""Work that a part takes about, and that a kill loses at most."""
RECORDED = ("reference", "scale", "bounds", "moving")
"""Arguments of any kind whose effect is in the settings."""


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
    wanted: Sequence[str] | None = None,
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
    wanted
        Columns that are measured where only folders say them; those that the model takes by name
        if not given.
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
        written = folder.read(MANIFEST)
        earlier = None if written is None else Settings.read(Manifest.read(written).settings)
        seed = int(arguments.get("seed", DEFAULTS["seed"]))
        staging = stack.enter_context(folder.staging())
        if wanted is None:
            wanted = inputs_of(model, arguments.get("output"))
        dataset = source.open(staging, seed, wanted)
        check_dropped(source, dataset, arguments.get("reference"), seed)
        sample = dataset.sample(SAMPLE, seed)
        before = identity(model)
        placing, prepared = settle_on_sample(model, sample, prepare, arguments, numbers, earlier)
        answers = answers_of(prepared.known_by)
        return run_shards(
            folder,
            source,
            dataset,
            prepared,
            lambda folder, block: ShardWork(dataset, folder, placing, prepared.measure, block),
            # What changes when it is asked cannot be known by what it holds.
            Known(
                prepared.known_by,
                answers,
                before if identity(model) == before else None,
                _objects(arguments),
            ),
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
    known: Known,
    *,
    engine: Map = map,
    progress: Progress = None,
    shard: int | None = None,
    held: TemporaryFolder | None = None,
) -> StoredScores:
    """Measure what a folder does not hold yet, and all of it together.

    `work_in` makes, of the folder and the rows of a block, what measures a shard.
    """
    manifest = _manifest(source, dataset, prepared, shard, known)
    written = folder.read(MANIFEST)
    if written is None:
        folder.write(MANIFEST, manifest.plain())
    else:
        earlier = Manifest.read(written)
        manifest.check_same(earlier, folder.path, known.again)
        # Its parts are cut as they were.
        manifest = earlier
    there = folder.parts()
    whole = all(shard.name in there for shard in dataset.shards(manifest.shard))
    if whole and folder.read(SUMMARY) is not None:
        return summarise(folder, manifest, reports_of(folder), held)
    folder.write_aside(SOURCE, list(dataset.broken))
    work = work_in(folder, manifest.block)
    measured = _run(folder, dataset, work, manifest, prepared.queries_per_row, engine, progress)
    reports = reports_of(folder, measured)
    if full := next((name for name, report in reports.items() if report.measured), None):
        folder.fill_empty([name for name in reports if not reports[name].measured], full)
    result = summarise(folder, manifest, reports, held)
    folder.write(SUMMARY, result.summary())
    return result


def _objects(arguments: Mapping[str, Any]) -> dict[str, str | None]:
    """Hashes of arguments whose names do not say what they do, such as a ball of one's own."""
    plain = (str, int, float, type(None))
    return {
        name: identity(value)
        for name, value in arguments.items()
        if name not in RECORDED and not isinstance(value, plain)
    }


def _manifest(
    source: Source,
    dataset: Dataset,
    prepared: Prepared,
    shard: int | None,
    known: Known,
) -> Manifest:
    """What this run is, to be held against an earlier one."""
    sizer = prepared.setup.caller.sizer
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
        model=known.model,
        answers=known.answers,
        block=prepared.rows_at_once,
        shard=shard or rows_per_shard(prepared.rows_at_once, len(dataset), per_row, SHARD_SECONDS),
        queries=prepared.queries,
        versions=versions(),
        objects=known.objects,
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
    away = [report.away for report in reports.values() if report.away is not None]
    if away:
        raise MeasurementStopped(
            f"{len(away):,} of {len(shards):,} parts are not measured, because {away[0]}",
            "all others are kept: start again with the same call when the files can be read",
        )
    missing = {shard.name for shard in shards} - set(folder.parts())
    if missing:
        raise SettingsError(
            f"{len(missing):,} of {len(shards):,} parts are not in {folder.path}: workers must "
            "write to the same folder, so give one on a disk or a store that all of them share"
        )
    return reports
