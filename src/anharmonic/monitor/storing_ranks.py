"""Channels of ranks and the inputs that they read, in a file. No pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from anharmonic._core.protocols import Array
from anharmonic.monitor.histograms import Histogram
from anharmonic.monitor.input_evidence import FittedInputs
from anharmonic.monitor.inputs import Inputs, InputStream
from anharmonic.monitor.rank_bets import RankBets
from anharmonic.monitor.rank_evidence import LevelScore, Lines, RankEvidence, SingleScore
from anharmonic.monitor.rank_groups import RankGroup
from anharmonic.regions.tables.kinds import ColumnKind
from anharmonic.regions.tables.storing import coding_facts, coding_from

__all__ = [
    "columns_arrays",
    "columns_facts",
    "columns_from",
    "inputs_arrays",
    "inputs_facts",
    "inputs_from",
    "ranks_arrays",
    "ranks_facts",
    "ranks_from",
]

BETS = ("edges", "ties", "gaps", "memory", "rates")
COLUMNS = ("gaps", "middles", "units", "axes")


def ranks_arrays(name: str, evidence: RankEvidence) -> dict[str, Array]:
    """The arrays of a channel."""
    arrays: dict[str, Array] = {
        f"{name}.shares": evidence.lines.shares,
        f"{name}.weights": evidence.lines.weights,
    }
    for number, (group, members) in enumerate(zip(evidence.groups, evidence.members, strict=True)):
        arrays[f"{name}.{number}.members"] = members
        for part in BETS:
            arrays[f"{name}.{number}.{part}"] = getattr(group.bets, part)
    return arrays


def ranks_facts(evidence: RankEvidence) -> dict[str, object]:
    """All else of it, ready for JSON."""
    single = evidence.single
    return {
        "ranks": [[group.block, group.bets.seed] for group in evidence.groups],
        "directions": list(evidence.directions),
        "rate": evidence.rate,
        "unpromised": evidence.unpromised,
        "levels": list(single.levels) if isinstance(single, LevelScore) else None,
        "single": [list(single.quantiles), single.tied]
        if isinstance(single, SingleScore)
        else None,
    }


def ranks_from(name: str, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> RankEvidence:
    """The channel that `ranks_facts` and `ranks_arrays` describe, before the first row."""
    groups, members = [], []
    for number, (block, seed) in enumerate(facts["ranks"]):
        parts = {part: arrays[f"{name}.{number}.{part}"] for part in BETS}
        bets = RankBets(**parts, seed=seed)
        groups.append(RankGroup(bets, block))
        members.append(arrays[f"{name}.{number}.members"])
    lines = Lines(tuple(facts["directions"]), arrays[f"{name}.shares"], arrays[f"{name}.weights"])
    single: SingleScore | LevelScore | None = None
    if facts["levels"] is not None:
        single = LevelScore(tuple(facts["levels"]))
    elif facts["single"] is not None:
        quantiles, tied = facts["single"]
        single = SingleScore(tuple(quantiles), tied)
    return RankEvidence.of(groups, members, lines, facts["rate"], single, facts["unpromised"])


def inputs_arrays(fitted: FittedInputs) -> dict[str, Array]:
    """What was learnt of a reference's columns."""
    return {**columns_arrays("inputs", fitted.inputs), "inputs.means": fitted.means}


def inputs_facts(fitted: FittedInputs) -> dict[str, object]:
    """What these numbers mean, ready for JSON."""
    return {
        **columns_facts(fitted.inputs),
        "left_out": fitted.left_out,
        "histograms": {
            name: [shown.labels, shown.shares, shown.edges, shown.levels]
            for name, shown in fitted.histograms.items()
        },
    }


def inputs_from(
    facts: Mapping[str, Any], arrays: Mapping[str, Array], evidence: RankEvidence
) -> FittedInputs:
    """The inputs that `inputs_facts` and `inputs_arrays` describe, with their channel."""
    histograms = {
        name: Histogram(tuple(labels), tuple(shares), tuple(edges), levels)
        for name, (labels, shares, edges, levels) in facts["histograms"].items()
    }
    inputs = columns_from("inputs", facts, arrays)
    return FittedInputs(inputs, evidence, arrays["inputs.means"], facts["left_out"], histograms)


def columns_arrays(name: str, inputs: Inputs) -> dict[str, Array]:
    """The arrays of how rows become streams."""
    arrays = {f"{name}.{part}": np.asarray(getattr(inputs, part)) for part in COLUMNS}
    for number, (levels, surprise) in enumerate(zip(inputs.levels, inputs.surprise, strict=True)):
        arrays[f"{name}.levels.{number}"] = levels
        arrays[f"{name}.surprise.{number}"] = surprise
    return arrays


def columns_facts(inputs: Inputs) -> dict[str, object]:
    """All else of it, ready for JSON."""
    return {
        "kinds": [list(kind[:3]) for kind in inputs.kinds],
        "coding": coding_facts(inputs.coding),
        "streams": [
            [column, aspect, None if np.isnan(level) else level]
            for column, aspect, level in inputs.streams
        ],
    }


def columns_from(name: str, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> Inputs:
    """What `columns_facts` and `columns_arrays` describe."""
    kinds = tuple(ColumnKind(*kind) for kind in facts["kinds"])
    streams = tuple(
        InputStream(column, aspect, float("nan") if level is None else level)
        for column, aspect, level in facts["streams"]
    )
    count = range(len(kinds))
    return Inputs(
        kinds=kinds,
        coding=coding_from(facts["coding"], kinds),
        streams=streams,
        levels=tuple(arrays[f"{name}.levels.{number}"] for number in count),
        surprise=tuple(arrays[f"{name}.surprise.{number}"] for number in count),
        **{part: arrays[f"{name}.{part}"] for part in COLUMNS},
    )
