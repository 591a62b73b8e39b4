"""Files that can be read from any row on: Parquet and Arrow, in batches that fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from anharmonic.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ARROW", "ENDINGS", "PARQUET", "TEXT", "Outline", "ending_of", "outline", "read_rows"]

PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".ipc")
COMPRESSED = (".gz", ".bz2", ".zst")
PLAIN_TEXT = (".csv", ".tsv", ".jsonl", ".ndjson")
TEXT = (*PLAIN_TEXT, *(text + how for text in PLAIN_TEXT for how in COMPRESSED))
ENDINGS = (*PARQUET, *ARROW, *TEXT)


class Outline(NamedTuple):
    """What a file says of itself: columns, rows, and the runs of rows that are read together."""

    schema: pa.Schema
    groups: tuple[int, ...]

    @property
    def rows(self) -> int:
        return sum(self.groups)


def ending_of(path: str) -> str:
    """The ending that says what a file holds; refused where it says nothing we know."""
    name = path.lower()
    for ending in sorted(ENDINGS, key=len, reverse=True):
        if name.endswith(ending):
            return ending
    raise InputError(f"{path}: data come as {', '.join(ENDINGS)}")


def outline(filesystem: Any, path: str) -> Outline:
    """A file's columns and rows, from its footer alone."""
    import pyarrow.parquet as pq

    with filesystem.open_input_file(path) as stream:
        if ending_of(path) in PARQUET:
            file = pq.ParquetFile(stream)
            groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            return Outline(file.schema_arrow, tuple(groups))
        reader = _arrow_reader(stream, path)
        sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        return Outline(reader.schema, tuple(sizes))


def read_rows(
    filesystem: Any,
    path: str,
    groups: Sequence[int],
    start: int,
    stop: int,
    columns: Sequence[str],
    batch: int,
) -> Iterator[pa.Table]:
    """Rows start…stop of a file in tables of at most `batch` rows.

    Only the runs of rows that are needed are read, one after the other.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with filesystem.open_input_file(path) as stream:
        parquet = ending_of(path) in PARQUET
        file = pq.ParquetFile(stream, pre_buffer=True) if parquet else _arrow_reader(stream, path)
        first = 0
        for number, size in enumerate(groups):
            begin, end = max(start - first, 0), min(stop - first, size)
            if begin < end:
                batches = (
                    file.iter_batches(batch, row_groups=[number], columns=list(columns))
                    if parquet
                    else [file.get_batch(number).select(list(columns))]
                )
                passed = 0
                for record in batches:
                    low, high = max(begin - passed, 0), min(end - passed, record.num_rows)
                    for at in range(low, high, batch):
                        yield pa.Table.from_batches([record.slice(at, min(batch, high - at))])
                    passed += record.num_rows
                    if passed >= end:
                        break
            first += size


def _arrow_reader(stream: Any, path: str) -> Any:
    import pyarrow as pa

    try:
        return pa.ipc.open_file(stream)
    except pa.ArrowInvalid as problem:
        raise InputError(
            f"{path} is no Arrow file that can be read from any row on: write it with "
            "pyarrow.feather.write_feather, or as Parquet"
        ) from problem
