"""A monitor in a file: all that it learned from the reference, and where it stands. No pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

from anharmonic import balls, models
from anharmonic._core.estimate import Estimate
from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Array, Ball, Floats
from anharmonic.errors import InputError, SettingsError
from anharmonic.measures.setup.table_rows import fixed_table_ball
from anharmonic.monitor.bets import Bets
from anharmonic.monitor.channels import Channels
from anharmonic.monitor.dependence import dependence_of, why_no_promise
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.input_evidence import FittedInputs
from anharmonic.monitor.packing import (
    FORMAT,
    WHOLE,
    own_detector,
    read,
    whole_name,
    written,
)
from anharmonic.monitor.performance_watch import PerformanceWatch
from anharmonic.monitor.rank_evidence import RankEvidence
from anharmonic.monitor.scorer import DATA, INPUTS, Scorer, Watch, Watched, chosen_watch
from anharmonic.monitor.storing_data import (
    check_refitted,
    weights_arrays,
    weights_facts,
    weights_from,
)
from anharmonic.monitor.storing_performance import judge_arrays, judge_facts, judge_from
from anharmonic.monitor.storing_ranks import (
    inputs_arrays,
    inputs_facts,
    inputs_from,
    ranks_arrays,
    ranks_facts,
    ranks_from,
)
from anharmonic.regions.tables.storing import law_arrays, law_facts, law_from

if TYPE_CHECKING:
    from anharmonic.monitor.monitor import Monitor

__all__ = ["Parts", "load", "save"]

BETS = ("clips", "thresholds", "bounds", "stakes", "weights")
"""The arrays of `Bets`, by their names in the file."""


def save(monitor: Monitor, path: str | os.PathLike[str], memory: int) -> Path:
    """Everything but the model, the memory of points and functions of the user's own."""
    scorer = monitor.scorer
    if any(callable(setting) for setting in (scorer.reduction, scorer.output, monitor.segment)):
        raise SettingsError(
            "an output, reduction or segment that is a function cannot be saved: name it"
        )
    state = monitor.state()
    arrays: dict[str, Array] = {"state": np.frombuffer(state, dtype=np.uint8)}
    for name, scores in monitor.reference.items():
        arrays[f"reference.{name}"] = scores
    for number, channel in enumerate(monitor.channels.values()):
        detector = own_detector(channel)
        if isinstance(detector, RankEvidence):
            arrays |= ranks_arrays(f"{number}", detector)
            continue
        for direction, bets in enumerate(detector.bets):
            for part in BETS:
                arrays[f"{number}.{direction}.{part}"] = getattr(bets, part)
    ball = scorer.ball
    if ball is not None:
        assert isinstance(ball, balls.Directions)
        # Of a pair only the first: the other is its reflection.
        arrays["ball"] = ball.vectors()[:: 2 if ball.paired else 1]
    if scorer.law is not None:
        arrays |= law_arrays(scorer.law)
    about = {"format": FORMAT, "memory": memory, **_settings(monitor)}
    if scorer.law is not None:
        about["law"] = law_facts(scorer.law)
    if scorer.over_data is not None:
        arrays |= weights_arrays(scorer.over_data)
        about["over_data"] = weights_facts(scorer.over_data)
    if monitor.fitted_inputs is not None:
        arrays |= inputs_arrays(monitor.fitted_inputs)
        about["inputs"] = inputs_facts(monitor.fitted_inputs)
    if monitor.judge is not None:
        arrays |= judge_arrays(monitor.judge)
        about["judge"] = judge_facts(monitor.judge)
    with whole_file(path) as temporary:
        Path(temporary).write_bytes(written(arrays, about))
    return Path(path)


def _settings(monitor: Monitor) -> dict[str, object]:
    """What `load` reads again; names are those of 0.1.0, which said sight for scorer."""
    scorer, ball = monitor.scorer, monitor.scorer.ball
    return {
        "rate": monitor.rate,
        "seed": monitor.seed,
        "segment": monitor.segment,
        "score": monitor.score,
        "fit_queries": monitor.fit_queries,
        "suspicion": monitor.suspicion,
        "usual_shares": [list(estimate) for estimate in monitor.usual_shares],
        "watch": {
            name: None if callable(thing) else thing for name, thing in monitor.watch.items()
        },
        "ball": None if ball is None else {"name": ball.name, "paired": ball.paired},
        "sight": {
            "columns": list(scorer.columns),
            "shape": list(scorer.shape),
            "still": scorer.still,
            "radius": None if ball is None else scorer.radius,
            "units": list(scorer.units),
            "reduction": scorer.reduction,
            "bounds": None if scorer.bounds is None else np.asarray(scorer.bounds).tolist(),
            "batch_size": scorer.batch_size,
            "output": scorer.output,
        },
        "channels": [
            {"name": list(name), **_channel_facts(own_detector(channel))}
            for name, channel in monitor.channels.items()
        ],
    }


def _channel_facts(detector: Evidence | RankEvidence) -> dict[str, object]:
    if isinstance(detector, RankEvidence):
        return ranks_facts(detector)
    return {
        "rate": detector.rate,
        "block": detector.block,
        "unpromised": detector.unpromised,
        "signs": [bets.sign for bets in detector.bets],
    }


