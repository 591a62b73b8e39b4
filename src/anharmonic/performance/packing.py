"""A tracker's state as bytes, and back: an npz archive, no pickle."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core.protocols import Array
from anharmonic.errors import InputError, SettingsError
from anharmonic.performance.sequences import FallDetector, MeanSequence
from anharmonic.performance.tracks import Track, Waiting
from anharmonic.performance.windows import Window

if TYPE_CHECKING:
    from anharmonic.performance.tracker import PerformanceTracker

__all__ = ["pack_tracker", "unpack_tracker"]

FORMAT = 1
ARRAYS = ("values", "own", "shift", "sums", "squares")
FACTS = ("number", "first", "last", "rows", "start", "known", "reason", "labelled")
SUMS = ("weights", "squared_weights")


def pack_tracker(tracker: PerformanceTracker) -> bytes:
    """Windows, open rows, waiting rows and evidence."""
    arrays: dict[str, Array] = {}
    tracks = [
        _pack_track(f"t{n}", track, arrays) for n, track in enumerate(tracker.tracks.values())
    ]
    rows = list(tracker.pending.rows.values())
    residues = [(n, s, row.residues[s]) for n, row in enumerate(rows) for s in row.residues]
    if rows:
        arrays["p.outputs"] = np.array([row.outputs for row in rows])
        numbers = [[np.nan if row.label is None else row.label, row.weight] for row in rows]
        arrays["p.numbers"] = np.array(numbers)
    if residues:
        arrays["p.residues"] = np.array([residue for _, _, residue in residues])
    sequence, detector = tracker.sequence, tracker.detector
    arrays["sequence"] = np.array([sequence.count, sequence.total, sequence.squares])
    arrays["detector"] = np.array([detector.sums, detector.weighted])
    about = {
        "format": FORMAT,
        "made": _made(tracker),
        "seen": tracker.seen,
        "labels": detector.seen,
        "segments": list(tracker.tracks),
        "tracks": tracks,
        "keys": list(tracker.pending.rows),
        "rows": [
            [row.segment, [[s, number] for s, number in row.windows.items()],
             sorted(row.left, key=str)] for row in rows
        ],
        "residues": [[n, s] for n, s, _ in residues],
    }  # fmt: skip
    stream = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(stream, about=text, **arrays)
    return stream.getvalue()


def unpack_tracker(tracker: PerformanceTracker, state: bytes) -> None:
    """Put a tracker, made alike, into a state."""
    try:
        with np.load(io.BytesIO(state), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(arrays["about"].tobytes())
        kept = about["format"], about["made"]
    except Exception as problem:  # zipfile's own errors have no common ancestor
        raise InputError("the state is no tracker's: use what state() gave") from problem
    if kept[0] > FORMAT:
        raise InputError("the state was written by a newer version: upgrade anharmonic")
    if kept[1] != _made(tracker):
        raise SettingsError("the state is of a tracker with other settings: make it alike")
    tracks: dict[str | None, Track] = {}
    for number, (segment, facts) in enumerate(zip(about["segments"], about["tracks"], strict=True)):
        track = Track(tracker.estimator, tracker.window, tracker.windows)
        _unpack_track(f"t{number}", track, facts, arrays)
        tracks[segment] = track
    tracker.tracks = tracks
    tracker.pending.rows = _waiting(about, arrays)
    count, total, squares = arrays["sequence"].tolist()
    tracker.sequence = MeanSequence(0.0, 1.0, int(count), total, squares)
    sums, weighted = (tuple(part) for part in arrays["detector"].tolist())
    limit, rate = tracker.detector.limit, tracker.detector.rate
    tracker.detector = FallDetector(limit, rate, sums, weighted, about["labels"])
    tracker.seen = about["seen"]


def _made(tracker: PerformanceTracker) -> list[Any]:
    settings = [tracker.window, tracker.windows, tracker.pending.most, tracker.segments]
    return [*settings, tracker.detector.limit, tracker.detector.rate, *tracker.estimator.metrics]


def _pack_track(name: str, track: Track, arrays: dict[str, Array]) -> dict[str, Any]:
    for part in ("outputs", "cells"):
        if getattr(track, part):
            arrays[f"{name}.{part}"] = np.array(getattr(track, part))
    if track.windows:
        parts = [[getattr(window, part) for part in ARRAYS] for window in track.windows]
        arrays[f"{name}.windows"] = np.array(parts)
        sums = [[getattr(window, part) for part in SUMS] for window in track.windows]
        arrays[f"{name}.sums"] = np.array(sums)
    facts = [[getattr(window, fact) for fact in FACTS] for window in track.windows]
    return {
        "keys": track.keys,
        "open": [track.first, track.start, track.closed],
        "windows": facts,
    }


def _unpack_track(name: str, track: Track, facts: dict[str, Any], arrays: dict[str, Array]) -> None:
    track.outputs = list(arrays.get(f"{name}.outputs", []))
    track.cells = list(arrays.get(f"{name}.cells", []))
    track.keys = facts["keys"]
    track.first, track.start, track.closed = facts["open"]
    for number, values in enumerate(facts["windows"]):
        parts = dict(zip(ARRAYS, arrays[f"{name}.windows"][number], strict=True))
        sums = dict(zip(SUMS, arrays[f"{name}.sums"][number].tolist(), strict=True))
        track.windows.append(Window(**dict(zip(FACTS, values, strict=True)), **parts, **sums))


def _waiting(about: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Waiting]:
    rows: dict[str, Waiting] = {}
    for number, (key, (segment, windows, left)) in enumerate(
        zip(about["keys"], about["rows"], strict=True)
    ):
        label, weight = arrays["p.numbers"][number].tolist()
        rows[key] = Waiting(
            arrays["p.outputs"][number],
            segment,
            None if np.isnan(label) else label,
            weight,
            dict(windows),
            left=set(left),
        )
    listed = list(rows.values())
    for place, (number, segment) in enumerate(about["residues"]):
        listed[number].residues[segment] = arrays["p.residues"][place]
    return rows
