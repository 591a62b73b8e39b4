"""Detectors and counts as bytes, and back: small, of constant size, no pickle."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from anharmonic.errors import InputError, SettingsError
from anharmonic.monitor.alarms import Alarm, Key
from anharmonic.monitor.channels import Channel, Channels
from anharmonic.monitor.detector import Evidence, State
from anharmonic.monitor.shiryaev_roberts import Sums, no_sums

__all__ = ["FORMAT", "Kept", "own", "packed", "read", "unpacked", "written"]

FORMAT = 2
"""1: before 0.2, whose blocks may be of another length than the same reference has now."""


class Kept(NamedTuple):
    """What changes as a stream goes by, besides the evidence."""

    seen: int
    scored: int
    skipped: Counter[str]
    raised: dict[Key, Alarm]


def packed(
    channels: Channels, seen: int, scored: int, skipped: Counter[str], raised: dict[Key, Alarm]
) -> bytes:
    """State of the detectors and the counts."""
    arrays: dict[str, Any] = {}
    for place, channel in enumerate(channels.values()):
        arrays |= _state_arrays(f"{place}", own(channel).state)
    about = {
        "format": FORMAT,
        "channels": [list(name) for name in channels],
        "seen": seen,
        "scored": scored,
        "skipped": dict(skipped),
        "alarms": [alarm.plain() for alarm in raised.values()],
    }
    return written(arrays, about)


def unpacked(state: bytes, channels: Channels) -> Kept:
    """Put the detectors into the state that was packed; the counts come back."""
    arrays, about = read(io.BytesIO(state), "the state")
    if about.get("channels") != [list(name) for name in channels]:
        raise SettingsError("the state is of a monitor that watches something else")
    states = {}
    for place, channel in enumerate(channels.values()):
        found, now = _state_of(f"{place}", arrays), own(channel).state
        if found.waiting.shape != now.waiting.shape or found.sums[1].shape != now.sums[1].shape:
            if about["format"] > 1:
                raise SettingsError("the state is of a monitor that was fitted otherwise")
            # Evidence in other blocks cannot go on. To begin anew breaks no promise.
            found = now._replace(sums=no_sums(now.sums[1].size), held=0, steps=0)
        states[place] = found
    for place, channel in enumerate(channels.values()):
        own(channel).state = states[place]
    alarms = [Alarm(**each) for each in about["alarms"]]
    raised = {alarm.key: alarm for alarm in alarms}
    return Kept(about["seen"], about["scored"], Counter(about["skipped"]), raised)


def own(channel: Channel) -> Evidence:
    if not isinstance(channel, Evidence):
        raise SettingsError("a foreign detector cannot be stored: use detector='evidence'")
    return channel


def _state_arrays(name: str, state: State) -> dict[str, Any]:
    return {
        f"{name}.begun": state.sums.begun,
        f"{name}.product": state.sums.product,
        f"{name}.parts": state.sums.parts,
        f"{name}.waiting": state.waiting,
        f"{name}.rows": state.waiting_rows,
        f"{name}.counts": np.array([state.held, state.steps], dtype=np.int64),
    }


def _state_of(name: str, arrays: dict[str, Any]) -> State:
    sums = Sums(*(arrays[f"{name}.{part}"] for part in ("begun", "product", "parts")))
    held, steps = arrays[f"{name}.counts"].tolist()
    return State(sums, arrays[f"{name}.waiting"], arrays[f"{name}.rows"], held, steps)


def written(arrays: dict[str, Any], about: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(stream, about=text, **arrays)
    return stream.getvalue()


def read(source: Any, what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with np.load(source, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(arrays.pop("about").tobytes())
    except (OSError, ValueError, KeyError, EOFError) as problem:
        raise InputError(f"{what} was not written by a Monitor: use what save or state gave") from (
            problem
        )
    except Exception as problem:  # zipfile's own errors have no common ancestor
        raise InputError(f"{what} is damaged: {problem}") from problem
    if about["format"] > FORMAT:
        raise InputError(f"{what} was written by a newer version: upgrade anharmonic")
    return arrays, about
