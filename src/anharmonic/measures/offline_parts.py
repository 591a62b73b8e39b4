"""`plan` and `collect` of a source: tables of questions and of answers, cut into parts.

A warehouse answers the questions where the model is, part by part or all at once; whoever planned
them collects. Both run what measures a source: once with a model that writes down what it is
asked, once with a model that reads out the answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core.protocols import Array, Floats, Map, Model
from anharmonic._core.reductions import Reduction
from anharmonic.errors import InputError, OutputError, first_line
from anharmonic.measures.gamma.over_sources import GammaOfRows, prepare_gamma
from anharmonic.measures.setup.settling import Setup
from anharmonic.measures.streaming import StoredScores
from anharmonic.measures.streaming.folder import MANIFEST, SOURCE, RunFolder
from anharmonic.measures.streaming.placing import Frames, Placing
from anharmonic.measures.streaming.running import Prepared, run_shards, settle_on_sample
from anharmonic.measures.streaming.shard_work import Report, ShardWork
from anharmonic.models import Predictor, as_model
from anharmonic.regions.tables.storing import law_as_text, law_from_text
from anharmonic.scores import Scores
from anharmonic.sources import Dataset, Shard, Source
from anharmonic.sources.formats import PARQUET
from anharmonic.sources.locations import locate

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["collect_parts", "plan_parts"]

PART, QUERY = "part", "query"
QUERIES = "queries"
ROWS = 1 << 14
"""Of the source, in a part."""


def plan_parts(
    source: Source, path: str | os.PathLike[str], arguments: Mapping[str, Any], engine: Map = map
) -> Path:
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
    """
    folder = RunFolder.at(path)
    folder.check_ours()
    if folder.read(MANIFEST) is not None:
        raise InputError(f"{path} holds a plan already: give another folder")
    seed = int(arguments.get("seed", 0))
    dataset = source.open(folder.staging, seed)
    sample = dataset.sample(20_000, seed)
    given = {**arguments, "noise": "ignore"}
    placing, prepared = settle_on_sample(_silent(), sample, prepare_gamma, given)
    folder.write_aside(SOURCE, list(dataset.broken))
    assert isinstance(prepared.measure, GammaOfRows)
    work = PlanWork(dataset, folder, placing, prepared.measure, prepared.rows_at_once)
    for _ in engine(work, dataset.shards(ROWS)):
        pass
    # Last: a plan without it has not come to its end.
    folder.write(MANIFEST, _facts(source, dataset, placing, prepared, seed, given["ball"]))
    return Path(path)


def collect_parts(
    plan: str | os.PathLike[str],
    answers: object,
    *,
    output: object = None,
    reduction: Reduction | None = None,
    out: str | os.PathLike[str] | None = None,
    engine: Map = map,
) -> StoredScores:
    """Scores from a plan of a source and the answers to it.

    Parameters
    ----------
    plan
        The folder that `plan_parts` wrote.
    answers
        A folder or a glob of Parquet files with the columns `part`, `query` and the model's
        outputs, in any order. Files that are partitioned by `part` are read once.
    output, reduction
        What the answers are, and how a vector becomes a number: as in `gamma`.
    out
        The folder for the scores; beside the plan, under `collected`, if not given.
    engine
        Who does the work: see `workers`.
    """
    about = RunFolder.at(plan).read(MANIFEST)
    if about is None or "plan" not in about:
        raise InputError(f"{plan} is no plan of a source: make one with anharmonic gamma plan")
    facts = about["plan"]
    source = Source(**{name: _tuple(value) for name, value in facts["source"].items()})
    dataset = source.open(seed=facts["seed"])
    if dataset.fingerprint != facts["fingerprint"]:
        raise InputError(f"{source} has changed since it was planned: plan it anew")
    given = Answers.open(answers)
    name = Path(plan).name
    model = _model(_zeros, name, given.classes, output)
    law = None if facts["law"] is None else law_from_text(facts["law"])
    arguments = {**facts["arguments"], "noise": "ignore", "reduction": reduction}
    if law is not None:
        arguments.pop("scale")
    sample = dataset.sample(20_000, facts["seed"])
    frames = Frames(*(tuple(names) for names in facts["frames"]))
    placing, prepared = settle_on_sample(
        model, sample, prepare_gamma, arguments, law=law, frames=frames
    )
    target = out if out is not None else f"{os.fspath(plan).rstrip('/')}/collected"
    return run_shards(
        RunFolder.at(target),
        source,
        dataset,
        prepared,
        lambda folder, block: CollectWork(
            dataset, folder, placing, prepared.measure, block, given, name, output
        ),
        engine=engine,
        shard=ROWS,
    )


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
        asked = _Asked(shard.name, self.dataset.columns)
        model = Predictor(asked, name="planned")
        aside = []
        for batch in self.dataset.read(shard, self.block):
            setup, _, unfit = self.placing.place(batch)
            aside += unfit
            if setup is not None:
                self.measure(with_model(setup, model))
        self.folder.write_aside(shard.name, aside)
        if asked.tables:
            self.folder.write_table(f"{QUERIES}/{shard.name}.parquet", asked.tables)
        return asked.count


