"""What a worker does with a run of rows: read, measure, write what it found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic._core.statistics import Moments
from anharmonic._core.uncertainty import order_by_safe_ends
from anharmonic.errors import AnharmonicError, MeasurementStopped, first_line
from anharmonic.measures.streaming.faults import Losses, Measure, measure_or_set_aside
from anharmonic.measures.streaming.folder import RunFolder
from anharmonic.measures.streaming.placing import Placing
from anharmonic.scores import Scores
from anharmonic.sources import Aside, Dataset, Rows, Shard
from anharmonic.sources.identity import plain_key
from anharmonic.sources.patience import NotNow, read_patiently

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["WORST", "Report", "ShardWork", "fragile_first", "identified", "readable_batches"]

WORST = 20
"""Rows of each part that are remembered as its most fragile."""
NO_ROWS = np.empty(0, dtype=np.int64)


class Report(NamedTuple):
    """What is known of a part without opening it.

    `blocks` are moments of the values and of `squared`, and summed squared errors, of every block
    of rows in order: [count, mean, squares, mean of squared, squares of squared, errors²,
    values with errors, what noise alone would read]. `outputs` are moments of the model's answers
    in every block, [count, means, squares] with a number for each column. `worst` are the safe
    ends, values, errors, files, rows and keys of the most fragile. `away` says why there is no
    part: its rows could not be read now, and may be readable later.
    """

    shard: str
    rows: int
    measured: int
    aside: int
    unreadable: int
    queries: int
    clipped: int
    precision: float
    blocks: list[list[float]]
    outputs: list[tuple[int, list[float], list[float]]]
    worst: list[list[Any]]
    away: str | None = None


@dataclass(frozen=True)
class ShardWork:
    """Measure a shard and write its part: picklable, the same wherever it runs.

    Parameters
    ----------
    dataset, folder
        Where rows come from, and where parts go.
    placing, measure
        How rows become points, and how points are measured.
    block
        Rows that are measured together: shards begin at multiples of it.
    check
        Called when all rows are measured and nothing is written yet.
    """

    dataset: Dataset
    folder: RunFolder
    placing: Placing
    measure: Measure
    block: int
    check: Callable[[], None] | None = None

    def __call__(self, shard: Shard) -> Report:
        """The report of a shard whose part is written."""
        found = _Found(shard.name)
        try:
            for batch in readable_batches(self.dataset, shard, self.block, found.losses):
                found.rows += len(batch)
                setup, kept, unfit = self.placing.place(batch)
                found.losses.aside += unfit
                if setup is not None:
                    found.add(measure_or_set_aside(self.measure, setup, kept, found.losses))
        except NotNow as problem:
            return found.report(str(problem))
        except MemoryError as problem:
            raise MeasurementStopped(
                f"there is no memory left for {shard.name} ({first_line(problem)})",
                "all finished parts are kept: start again with fewer workers, or a smaller "
                "batch_size",
            ) from problem
        if self.check is not None:
            self.check()
        report = found.report()
        self.folder.write_aside(shard.name, found.losses.aside)
        self.folder.write_part(shard, found.table(), report._asdict())
        return report


def readable_batches(dataset: Dataset, shard: Shard, block: int, losses: Losses) -> Iterator[Rows]:
    """A shard's rows in blocks; where the file is damaged, those before the damage."""
    name = dataset.name_of(shard.file)
    check = partial(dataset.check_readable, shard.file)
    for run in dataset.batches(shard, block):
        try:
            rows = read_patiently(partial(dataset.rows, run, block), check, name)
        except (AnharmonicError, MemoryError):
            raise
        except Exception as problem:  # damage makes every library fail in ways of its own
            left = dataset.count(shard._replace(start=run.start))
            reason = f"cannot be read: {first_line(problem)}"
            losses.aside.append(Aside(name, run.start, left, reason))
            return
        yield rows


