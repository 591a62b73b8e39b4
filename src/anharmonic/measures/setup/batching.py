"""Call a model for many points: in batches of the size it answers fastest, and checked."""

from __future__ import annotations

import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy, to_numpy64
from anharmonic._core.columns import shown
from anharmonic._core.protocols import Array, Floats, Integers, Map, Model
from anharmonic.errors import (
    AnharmonicError,
    DeviceFull,
    MeasurementStopped,
    OutputError,
    listed,
)
from anharmonic.models.cuda_overlap import StreamedModel, StreamPool
from anharmonic.regions import Region

__all__ = [
    "BatchSizer",
    "Flags",
    "ModelCaller",
    "answers",
    "call_on_device",
    "call_with_flags",
    "caller_for",
    "non_finite_error",
    "numbers",
]

Flags = NDArray[np.bool_]

LARGEST_CALL = 32768
CHUNK_BYTES, DEVICE_BYTES = 1 << 23, 1 << 29
DEVICE_CALL, DEVICE_CALL_BYTES = 512, 1 << 24
"""A device's calls: so many rows at least, more while they are small."""
SMALLEST_CALL, SMALLEST_NUMBERS, GROWTH = 512, 1 << 16, 4
"""Sizes of calls that are tried grow from here, by this factor; from fewer rows where each holds
thousands of numbers, because a network for images can be fastest with eight."""
TRIES = (3, 3, 2)
"""How often each size is tried before it is judged, from the smallest; larger ones once."""
RECENT = 8
GAIN = 0.9
"""The share of one size's time below which the next one's must be for a larger one to be tried.

A fixed cost per call that makes 512 rows an eighth dearer makes 2048 rows a thirtieth dearer;
below that a larger call cannot win much, and to a network it can be a loss."""
TIE = 1.02
"""Sizes this close are equal, and the smaller is taken: the allocator reuses its buffers."""
EXPLORED = 0.005
"""The share of all rows that goes to finding out whether another size has become faster."""


