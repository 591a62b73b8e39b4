"""Detectors and counts as bytes, and back: small, of constant size, no pickle."""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from anharmonic._core.protocols import Array
from anharmonic.errors import InputError, SettingsError
from anharmonic.monitor.alarms import Alarm, Key
from anharmonic.monitor.channels import Channel, Channels
from anharmonic.monitor.detector import Evidence, State
from anharmonic.monitor.rank_evidence import RankEvidence
from anharmonic.monitor.rank_groups import RankState
from anharmonic.monitor.shiryaev_roberts import Sums, no_sums

__all__ = [
    *("FORMAT", "WHOLE", "Counts", "own_detector", "packed", "read", "unpacked"),
    *("whole_name", "written"),
]

FORMAT = 4
"""1: before 0.2, whose blocks may be of another length than the same reference has now; 3 knows
ranks; 4 names segments of whole floats as integers are named."""
RANKS, WHOLE = 3, 4


class Counts(NamedTuple):
    """What changes as a stream goes by, besides the evidence: counts, and standing alarms."""

    seen: int
    scored: int
    skipped: Counter[str]
    raised: dict[Key, Alarm]


def packed(channels: Channels, counts: Counts, tracked: bytes = b"") -> bytes:
    """State of the detectors and the counts, and of what else is tracked."""
    arrays: dict[str, Array] = {}
    for number, channel in enumerate(channels.values()):
        arrays |= _channel_arrays(f"{number}", own_detector(channel))
    about = {
        "format": FORMAT,
        "channels": [list(name) for name in channels],
        "seen": counts.seen,
        "scored": counts.scored,
        "skipped": dict(counts.skipped),
        "alarms": [alarm.plain() for alarm in counts.raised.values()],
    }
    if tracked:
        arrays["tracked"] = np.frombuffer(tracked, dtype=np.uint8)
    return written(arrays, about)


def unpacked(state: bytes, channels: Channels) -> tuple[Counts, bytes]:
    """Put the detectors into the state that was packed; the counts and what was tracked come
    back.
    """
    arrays, about = read(io.BytesIO(state), "the state")
    saved_channels = about.get("channels")
    if about["format"] < WHOLE and saved_channels is not None:
        saved_channels = [[watched, whole_name(name)] for watched, name in saved_channels]
    names = [list(name) for name in channels]
    if names not in (about.get("channels"), saved_channels):
        raise SettingsError("the state is of a monitor that watches something else")
    # All detectors change, or none: every state is checked before the first is taken.
    restored = [
        _checked_state(f"{number}", own_detector(channel), arrays, about["format"])
        for number, channel in enumerate(channels.values())
    ]
    for channel, saved in zip(channels.values(), restored, strict=True):
        detector = own_detector(channel)
        if isinstance(detector, Evidence):
            assert isinstance(saved, State)
            detector.state = saved
        else:
            assert isinstance(saved, list)
            for group, group_state in zip(detector.groups, saved, strict=True):
                group.state = group_state
    alarms = [
        Alarm(**{**fields, "carriers": tuple(fields.get("carriers", ()))})
        for fields in about["alarms"]
    ]
    if names != about.get("channels"):
        alarms = [replace(alarm, segment=whole_name(alarm.segment)) for alarm in alarms]
    raised = {alarm.key: alarm for alarm in alarms}
    counts = Counts(about["seen"], about["scored"], Counter(about["skipped"]), raised)
    return counts, arrays["tracked"].tobytes() if "tracked" in arrays else b""


def whole_name(segment: str | None) -> str | None:
    """A segment's name as it is since format 4.

    >>> [whole_name(name) for name in ("3.0", "3.5", "north", None)]
    ['3', '3.5', 'north', None]
    """
    if segment is None or not re.fullmatch(r"-?\d+\.0", segment):
        return segment
    return segment.removesuffix(".0")


def own_detector(channel: Channel) -> Evidence | RankEvidence:
    """The channel as one of the package's own detectors, or an error: no other can be stored."""
    if not isinstance(channel, Evidence | RankEvidence):
        raise SettingsError("a foreign detector cannot be stored: use detector='ranks'")
    return channel


def _channel_arrays(name: str, detector: Evidence | RankEvidence) -> dict[str, Array]:
    if isinstance(detector, Evidence):
        return _state_arrays(name, detector.state)
    arrays: dict[str, Array] = {}
    for number, state in enumerate(detector.states):
        arrays |= _state_arrays(f"{name}.{number}", state)
        # Counts of rows: four bytes are enough for billions of them.
        arrays[f"{name}.{number}.cells"] = state.counts.astype(np.uint32)
    return arrays


def _checked_state(
    name: str, detector: Evidence | RankEvidence, arrays: Mapping[str, Array], version: int
) -> State | list[RankState]:
    """A detector's state, or an error where it does not fit the detector."""
    if isinstance(detector, RankEvidence):
        states = []
        for number, now in enumerate(detector.states):
            part = f"{name}.{number}"
            if version < RANKS:
                # Evidence of another kind cannot go on. To begin anew breaks no promise.
                states.append(now)
                continue
            if f"{part}.cells" not in arrays or arrays[f"{part}.cells"].shape != now.counts.shape:
                raise SettingsError("the state is of a monitor that was fitted otherwise")
            one = _state_of(part, arrays)
            counts = arrays[f"{part}.cells"].astype(np.int64)
            states.append(RankState(one.sums, counts, *one[1:]))
        return states
    saved, usual = _state_of(name, arrays), detector.state
    if saved.waiting.shape != usual.waiting.shape or saved.sums[1].shape != usual.sums[1].shape:
        if version > 1:
            raise SettingsError("the state is of a monitor that was fitted otherwise")
        # Evidence in other blocks cannot go on. To begin anew breaks no promise.
        return usual._replace(sums=no_sums(usual.sums[1].size), held=0, steps=0)
    return saved


def _state_arrays(name: str, state: State | RankState) -> dict[str, Array]:
    return {
        f"{name}.begun": state.sums.begun,
        f"{name}.product": state.sums.product,
        f"{name}.parts": state.sums.parts,
        f"{name}.waiting": state.waiting,
        f"{name}.rows": state.waiting_rows,
        f"{name}.counts": np.array([state.held, state.steps], dtype=np.int64),
    }


def _state_of(name: str, arrays: Mapping[str, Array]) -> State:
    sums = Sums(*(arrays[f"{name}.{part}"] for part in ("begun", "product", "parts")))
    held, steps = arrays[f"{name}.counts"].tolist()
    return State(sums, arrays[f"{name}.waiting"], arrays[f"{name}.rows"], held, steps)


def written(arrays: Mapping[str, Array], about: Mapping[str, object]) -> bytes:
    """Arrays, and facts about them as JSON, as an npz archive."""
    stream = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(stream, about=text, **arrays)
    return stream.getvalue()


def read(
    source: str | os.PathLike[str] | BinaryIO, what: str
) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays and the facts that `written` put together; `what` names the source in errors."""
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