class _Asked:
    """A model that keeps what it is asked and answers zero."""

    def __init__(self, part: str, names: tuple[str, ...]) -> None:
        self.part, self.names, self.count = part, names, 0
        self.tables: list[pa.Table] = []

    def __call__(self, queries: Array) -> Floats:
        import narwhals.stable.v1 as nw
        import pyarrow as pa

        table, rows = nw.from_native(queries, eager_only=True), len(queries)
        columns = {name: table[name].to_arrow() for name in self.names}
        part = pa.repeat(pa.scalar(self.part), rows)
        numbers = np.arange(self.count, self.count + rows)
        self.tables.append(pa.table({PART: part, QUERY: numbers, **columns}))
        self.count += rows
        return np.zeros(rows)


@dataclass(frozen=True)
class CollectWork:
    """Turn the answers about a shard into its part of the scores."""

    dataset: Dataset
    folder: RunFolder
    placing: Placing
    measure: Callable[[Setup], Scores]
    block: int
    answers: Answers
    name: str
    output: object

    def __call__(self, shard: Shard) -> Report:
        """The report of a shard whose part is written."""
        reader = _Read(self.answers.of(shard.name), shard.name)
        model = _model(reader, self.name, self.answers.classes, self.output)
        work = ShardWork(
            self.dataset, self.folder, self.placing, _Reading(self.measure, model), self.block
        )
        report = work(shard)
        reader.check_used_up()
        return report


@dataclass(frozen=True)
class _Reading:
    """A measure of a model that reads out answers."""

    measure: Callable[[Setup], Scores]
    model: Model

    def __call__(self, setup: Setup) -> Scores:
        return self.measure(with_model(setup, self.model))


def _model(
    answers: Callable[[Array], Array],
    name: str,
    classes: tuple[object, ...] | None,
    output: object,
) -> Model:
    """Recorded answers as a model, asked for what `collect` was asked for."""
    recorded = Predictor(answers, name=name, classes=classes, kind="value")
    return as_model(recorded, output="onehot" if classes and output is None else output)


class _Read:
    """A model that reads out recorded answers, in the order they were asked for."""

    def __init__(self, answers: Array, part: str) -> None:
        self.answers, self.part, self.next = answers, part, 0

    def __call__(self, queries: Array) -> Array:
        start, self.next = self.next, self.next + len(queries)
        if self.next > len(self.answers):
            raise InputError(
                f"part {self.part} has {len(self.answers):,} answers and more questions: answer "
                "each one once"
            )
        return self.answers[start : self.next]

    def check_used_up(self) -> None:
        """Refuse answers to questions that nobody asked."""
        if self.next != len(self.answers):
            raise InputError(
                f"part {self.part} has {len(self.answers):,} answers to {self.next:,} questions: "
                "answer each one once"
            )