@dataclass
class BatchSizer:
    """How many rows a model gets in one call: `most` where that is fixed, or what proves fastest.

    Networks like what fits their caches, forests like more. Sizes are tried on the first calls
    of a run, which are needed anyway, larger ones as long as that pays, and now and then again,
    because a busy machine can make the best of them look bad. Answers do not depend on it.
    """

    most: int
    fixed: bool = False
    least: int = SMALLEST_CALL
    seconds_per_row: float | None = None
    total: int = 0
    rows: dict[int, int] = field(default_factory=dict)
    times: dict[int, tuple[float, ...]] = field(default_factory=dict)
    following: int = 0

    def size(self) -> int:
        """Rows for the next call."""
        return self.most if self.fixed else self.following or min(GROWTH * self.least, self.most)

    def record(self, rows: int, seconds: float) -> None:
        """Remember how long a call took."""
        self.seconds_per_row = seconds / rows
        size = self.size()
        if not self.fixed and 2 * rows > size:
            # Replaced, never changed in place: threads may be reading.
            self.times[size] = (*self.times.get(size, ()), seconds / rows)[-RECENT:]
            self.rows[size] = self.rows.get(size, 0) + rows
            self.total += rows
            self.following = self._next()

    def _next(self) -> int:
        sizes = self._worthwhile()
        for size, tries in zip_longest(sizes, TRIES[: len(sizes)], fillvalue=1):
            if len(self.times.get(size, ())) < tries:
                return size
        fastest = min(map(self._fastest, sizes))
        # In a tie the smallest size is the last choice: it makes the most calls, and was tried
        # only to measure the cost per call.
        ordered = [*sizes[1:], sizes[0]]
        best = next(size for size in ordered if self._fastest(size) <= TIE * fastest)
        # A size that has had less than its share of all rows is tried once more.
        share = EXPLORED * self.total
        rarely = (size for size in sizes if self.rows.get(size, 0) + size < share)
        return next((size for size in rarely if size != best), best)

    def _worthwhile(self) -> list[int]:
        """Sizes from the smallest up, as far as each has gained enough on the one before."""
        sizes = [min(self.least, self.most)]
        while sizes[-1] < self.most:
            sizes.append(min(GROWTH * sizes[-1], self.most))
        for end in range(2, len(sizes)):
            smaller, larger = sizes[end - 2 : end]
            if self._fastest(larger) >= GAIN * self._fastest(smaller):
                return sizes[:end]
        return sizes

    def halve(self, rows: int) -> None:
        """Half as many rows per call from now on: they did not fit on the model's device."""
        self.most, self.fixed = min(self.size(), max(1, rows // 2)), True

    def within(self, seconds: float, most: int) -> int:
        """Rows the model answers in some seconds, by the latest call; `most` if unknown."""
        if not self.seconds_per_row:
            return most
        return int(min(most, max(1.0, seconds / self.seconds_per_row)))

    def _fastest(self, size: int) -> float:
        """Seconds per row of the fastest recent call: a busy machine only makes calls slower."""
        return min(self.times.get(size, (np.inf,)))


class ModelCaller(NamedTuple):
    """A model, the region its points come from, its batch sizes, and its device.

    `device` is None for main memory. `turn` is held while calls are queued on the device.
    """

    model: Model
    region: Region
    sizer: BatchSizer
    device: str | None = None
    turn: AbstractContextManager[object] = nullcontext()

    @property
    def queued(self) -> bool:
        """Whether the device takes calls in advance and answers them in order."""
        return self.device is not None and self.device.startswith("cuda")

    def overlapped(self) -> tuple[ModelCaller, Map]:
        """The same caller for several CUDA streams, and the map that runs tasks on them."""
        if not self.queued:
            return self, map
        streams = StreamPool(self.device)
        return self._replace(model=StreamedModel(self.model, streams), turn=streams.turn), streams


def caller_for(
    model: Model, region: Region, batch_size: int | None = None, together: int = 1
) -> tuple[ModelCaller, int]:
    """The model's calls, and how many points to build at once.

    Calls have the size that is given, or the model asks for, or that proves fastest. A device of
    its own gets large ones, always of the same size, because some compile anew for every other: a
    multiple of `together`, the points that belong together.
    """
    size = batch_size or model.batch_size
    where = _device(model, region)
    # Where nothing moves, whole rows are asked for.
    dimension = region.dimension or len(region.names)
    if where is None:
        chunk = batch_size or max(64, min(LARGEST_CALL, CHUNK_BYTES // (8 * dimension)))
        least = min(SMALLEST_CALL, max(8, SMALLEST_NUMBERS // dimension))
        sizer = BatchSizer(chunk, least=least) if size is None else BatchSizer(size, fixed=True)
        return ModelCaller(model, region, sizer), chunk
    wanted = max(DEVICE_CALL, min(LARGEST_CALL, DEVICE_CALL_BYTES // (4 * dimension)))
    call = size or max(1, wanted // together) * together
    chunk = batch_size or max(1, DEVICE_BYTES // (4 * dimension * call)) * call
    return ModelCaller(model, region, BatchSizer(call, fixed=True), where), chunk


def _device(model: Model, region: Region) -> str | None:
    """Where points are built, if not in main memory."""
    first = region.values[:1]
    # A table's columns are put together on the host, whatever the model.
    placed = first if region.is_table else model.place(first)
    return str(placed.device) if is_torch_array(placed) and str(placed.device) != "cpu" else None


def answers(caller: ModelCaller, points: Array, rows: Integers) -> Floats:
    """The model's outputs for points (rows, points, n): checked, (rows, points, columns)."""
    return to_numpy64(call_on_device(caller, points, rows))


def call_on_device(caller: ModelCaller, points: Array, rows: Integers) -> Array:
    """The same outputs, left on a device that takes calls in advance: a network's thousand
    columns are soon reduced to a few, and only those need to be copied to main memory.
    """
    outputs, bad = call_with_flags(caller, points, rows)
    if bad.any():
        raise non_finite_error(rows[bad], caller.region)
    return outputs


def non_finite_error(rows: Integers, region: Region | None = None) -> OutputError:
    """The error that names rows at or near which a model gave no number."""
    affected = np.unique(rows).tolist()
    hint = "" if region is None else _gaps(region)
    problem = OutputError(
        f"the model gave NaN or infinity at or near rows {listed(affected, 10)}: leave them out "
        "(error.rows has all of them), or "
        + (hint or "give bounds= so that their neighbours stay legal")
    )
    problem.rows = affected
    return problem


def call_with_flags(caller: ModelCaller, points: Array, rows: Integers) -> tuple[Array, Flags]:
    """The same outputs with 0 where the model gave no number, and which rows that is, (rows,)."""
    row_count, points_per_row, dimension = points.shape
    flat = points.reshape((row_count * points_per_row, dimension))
    owners = np.repeat(rows, points_per_row)
    begun = time.perf_counter()
    answered = (_call_queued if caller.queued else _call_in_turn)(caller, flat, owners)
    outputs = answered.reshape((row_count, points_per_row, -1))
    xp = array_namespace(outputs)
    # One pass without an array of flags: a sum is finite unless something in it is not.
    finite = bool(xp.isfinite(xp.sum(outputs)))
    if caller.queued:
        caller.sizer.record(len(flat), time.perf_counter() - begun)
    if finite:
        return outputs, np.zeros(row_count, dtype=bool)
    bad = np.asarray(~np.isfinite(to_numpy64(outputs)).all(axis=(1, 2)))
    return xp.where(xp.isfinite(outputs), outputs, xp.zeros_like(outputs)), bad


def _call_queued(caller: ModelCaller, points: Array, rows: Integers) -> Array:
    """All answers in one array on the device, which gets every call before the first is done."""
    xp, where = array_namespace(points), device(points)
    answers: list[Array] = []
    with caller.turn:
        start = 0
        while start < len(points):
            call = _call_once(caller, points, rows, start)
            answer = _check_shape(call.answer, call.stop - call.start)
            if answers and answer.shape[1:] != answers[0].shape[1:]:
                raise _shape_changed_error(answer, answers[0])
            answers.append(xp.asarray(answer, dtype=xp.float64, device=where))
            start = call.stop
    return xp.concat(answers)


class PendingCall(NamedTuple):
    """A call for rows `start` to `stop`; a device may still be working on the answer."""

    start: int
    stop: int
    answer: Array
    begun: float


def _call_in_turn(caller: ModelCaller, points: Array, rows: Integers) -> Floats:
    """All answers in one array.

    Each call's answer is copied and let go before the next call: answers kept one by one would
    lie between the blocks of memory that a network takes and gives back at every call, so that
    it would find other, colder ones each time.
    """
    outputs: Floats | None = None
    start = 0
    while start < len(points):
        call = _call_once(caller, points, rows, start)
        answer = _check_shape(numbers(call.answer), call.stop - start)
        caller.sizer.record(len(answer), time.perf_counter() - call.begun)
        if outputs is None:
            outputs = np.empty((len(points), *answer.shape[1:]))
        elif answer.shape[1:] != outputs.shape[1:]:
            raise _shape_changed_error(answer, outputs)
        outputs[start : call.stop] = answer
        start = call.stop
        del answer, call
    assert outputs is not None
    return outputs


def _call_once(caller: ModelCaller, points: Array, rows: Integers, start: int) -> PendingCall:
    """One call; of half as many rows, and half of those, where the device's memory is full."""
    sizer, tried = caller.sizer, 0
    while True:
        stop = min(start + sizer.size(), len(points))
        # With the columns that stay.
        restored = caller.region.restored(points[start:stop], rows[start:stop])
        begun = time.perf_counter()
        try:
            call = PendingCall(start, stop, caller.model(restored), begun)
        except DeviceFull:
            if stop - start == 1:
                raise
            tried = tried or stop - start
            sizer.halve(stop - start)
            continue
        except AnharmonicError:
            raise
        except Exception as problem:
            affected = np.unique(rows[start:stop]).tolist()
            raise MeasurementStopped.because(problem, affected, _gaps(caller.region)) from problem
        if tried:
            warnings.warn(
                f"a call of {tried:,} rows did not fit on the device: going on with "
                f"{sizer.size():,} (batch_size={sizer.size()} starts with that)",
                stacklevel=2,
            )
        return call


def _gaps(region: Region) -> str:
    """What to do where a model may have failed because neighbours have missing cells."""
    law = region.neighbourhood
    if law is None or not any(site.movement == "gap" for site in law.sites):
        return ""
    names = [law.names[site.columns[0]] for site in law.sites if site.movement == "gap"]
    return (
        f"cells are missing in {shown(names)}, and so in some neighbours: if the model takes none, "
        "fill them in points and reference, or hold these columns still with moving="
    )


def _check_shape(outputs: Array, wanted: int) -> Array:
    """One row of numbers for each point, or an error that says what came instead."""
    if outputs.ndim == 0 or outputs.shape[0] != wanted:
        raise OutputError(
            f"the model was asked for {wanted} rows and gave shape {tuple(outputs.shape)}: "
            "it must return one row of outputs for each point"
        )
    return outputs


def _shape_changed_error(later: Array, earlier: Array) -> OutputError:
    return OutputError(
        f"the model gave rows of shape {tuple(later.shape[1:])} after rows of shape "
        f"{tuple(earlier.shape[1:])}: it must answer every point alike"
    )


def numbers(answer: Array) -> Floats:
    """Numbers in main memory, as precise as they came: what keeps them makes them float64."""
    try:
        array = np.asarray(to_numpy(answer))
        return array if array.dtype.kind in "fiub" else array.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise OutputError(
            "the model's answers are not numbers: choose what to measure with output=, "
            "for text labels output='onehot' and classes=[…]"
        ) from problem
