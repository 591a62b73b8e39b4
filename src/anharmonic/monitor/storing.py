"""A monitor in a file: all that it learned from the reference, and where it stands. No pickle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from anharmonic import balls, models
from anharmonic._core.estimate import Estimate
from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic.errors import InputError, SettingsError
from anharmonic.monitor.bets import Bets
from anharmonic.monitor.channels import Channels
from anharmonic.monitor.dependence import dependence_of, why_no_promise
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.packing import FORMAT, own, read, written
from anharmonic.monitor.scorer import Scorer, Watch, Watched, chosen_watch

if TYPE_CHECKING:
    from anharmonic.monitor.monitor import Monitor

__all__ = ["Parts", "load", "save"]

BETS = ("clips", "thresholds", "bounds", "stakes", "weights")


def save(monitor: Monitor, path: str | os.PathLike[str], memory: int) -> Path:
    """Everything but the model, the memory of points and functions of the user's own."""
    scorer = monitor.scorer
    if any(callable(each) for each in (scorer.reduction, scorer.output, monitor.segment)):
        raise SettingsError(
            "an output, reduction or segment that is a function cannot be saved: name it"
        )
    state = monitor.state()
    arrays: dict[str, Any] = {"state": np.frombuffer(state, dtype=np.uint8)}
    for name, scores in monitor.reference.items():
        arrays[f"reference.{name}"] = scores
    for place, channel in enumerate(monitor.channels.values()):
        for way, bets in enumerate(own(channel).bets):
            for part in BETS:
                arrays[f"{place}.{way}.{part}"] = getattr(bets, part)
    ball = scorer.ball
    assert isinstance(ball, balls.Directions)
    arrays["ball"] = ball.vectors()[:: 2 if ball.paired else 1]
    about = {"format": FORMAT, "memory": memory, **_settings(monitor, ball)}
    with whole_file(path) as temporary:
        Path(temporary).write_bytes(written(arrays, about))
    return Path(path)


def _settings(monitor: Monitor, ball: balls.Directions) -> dict[str, Any]:
    scorer = monitor.scorer
    return {
        "rate": monitor.rate,
        "seed": monitor.seed,
        "segment": monitor.segment,
        "score": monitor.score,
        "fit_queries": monitor.fit_queries,
        "suspicion": monitor.suspicion,
        "usual_shares": [list(each) for each in monitor.usual_shares],
        "watch": {name: None if callable(it) else it for name, it in monitor.watch.items()},
        "ball": {"name": ball.name, "paired": ball.paired},
        "sight": {
            "columns": list(scorer.columns),
            "shape": list(scorer.shape),
            "still": scorer.still,
            "radius": scorer.radius,
            "units": list(scorer.units),
            "reduction": scorer.reduction,
            "bounds": None if scorer.bounds is None else np.asarray(scorer.bounds).tolist(),
            "batch_size": scorer.batch_size,
            "output": scorer.output,
        },
        "channels": [
            {
                "name": list(name),
                "rate": own(channel).rate,
                "block": own(channel).block,
                "unpromised": own(channel).unpromised,
                "signs": [bets.sign for bets in own(channel).bets],
            }
            for name, channel in monitor.channels.items()
        ],
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


def load(path: str | os.PathLike[str], model: Any, watch: Watch | None) -> tuple[Parts, bytes]:
    """A saved monitor's parts and its state."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {file}: give what Monitor.save wrote")
    arrays, about = read(file, str(file))
    things = _watched(about["watch"], watch)
    channels: Channels = {}
    for place, each in enumerate(about["channels"]):
        bets = [
            Bets(sign, **{part: arrays[f"{place}.{way}.{part}"] for part in BETS})
            for way, sign in enumerate(each["signs"])
        ]
        watched, segment = each["name"]
        unpromised = each.get("unpromised")
        if "unpromised" not in each:
            # Before 0.2 blocks could be too short, and nobody asked.
            scores = arrays[f"reference.{watched}"]
            unpromised = why_no_promise(dependence_of(scores), len(scores), each["block"])
        channels[watched, segment] = Evidence.of(bets, each["rate"], each["block"], unpromised)
    parts: Parts = {
        "scorer": _scorer(about, arrays, model),
        "watch": things,
        "reference": {name: arrays[f"reference.{name}"] for name in things},
        "channels": channels,
        "rate": about["rate"],
        "segment": about["segment"],
        "score": about["score"],
        "seed": about["seed"],
        "memory": about["memory"],
        "usual_shares": tuple(Estimate(*each) for each in about["usual_shares"]),
        "fit_queries": about["fit_queries"],
        "suspicion": about.get("suspicion", ""),
    }
    return parts, arrays["state"].tobytes()


def _watched(saved: dict[str, Any], given: Watch | None) -> dict[str, Watched]:
    named = {} if given is None else chosen_watch(given)
    missing = [name for name, each in saved.items() if each is None and name not in named]
    if missing:
        raise SettingsError(
            f"{', '.join(missing)} was a function: give it again with watch={{name: function}}"
        )
    return {name: named[name] if each is None else each for name, each in saved.items()}


def _scorer(about: dict[str, Any], arrays: dict[str, Any], model: Any) -> Scorer:
    known = about["sight"]
    fixed = balls.fixed(arrays["ball"], about["ball"]["name"])
    paired = about["ball"]["paired"]
    return Scorer(
        model=models.as_model(model, output=known["output"]),
        columns=tuple(known["columns"]),
        shape=tuple(known["shape"]),
        still=known["still"],
        radius=known["radius"],
        units=tuple(known["units"]),
        ball=balls.pairs(fixed) if paired else fixed,
        reduction=known["reduction"],
        bounds=known["bounds"],
        batch_size=known["batch_size"],
        output=known["output"],
    )