@dataclass(frozen=True)
class Answers:
    """Recorded answers by their part."""

    paths: Any
    columns: tuple[str, ...]
    classes: tuple[object, ...] | None

    @classmethod
    def open(cls, answers: object) -> Answers:
        """Look at the answers: which columns are outputs, and which classes texts name."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            dataset = _dataset(answers)
        except (OSError, pa.ArrowInvalid, TypeError) as problem:
            raise InputError(f"the answers cannot be read ({first_line(problem)})") from problem
        names = dataset.schema.names
        lacking = [name for name in (PART, QUERY) if name not in names]
        if lacking:
            raise InputError(
                f"the answers have no column {', '.join(lacking)}: keep the questions'"
            )
        columns = tuple(name for name in names if name not in (PART, QUERY))
        if len(columns) == 1 and _is_text(dataset.schema.field(columns[0]).type):
            found: set[str] = set()
            for batch in dataset.to_batches(columns=list(columns)):
                found |= set(pc.unique(batch.column(0)).to_pylist())
            return cls(answers, columns, tuple(sorted(found)))
        return cls(answers, columns, None)

    def of(self, part: str) -> Array:
        """The answers of a part in the order of its questions, (queries,) or (queries, columns)."""
        import pyarrow.compute as pc

        table = _dataset(self.paths).to_table(
            columns=[QUERY, *self.columns], filter=pc.field(PART) == part
        )
        numbers = table[QUERY].to_numpy()
        order = np.argsort(numbers, kind="stable")
        if not np.array_equal(numbers[order], np.arange(len(numbers))):
            raise OutputError(
                f"query numbers of part {part} repeat or are missing: answer each one once"
            )
        outputs = [table[name].to_numpy()[order] for name in self.columns]
        return outputs[0] if len(outputs) == 1 else np.stack(outputs, axis=1)


def with_model(setup: Setup, model: Any) -> Setup:
    """The same setup with another model."""
    return replace(setup, model=model, caller=setup.caller._replace(model=model))


def _dataset(answers: Any) -> Any:
    import pyarrow as pa
    import pyarrow.dataset as ds

    if not isinstance(answers, str | os.PathLike):
        return ds.dataset(answers)
    files = locate(answers, PARQUET)
    given: dict[str, Any] = {"format": "parquet", "filesystem": files.filesystem}
    whole = ds.dataset(list(files.paths), **given)
    if PART in whole.schema.names:
        return whole
    # Without a schema a part's name would be taken for a number.
    parts = ds.partitioning(pa.schema([(PART, pa.string())]), flavor="hive")
    return ds.dataset(list(files.paths), **given, partitioning=parts, partition_base_dir=files.root)


def _is_text(kind: Any) -> bool:
    """Texts of any width: libraries write them differently."""
    import pyarrow as pa

    return any(
        test(kind)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _silent() -> Predictor:
    return Predictor(_zeros, name="planned")


def _zeros(points: Array) -> Floats:
    return np.zeros(len(points))


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _facts(
    source: Source, dataset: Dataset, placing: Placing, prepared: Prepared, seed: int, ball: str
) -> dict[str, Any]:
    """All that is needed to read the answers as the questions were asked."""
    setup, settings = prepared.setup, prepared.settings
    law = setup.region.neighbourhood
    arguments = settings.chosen(("radius", "scale", "rotations", "directions", "bounds", "seed"))
    arguments |= {"ball": ball, "moving": list(settings.columns)}
    return {
        "format": 1,
        "plan": {
            "source": vars(source),
            "fingerprint": dataset.fingerprint,
            "seed": seed,
            "arguments": arguments,
            "law": None if law is None else law_as_text(law),
            "frames": [placing.frames.with_gaps, placing.frames.without_gaps],
            "queries_per_row": prepared.queries_per_row,
        },
    }
