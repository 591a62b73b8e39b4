"""What a worker does with a run of rows: read, measure, write what it found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic._core.statistics import Moments
from anharmonic._core.uncertainty import order_by_safe_ends
from anharmonic.errors import AnharmonicError, first_line
from anharmonic.measures.streaming.faults import Measure, measure_or_set_aside
from anharmonic.measures.streaming.folder import RunFolder
from anharmonic.measures.streaming.placing import Placing
from anharmonic.scores import Scores
from anharmonic.sources import Aside, Dataset, Rows, Shard

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Report", "ShardWork", "identified"]

WORST = 20
"""Rows of each part that are remembered as its most fragile."""


class Report(NamedTuple):
    """What is known of a part without opening it.

    `blocks` are moments of the values and of `squared`, and summed squared errors, of every block
    of rows in order: [count, mean, squares, mean of squared, squares of squared, errors²,
    values with errors, what noise alone would read]. `outputs` are moments of the model's answers
    in every block, [count, means, squares] with a number for each column. `worst` are the safe
    ends, values, errors, files, rows and keys of the most fragile.
    """

    shard: str
    rows: int
    measured: int
    aside: int
    unknown: int
    queries: int
    clipped: int
    precision: float
    blocks: list[list[float]]
    outputs: list[tuple[int, list[float], list[float]]]
    worst: list[list[Any]]


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
    """

    dataset: Dataset
    folder: RunFolder
    placing: Placing
    measure: Measure
    block: int

    def __call__(self, shard: Shard) -> Report:
        """The report of a shard whose part is written."""
        aside: list[Aside] = []
        pieces: list[tuple[Rows, Scores]] = []
        blocks: list[list[float]] = []
        outputs: list[tuple[int, list[float], list[float]]] = []
        rows = 0
        for batch in self._batches(shard, aside):
            rows += len(batch)
            setup, kept, unfit = self.placing.place(batch)
            aside += unfit
            if setup is None:
                continue
            measured = list(measure_or_set_aside(self.measure, setup, kept, aside))
            blocks += _block_moments([scores for _, scores in measured])
            outputs += _output_moments([scores for _, scores in measured])
            pieces += measured
        table = identified(pieces)
        report = Report(
            shard=shard.name,
            rows=rows,
            measured=0 if table is None else len(table),
            aside=sum(row.rows or 0 for row in aside),
            unknown=sum(row.rows is None for row in aside),
            queries=sum(scores.queries for _, scores in pieces),
            clipped=sum(_clipped(scores) for _, scores in pieces),
            precision=max((scores.settings.precision for _, scores in pieces), default=0.0),
            blocks=blocks,
            outputs=outputs,
            worst=_worst(pieces),
        )
        self.folder.write_aside(shard.name, aside)
        self.folder.write_part(shard, _empty() if table is None else table, report._asdict())
        return report

    def _batches(self, shard: Shard, aside: list[Aside]) -> Iterator[Rows]:
        """The shard's rows; where the file is damaged, those before the damage."""
        done = shard.start
        try:
            for batch in self.dataset.read(shard, self.block):
                yield batch
                done = (done // self.block + 1) * self.block
        except AnharmonicError:
            raise
        except Exception as problem:  # damage makes every library fail in ways of its own
            name = self.dataset.name_of(shard.file)
            left = self.dataset.count(shard._replace(start=min(done, shard.stop)))
            aside.append(Aside(name, done, left, f"cannot be read: {first_line(problem)}"))


def identified(pieces: list[tuple[Rows, Scores]]) -> pa.Table | None:
    """Scores with who their rows are beside them; rows without a number are left out."""
    import pyarrow as pa

    tables = []
    for rows, scores in pieces:
        answered = scores.turns > 0
        table = scores.to_arrow().replace_schema_metadata(None)
        if not answered.all():
            table, rows = table.filter(pa.array(answered)), rows.take(answered)
        who = {"file": pa.repeat(pa.scalar(rows.file), len(rows)), "row": pa.array(rows.numbers)}
        if rows.keys is not None:
            who["key"] = rows.keys
        columns = {**who, **{name: table[name] for name in table.column_names}}
        tables.append(pa.table(columns))
    return pa.concat_tables(tables) if tables else None


def _empty() -> pa.Table:
    import pyarrow as pa

    return pa.table({"row": pa.array([], pa.int64())})


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


def _worst(pieces: list[tuple[Rows, Scores]]) -> list[list[Any]]:
    """The most fragile rows, by the safe ends of their intervals, the most fragile first."""
    found: list[list[Any]] = []
    for rows, scores in pieces:
        low, high = scores.intervals()
        order = order_by_safe_ends(scores.values, (low, high), scores.fragile)
        order = order[np.isfinite(scores.values[order])][:WORST]
        ends = low if scores.fragile == "large" else high
        found += [_described(rows, scores, ends, row) for row in order.tolist()]
    sign = -1.0 if not pieces or pieces[0][1].fragile == "large" else 1.0
    return sorted(found, key=lambda entry: sign * float(entry[0]))[:WORST]


def _described(rows: Rows, scores: Scores, ends: Any, row: int) -> list[Any]:
    key = None if rows.keys is None else rows.keys[row].as_py()
    numbers: Integers = rows.numbers
    return [
        float(ends[row]),
        float(scores.values[row]),
        float(scores.errors[row]),
        rows.file,
        int(numbers[row]),
        key,
    ]