class _Found:
    """What a shard's rows gave so far: sums, and the scores themselves."""

    def __init__(self, shard: str) -> None:
        self.shard, self.rows, self.queries, self.clipped = shard, 0, 0, 0
        self.precision = 0.0
        self.losses = Losses()
        self.tables: list[pa.Table] = []
        self.blocks: list[list[float]] = []
        self.outputs: list[tuple[int, list[float], list[float]]] = []
        self.worst: list[list[Any]] = []

    def add(self, measured: Iterable[tuple[Rows, Scores]]) -> None:
        """Take in the scores of a block; of its rows only who they are is kept."""
        pieces = list(measured)
        scores = [piece for _, piece in pieces]
        self.blocks += _block_moments(scores)
        self.outputs += _output_moments(scores)
        self.worst = _worst(self.worst, pieces)
        self.tables += [identified(rows, piece) for rows, piece in pieces]
        self.queries += sum(piece.queries for piece in scores)
        self.clipped += sum(_clipped(piece) for piece in scores)
        self.precision = max([self.precision, *(piece.settings.precision for piece in scores)])

    def table(self) -> pa.Table:
        """The scores of all rows."""
        import pyarrow as pa

        return pa.concat_tables(self.tables) if self.tables else pa.table({"row": NO_ROWS})

    def report(self, away: str | None = None) -> Report:
        """What is known of the shard."""
        aside = self.losses.aside
        return Report(
            shard=self.shard,
            rows=self.rows,
            measured=sum(map(len, self.tables)),
            aside=sum(row.rows or 0 for row in aside),
            unreadable=sum(row.rows is None for row in aside),
            queries=self.queries + self.losses.queries,
            clipped=self.clipped,
            precision=self.precision,
            blocks=self.blocks,
            outputs=self.outputs,
            worst=self.worst,
            away=away,
        )


def identified(rows: Rows, scores: Scores) -> pa.Table:
    """Scores with who their rows are beside them; rows without a number are left out."""
    import pyarrow as pa

    answered = scores.turns > 0
    table = scores.to_arrow().replace_schema_metadata(None)
    if not answered.all():
        table, rows = table.filter(pa.array(answered)), rows.take(answered)
    who = {"file": pa.repeat(pa.scalar(rows.file), len(rows)), "row": pa.array(rows.numbers)}
    if rows.keys is not None:
        who["key"] = rows.keys
    return pa.table({**who, **{name: table[name] for name in table.column_names}})


def _block_moments(scores: list[Scores]) -> list[list[float]]:
    """Moments of one block of rows; none where nothing was measured."""
    kept = [np.isfinite(piece.values) for piece in scores]
    if not any(finite.any() for finite in kept):
        return []
    values, squared, errors = (
        np.concatenate(
            [getattr(piece, name)[finite] for piece, finite in zip(scores, kept, strict=True)]
        )
        for name in ("values", "squared", "errors")
    )
    first, second = Moments.of(values), Moments.of(squared)
    known = errors[np.isfinite(errors)]
    moments = (first.count, first.mean, first.squares, second.mean, second.squares)
    floors = [piece.floor * finite.sum() for piece, finite in zip(scores, kept, strict=True)]
    sums = (float(known @ known), float(len(known)), float(np.sum(floors)))
    return [[*(float(part) for part in moments), *sums]]


def _output_moments(scores: list[Scores]) -> list[tuple[int, list[float], list[float]]]:
    """Moments of one block's answers, column by column; none where there are none."""
    if not scores:
        return []
    columns = [piece.outputs[piece.turns > 0] for piece in scores]
    whole = np.concatenate([part.reshape(len(part), -1) for part in columns])
    whole = whole[np.isfinite(whole).all(axis=1)]
    if not len(whole):
        return []
    moments = Moments.of(whole)
    return [(len(whole), moments.mean.tolist(), moments.squares.tolist())]


def _clipped(scores: Scores) -> int:
    return round(scores.settings.clipped * scores.queries)


def _worst(known: list[list[Any]], pieces: list[tuple[Rows, Scores]]) -> list[list[Any]]:
    """The most fragile rows, by the safe ends of their intervals, the most fragile first."""
    found, large = list(known), True
    for rows, scores in pieces:
        low, high = scores.intervals()
        large = scores.fragile == "large"
        ends = low if large else high
        order = order_by_safe_ends(scores.values, (low, high), scores.fragile)
        order = order[np.isfinite(scores.values[order])][:WORST]
        found += [_described(rows, scores, ends, row) for row in order.tolist()]
    return fragile_first(found, large)


def fragile_first(entries: list[list[Any]], large: bool) -> list[list[Any]]:
    """The first of remembered rows in the order that `order_by_safe_ends` gives scores.

    Parameters
    ----------
    entries
        As `Report.worst` has them; a measure that asks once knows no ends.
    large
        Whether large values are the fragile ones.
    """

    def order(entry: list[Any]) -> tuple[float, float]:
        end, value = float(entry[0]), float(entry[1])
        if large:
            return (-end if math.isfinite(end) else 0.0), -value
        return (end if math.isfinite(end) else value), value

    return sorted(entries, key=order)[:WORST]


def _described(rows: Rows, scores: Scores, ends: Any, row: int) -> list[Any]:
    key = None if rows.keys is None else plain_key(rows.keys[row].as_py())
    numbers: Integers = rows.numbers
    return [
        float(ends[row]),
        float(scores.values[row]),
        float(scores.errors[row]),
        rows.file,
        int(numbers[row]),
        key,
    ]
