"""Scores of a source from the answers to its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic._core.protocols import Array, Map, Model
from anharmonic._core.reductions import Reduction
from anharmonic.errors import InputError
from anharmonic.measures.gamma.over_sources import prepare_gamma
from anharmonic.measures.offline_parts.answers import Answers
from anharmonic.measures.offline_parts.planning import FORMAT, PLAN, zeros
from anharmonic.measures.setup.settling import Setup
from anharmonic.measures.streaming import StoredScores
from anharmonic.measures.streaming.answers import Known
from anharmonic.measures.streaming.counting import with_model
from anharmonic.measures.streaming.folder import MANIFEST, RunFolder
from anharmonic.measures.streaming.on_sample import SAMPLE, settle_on_sample
from anharmonic.measures.streaming.placing import Frames, Placing
from anharmonic.measures.streaming.running import run_shards
from anharmonic.measures.streaming.shard_work import Report, ShardWork
from anharmonic.models import Predictor, as_model
from anharmonic.regions.tables.storing import law_from_text
from anharmonic.scores import Scores
from anharmonic.sources import Dataset, Shard, Source
from anharmonic.sources.locations import PathLike, join_address

__all__ = ["collect_parts"]


def collect_parts(
    plan: PathLike,
    answers: object,
    *,
    output: object = None,
    reduction: Reduction | None = None,
    out: PathLike | None = None,
    engine: Map = map,
    fresh: bool = False,
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
    fresh
        Whether a collection that is there is begun anew; one that was stopped goes on.
    """
    folder = RunFolder.at(plan)
    facts = _facts_of(folder, plan)
    source = Source(**{name: _tuple(value) for name, value in facts["source"].items()})
    target = RunFolder.at(out if out is not None else join_address(plan, "collected"))
    target.check_ours()
    name = folder.path.rpartition("/")[2]
    law = None if facts["law"] is None else law_from_text(facts["law"])
    arguments = {**facts["arguments"], "noise": "ignore", "reduction": reduction}
    if law is not None:
        arguments.pop("scale")
    with target.claimed(), target.staging() as staging:
        if fresh:
            target.clear()
        dataset = source.open(staging, facts["seed"])
        if dataset.fingerprint != facts["fingerprint"]:
            raise InputError(f"{source} has changed since it was planned: plan it anew")
        given = Answers.open(answers, folder, dataset.columns)
        placing, prepared = settle_on_sample(
            _model(zeros, name, given.classes, output),
            dataset.sample(SAMPLE, facts["seed"]),
            prepare_gamma,
            arguments,
            law=law,
            frames=_frames(facts["frames"], dataset),
        )
        return run_shards(
            target,
            source,
            dataset,
            prepared,
            lambda folder, block: CollectWork(
                dataset, folder, placing, prepared.measure, block, given, name, output
            ),
            Known(None, [], given.fingerprint, {}),
            engine=engine,
            shard=facts["rows"],
        )


def _facts_of(folder: RunFolder, plan: PathLike) -> dict[str, Any]:
    """What a plan says of itself."""
    written = folder.read(MANIFEST)
    if written is None or PLAN not in written:
        raise InputError(f"{plan} is no plan of a source: make one with anharmonic gamma plan")
    if written.get("format") != FORMAT:
        raise InputError(f"{plan} was planned by another version: plan it anew")
    if not written.get("finished"):
        raise InputError(f"{plan} has not come to its end: plan it again to go on")
    return dict(written[PLAN])


def _frames(facts: Mapping[str, Any], dataset: Dataset) -> Frames:
    import pyarrow as pa

    levels = {
        name: pa.array(values, pa.string()).cast(dataset.schema.field(name).type.value_type)
        for name, values in facts["levels"].items()
    }
    return Frames(tuple(facts["with_gaps"]), tuple(facts["without_gaps"]), levels)


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
        reader = _Read(self.answers.of(shard.name), shard.name, self.answers.classes)
        model = _model(reader, self.name, self.answers.classes, self.output)
        work = ShardWork(
            self.dataset,
            self.folder,
            self.placing,
            _Reading(self.measure, _WithGaps(model, reader)),
            self.block,
            reader.check_used_up,
        )
        return work(shard)


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
    """A model that reads out recorded answers, in the order they were asked for.

    Where a label is missing it reads out another, and `gaps` says so of the latest answers: what is
    no label at all would be an error about all questions that were asked together.
    """

    def __init__(self, answers: Array, part: str, classes: tuple[object, ...] | None) -> None:
        self.missing = np.zeros(len(answers), dtype=bool)
        if classes:
            self.missing = np.array([answer is None for answer in answers.tolist()], dtype=bool)
            answers = answers.copy()
            answers[self.missing] = classes[0]
        self.answers, self.part, self.next = answers, part, 0
        self.gaps = self.missing[:0]

    def __call__(self, queries: Array) -> Array:
        start, self.next = self.next, self.next + len(queries)
        if self.next > len(self.answers):
            raise InputError(
                f"part {self.part} has {len(self.answers):,} answers and more questions: answer "
                "each one once"
            )
        self.gaps = self.missing[start : self.next]
        return self.answers[start : self.next]

    def check_used_up(self) -> None:
        """Refuse answers to questions that nobody asked."""
        if self.next != len(self.answers):
            raise InputError(
                f"part {self.part} has {len(self.answers):,} answers to {self.next:,} questions: "
                "answer each one once"
            )


class _WithGaps:
    """A model of recorded labels that has no number where no label was recorded."""

    def __init__(self, model: Model, reader: _Read) -> None:
        self.model, self.reader = model, reader

    def __call__(self, points: Array) -> Array:
        outputs = self.model(points)
        if self.reader.gaps.any():
            outputs = np.array(outputs, dtype=float)
            outputs[self.reader.gaps] = np.nan
        return outputs

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # not there yet, as while it is unpickled
            raise AttributeError(name)
        return getattr(self.model, name)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
