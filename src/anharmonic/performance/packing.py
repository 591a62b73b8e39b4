"""A tracker's state as bytes, and back: an npz archive, no pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core.protocols import Array
from anharmonic.errors import InputError, SettingsError
from anharmonic.performance.sequences import FallDetector, MeanSequence
from anharmonic.performance.tracks import Track, Waiting
from anharmonic.performance.windows import Held, Window

if TYPE_CHECKING:
    from anharmonic.performance.tracker import PerformanceTracker

__all__ = ["pack_tracker", "unpack_tracker"]

FORMAT = 2
"""1: labels of open windows waited with their rows, and evidence knew neither rows nor losses."""
ARRAYS = ("values", "own", "shift", "weighted_residuals", "weighted_squares")
FACTS = ("number", "first", "last", "rows", "start", "known", "reason", "labelled")
SUMS = ("weights", "squared_weights")


def pack_tracker(tracker: PerformanceTracker) -> bytes:
    """Windows, open rows, waiting rows and evidence."""
    arrays: dict[str, Array] = {}
    tracks = [
        _pack_track(f"t{n}", track, arrays) for n, track in enumerate(tracker.tracks.values())
    ]
    rows = list(tracker.pending.rows.values())
    held = [(n, part, row.held[part]) for n, row in enumerate(rows) for part in row.held]
    if rows:
        arrays["p.outputs"] = np.array([row.outputs for row in rows])
    if held:
        arrays["p.residues"] = np.array([
            np.concatenate([one.expected[None], one.slopes]) for _, _, one in held
        ])  # fmt: skip
    sequence, detector = tracker.sequence, tracker.detector
    arrays["sequence"] = np.array([sequence.count, sequence.total, sequence.squares])
    arrays["detector"] = np.array(
        [detector.sums, detector.weighted, detector.rows, detector.losses]
    )
    about = {
        "format": FORMAT,
        "made": _settings(tracker),
        "seen": tracker.seen,
        "labels": detector.seen,
        "losses": detector.total,
        "segments": list(tracker.tracks),
        "tracks": tracks,
        "keys": list(tracker.pending.rows),
        "rows": [[row.segment, row.row] for row in rows],
        "residues": [[n, part, one.window] for n, part, one in held],
    }
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
        version, settings = about["format"], about["made"]
    except Exception as problem:  # zipfile's own errors have no common ancestor
        raise InputError("the state is no tracker's: use what state() gave") from problem
    if version > FORMAT:
        raise InputError("the state was written by a newer version: upgrade anharmonic")
    if settings != _settings(tracker):
        raise SettingsError(
            "the state is of a tracker with other settings (window, rows that wait, or a reference "
            "with other labels): make it alike, or start anew"
        )
    tracks: dict[str | None, Track] = {}
    for number, (segment, facts) in enumerate(zip(about["segments"], about["tracks"], strict=True)):
        track = Track(tracker.estimator, tracker.window, tracker.windows)
        _unpack_track(f"t{number}", track, facts, arrays)
        tracks[segment] = track
    tracker.tracks = tracks
    count, total, squares = arrays["sequence"].tolist()
    tracker.sequence = MeanSequence(0.0, 1.0, int(count), total, squares)
    tracker.seen = about["seen"]
    if version < FORMAT:
        tracker.pending.rows = _earlier_waiting(tracker, about, arrays)
    else:
        tracker.pending.rows = _waiting(about, arrays)
    tracker.detector = _detector(tracker, about, arrays["detector"])


def _settings(tracker: PerformanceTracker) -> list[Any]:
    """What a state must agree with."""
    settings = [tracker.window, tracker.windows, tracker.pending.most, tracker.segments]
    return [*settings, tracker.detector.limit, tracker.detector.rate, *tracker.estimator.metrics]


def _pack_track(name: str, track: Track, arrays: dict[str, Array]) -> dict[str, Any]:
    for part in ("outputs", "cells"):
        if getattr(track, part):
            arrays[f"{name}.{part}"] = np.array(getattr(track, part))
    if track.early:
        early = [[place, *label] for place, label in sorted(track.early.items())]
        arrays[f"{name}.early"] = np.array(early)
    if track.windows:
        parts = [[getattr(window, part) for part in ARRAYS] for window in track.windows]
        arrays[f"{name}.windows"] = np.array(parts)
        sums = [[getattr(window, part) for part in SUMS] for window in track.windows]
        arrays[f"{name}.sums"] = np.array(sums)
    facts = [[getattr(window, fact) for fact in FACTS] for window in track.windows]
    return {
        "keys": track.keys,
        "open": [track.first, track.start, track.closed, track.last],
        "windows": facts,
    }


def _unpack_track(
    name: str, track: Track, facts: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    track.outputs = list(arrays.get(f"{name}.outputs", []))
    track.cells = list(arrays.get(f"{name}.cells", []))
    track.keys = facts["keys"]
    track.places = {key: place for place, key in enumerate(track.keys) if key}
    for place, label, weight in arrays.get(f"{name}.early", np.empty((0, 3))).tolist():
        track.early[int(place)] = label, weight
    track.first, track.start, track.closed, *last = facts["open"]
    track.last = last[0] if last else track.first + max(len(track.keys) - 1, 0)
    for number, values in enumerate(facts["windows"]):
        parts = dict(zip(ARRAYS, arrays[f"{name}.windows"][number], strict=True))
        sums = dict(zip(SUMS, arrays[f"{name}.sums"][number].tolist(), strict=True))
        track.windows.append(Window(**dict(zip(FACTS, values, strict=True)), **parts, **sums))


def _waiting(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, Waiting]:
    rows = [
        Waiting(row, arrays["p.outputs"][number], segment)
        for number, (segment, row) in enumerate(about["rows"])
    ]
    for place, (number, part, window) in enumerate(about["residues"]):
        rows[number].held[part] = _held(window, arrays["p.residues"][place])
    return dict(zip(about["keys"], rows, strict=True))


def _held(window: int, parts: Array) -> Held:
    return Held(window, parts[0], parts[1:])


def _earlier_waiting(
    tracker: PerformanceTracker, about: Mapping[str, Any], arrays: Mapping[str, Array]
) -> dict[str, Waiting]:
    """Rows of format 1; labels that waited for an open window go to it."""
    rows = []
    for number, (segment, windows, _) in enumerate(about["rows"]):
        closed = dict(windows).get(None)
        # Rows were not numbered: that of their window, or the newest.
        row = tracker.seen - 1 if closed is None else closed * tracker.window
        rows.append(Waiting(row, arrays["p.outputs"][number], segment))
    for place, (number, part) in enumerate(about["residues"]):
        window = dict(about["rows"][number][1])[part]
        rows[number].held[part] = _held(window, arrays["p.residues"][place])
    waiting = {}
    for number, (key, row) in enumerate(zip(about["keys"], rows, strict=True)):
        label, weight = arrays["p.numbers"][number].tolist()
        if np.isnan(label):
            waiting[key] = row
            continue
        for part in about["rows"][number][2]:
            tracker.tracks[part].add_early(key, label, weight)
    return waiting


def _detector(tracker: PerformanceTracker, about: Mapping[str, Any], sums: Array) -> FallDetector:
    """Evidence as it was; of format 1 rows and losses as if they had come evenly."""
    limit, rate, seen = tracker.detector.limit, tracker.detector.rate, about["labels"]
    evidence, weighted, *others = (tuple(part) for part in sums.tolist())
    if others:
        rows, losses = others
        return FallDetector(limit, rate, evidence, weighted, rows, losses, seen, about["losses"])
    sequence = tracker.sequence
    loss = sequence.total / sequence.count if sequence.count else limit
    rows = tuple(tracker.seen / max(seen, 1) * start for start in weighted)
    losses = tuple(loss * start for start in weighted)
    return FallDetector(limit, rate, evidence, weighted, rows, losses, seen, loss * seen)