class Parts(TypedDict):
    """What a monitor is assembled from."""

    scorer: Scorer
    watch: dict[str, Watched]
    reference: dict[str, Floats]
    channels: Channels
    rate: float
    segment: str | int | None
    score: float | str
    seed: int
    memory: int
    usual_shares: tuple[Estimate, ...]
    fit_queries: int
    suspicion: str
    inputs: FittedInputs | None
    judge: PerformanceWatch | None


def load(path: str | os.PathLike[str], model: object, watch: Watch | None) -> tuple[Parts, bytes]:
    """A saved monitor's parts and its state."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {file}: give what Monitor.save wrote")
    arrays, about = read(file, str(file))
    watched = _watched(about["watch"], watch)
    scorer = _scorer(about, arrays, model)
    if scorer.over_data is not None:
        name = next(name for name, thing in watched.items() if thing == DATA)
        check_refitted(scorer.over_data, arrays[f"reference.{name}"])
    channels = _channels(about["channels"], arrays)
    if about["format"] < WHOLE and isinstance(about["segment"], str):
        channels = {(watched, whole_name(name)): one for (watched, name), one in channels.items()}
    inputs = None
    if about.get("inputs") is not None:
        evidence = channels[INPUTS, None]
        assert isinstance(evidence, RankEvidence)
        inputs = inputs_from(about["inputs"], arrays, evidence)
        scorer = replace(scorer, inputs=inputs.inputs)
    parts: Parts = {
        "scorer": scorer,
        "watch": watched,
        "reference": {name: arrays[f"reference.{name}"] for name in watched},
        "channels": channels,
        "rate": about["rate"],
        "segment": about["segment"],
        "score": about["score"],
        "seed": about["seed"],
        "memory": about["memory"],
        "usual_shares": tuple(Estimate(*pair) for pair in about["usual_shares"]),
        "fit_queries": about["fit_queries"],
        "suspicion": about.get("suspicion", ""),
        "inputs": inputs,
        "judge": None
        if about.get("judge") is None
        else judge_from(about["judge"], arrays, scorer.model, about["seed"]),
    }
    return parts, arrays["state"].tobytes()


class _ChannelFacts(TypedDict):
    """A channel as the file describes it, beside its arrays."""

    name: list[str | None]
    rate: float
    block: int
    unpromised: NotRequired[str | None]
    signs: list[int]
    ranks: NotRequired[list[list[int]]]


def _channels(described: Sequence[_ChannelFacts], arrays: Mapping[str, Array]) -> Channels:
    channels: Channels = {}
    for number, facts in enumerate(described):
        watched, segment = facts["name"]
        assert watched is not None
        if "ranks" in facts:
            channels[watched, segment] = ranks_from(f"{number}", facts, arrays)
            continue
        bets = [
            Bets(sign, **{part: arrays[f"{number}.{direction}.{part}"] for part in BETS})
            for direction, sign in enumerate(facts["signs"])
        ]
        if "unpromised" in facts:
            unpromised = facts["unpromised"]
        else:
            # Before 0.2 blocks could be too short, and nobody asked.
            scores = arrays[f"reference.{watched}"]
            unpromised = why_no_promise(dependence_of(scores), len(scores), facts["block"])
        channels[watched, segment] = Evidence.of(bets, facts["rate"], facts["block"], unpromised)
    return channels


def _watched(saved: Mapping[str, str | None], given: Watch | None) -> dict[str, Watched]:
    """What is watched: as saved, and functions, of which only names are saved, as given."""
    named = {} if given is None else chosen_watch(given)
    missing = [name for name, thing in saved.items() if thing is None and name not in named]
    if missing:
        raise SettingsError(
            f"{', '.join(missing)} was a function: give it again with watch={{name: function}}"
        )
    return {name: named[name] if thing is None else thing for name, thing in saved.items()}


def _scorer(about: Mapping[str, Any], arrays: Mapping[str, Array], model: object) -> Scorer:
    saved, over_data = about["sight"], about.get("over_data")
    return Scorer(
        model=models.as_model(model, output=saved["output"]),
        columns=tuple(saved["columns"]),
        shape=tuple(saved["shape"]),
        still=saved["still"],
        radius=float("nan") if saved["radius"] is None else saved["radius"],
        units=tuple(saved["units"]),
        ball=None if about["ball"] is None else _ball(about["ball"], arrays["ball"]),
        reduction=saved["reduction"],
        bounds=saved["bounds"],
        batch_size=saved["batch_size"],
        output=saved["output"],
        over_data=None if over_data is None else weights_from(over_data, arrays),
        law=None if about.get("law") is None else law_from(about["law"], arrays),
    )


def _ball(saved: Mapping[str, Any], vectors: Floats) -> Ball:
    if not vectors.shape[1]:
        count = len(vectors) * (2 if saved["paired"] else 1)
        return fixed_table_ball(0, count, saved["paired"], 0)
    if not saved["paired"]:
        return balls.fixed(vectors, saved["name"])
    # `pairs` adds its word to the name again.
    return balls.pairs(balls.fixed(vectors, saved["name"].removesuffix(" pairs")))
