"""Questions of a source, part by part, and all that is needed to read their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core.columns import shown
from anharmonic._core.protocols import Array, Floats, Map
from anharmonic.errors import InputError
from anharmonic.measures.gamma.over_sources import GammaOfRows, prepare_gamma
from anharmonic.measures.streaming.counting import with_model
from anharmonic.measures.streaming.faults import Losses
from anharmonic.measures.streaming.folder import MANIFEST, PIPED, QUERIES, SOURCE, RunFolder
from anharmonic.measures.streaming.on_sample import (
    SAMPLE,
    Prepared,
    check_dropped,
    settle_on_sample,
)
from anharmonic.measures.streaming.placing import Placing
from anharmonic.measures.streaming.shard_work import readable_batches
from anharmonic.models import Predictor
from anharmonic.regions.tables.storing import law_as_text
from anharmonic.sources import Dataset, Shard, Source
from anharmonic.sources.locations import PathLike, join_address

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT", "PART", "PLAN", "QUERY", "check_names", "plan_parts", "zeros"]

FORMAT, PLAN = 2, "plan"
PART, QUERY = "part", "query"
ROWS = 1 << 14
"""Of the source, in a part."""


def plan_parts(
    source: Source,
    path: PathLike,
    arguments: Mapping[str, Any],
    engine: Map = map,
    fresh: bool = False,
) -> Path | str:
    """Write the questions of a gamma run on a source: Parquet files under `queries`.

    Parameters
    ----------
    source
        Where the rows are.
    path
        The folder of the plan: it holds what `collect_parts` needs.
    arguments
        Of gamma.
    engine
        Who does the work: see `workers`.
    fresh
        Whether a plan that is there is begun anew; one that was stopped goes on.
    """
    folder = RunFolder.at(path)
    folder.check_ours()
    with folder.claimed(), folder.staging() as staging:
        if fresh:
            folder.clear()
        written = folder.read(MANIFEST)
        seed = int(arguments.get("seed", 0))
        source = _kept(source, folder, written)
        dataset = source.open(staging, seed)
        check_dropped(source, dataset, arguments.get("reference"), seed)
        check_names(dataset.columns, (PART, QUERY))
        sample = dataset.sample(SAMPLE, seed)
        given = {**arguments, "noise": "ignore"}
        silent = Predictor(zeros, name="planned")
        placing, prepared = settle_on_sample(silent, sample, prepare_gamma, given)
        facts = _facts(source, dataset, placing, prepared, seed, given["ball"])
        if _check_same(written, facts, path):
            return _named(path)
        folder.write(MANIFEST, facts)
        folder.write_aside(SOURCE, list(dataset.broken))
        assert isinstance(prepared.measure, GammaOfRows)
        work = PlanWork(dataset, folder, placing, prepared.measure, prepared.rows_at_once)
        done = folder.listed(QUERIES)
        for _ in engine(work, [shard for shard in dataset.shards(ROWS) if shard.name not in done]):
            pass
        folder.write(MANIFEST, {**facts, "finished": True})
    return _named(path)


def check_names(columns: Sequence[str], own: Sequence[str]) -> None:
    """Refuse features that are called as the columns are which answers must keep."""
    if taken := [name for name in own if name in columns]:
        raise InputError(
            f"column {shown(taken)} is called as one of the plan's own: rename it, or leave it out"
        )


def _named(path: PathLike) -> Path | str:
    """A path as one, an address as it is."""
    return path if isinstance(path, str) and "://" in path else Path(path)


def _kept(source: Source, folder: RunFolder, written: Mapping[str, Any] | None) -> Source:
    """A source that whoever collects can open too: from any folder, and what came by a pipe."""
    if not source.is_stdin:
        return source.absolute()
    if written is not None:
        raise InputError(
            f"{folder.address} holds a plan, and standard input cannot be held against it: give "
            "another folder, or start over with fresh=True (--fresh)"
        )
    return source.kept(join_address(folder.address, PIPED))


def _check_same(
    written: Mapping[str, Any] | None, facts: Mapping[str, Any], path: PathLike
) -> bool:
    """Whether the plan is there already; refused where another one is."""
    if written is None:
        return False
    same = written.get(PLAN) == json.loads(json.dumps(facts[PLAN]))
    if not same:
        raise InputError(
            f"{path} holds a plan already, of other data or with other arguments, or a run: give "
            "another folder, or start over with fresh=True (--fresh)"
        )
    return bool(written.get("finished"))


@dataclass(frozen=True)
class PlanWork:
    """Write the questions about a shard: picklable, as `ShardWork` is."""

    dataset: Dataset
    folder: RunFolder
    placing: Placing
    measure: GammaOfRows
    block: int

    def __call__(self, shard: Shard) -> int:
        """How many questions there are."""
        losses = Losses()
        with self.folder.table_writer(f"{QUERIES}/{shard.name}.parquet") as write:
            asked = _Asked(shard.name, self.dataset.columns, write)
            model = Predictor(asked, name="planned")
            for batch in readable_batches(self.dataset, shard, self.block, losses):
                setup, _, unfit = self.placing.place(batch)
                losses.aside += unfit
                if setup is not None:
                    self.measure(with_model(setup, model))
        self.folder.write_aside(shard.name, losses.aside)
        return asked.count


class _Asked:
    """A model that writes down what it is asked and answers zero."""

    def __init__(
        self, part: str, names: tuple[str, ...], write: Callable[[pa.Table], None]
    ) -> None:
        self.part, self.names, self.write, self.count = part, names, write, 0

    def __call__(self, queries: Array) -> Floats:
        import narwhals.stable.v1 as nw
        import pyarrow as pa

        table, rows = nw.from_native(queries, eager_only=True), len(queries)
        columns = {name: table[name].to_arrow() for name in self.names}
        part = pa.repeat(pa.scalar(self.part), rows)
        numbers = np.arange(self.count, self.count + rows)
        self.write(pa.table({PART: part, QUERY: numbers, **columns}))
        self.count += rows
        return np.zeros(rows)


def zeros(points: Array) -> Floats:
    """What a model answers that nobody asks anything."""
    return np.zeros(len(points))


def _facts(
    source: Source, dataset: Dataset, placing: Placing, prepared: Prepared, seed: int, ball: str
) -> dict[str, Any]:
    """All that is needed to read the answers as the questions were asked."""
    import pyarrow as pa

    setup, settings = prepared.setup, prepared.settings
    law = setup.region.neighbourhood
    arguments = settings.chosen(("radius", "scale", "rotations", "directions", "bounds", "seed"))
    arguments |= {"ball": ball, "moving": list(settings.columns)}
    frames = placing.frames
    return {
        "format": FORMAT,
        PLAN: {
            "source": vars(source),
            "fingerprint": dataset.fingerprint,
            "seed": seed,
            "arguments": arguments,
            "law": None if law is None else law_as_text(law),
            "frames": {
                "with_gaps": frames.with_gaps,
                "without_gaps": frames.without_gaps,
                "levels": {
                    name: levels.cast(pa.string()).to_pylist()
                    for name, levels in frames.levels.items()
                },
            },
            "queries_per_row": prepared.queries_per_row,
            "rows": ROWS,
        },
    }
