"""Files that can be read from any row on: Parquet and Arrow, in batches that fit in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from anharmonic._core.columns import repeated, shown
from anharmonic.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ARROW",
    "ENDINGS",
    "PARQUET",
    "PIECE",
    "TEXT",
    "Outline",
    "RowReader",
    "check_readable",
    "ending_of",
    "is_empty",
    "outline",
    "pieces_of",
    "require_distinct",
]

PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".ipc")
COMPRESSED = (".gz", ".bz2", ".zst")
PLAIN_TEXT = (".csv", ".tsv", ".jsonl", ".ndjson")
TEXT = (*PLAIN_TEXT, *(text + how for text in PLAIN_TEXT for how in COMPRESSED))
ENDINGS = (*PARQUET, *ARROW, *TEXT)
TAIL, BUFFER, PIECE = 1 << 16, 1 << 16, 1 << 22
"""Bytes of a file's end, of each column that are read at once, and of a file whatever they mean."""


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
            found = Outline(file.schema_arrow, tuple(groups))
        else:
            reader = _arrow_reader(stream, path)
            sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
            found = Outline(reader.schema, tuple(sizes))
    require_distinct(found.schema.names)
    return found


def is_empty(filesystem: Any, path: str, column: str) -> bool:
    """Whether a file says that it has nothing but missing cells in a column."""
    import pyarrow.parquet as pq

    if ending_of(path) not in PARQUET:
        return False
    with filesystem.open_input_file(path) as stream:
        about = pq.ParquetFile(stream).metadata
        for group in map(about.row_group, range(about.num_row_groups)):
            for own in map(group.column, range(group.num_columns)):
                if own.path_in_schema == column:
                    known = own.statistics
                    if known is None or known.null_count != group.num_rows:
                        return False
    return True


def require_distinct(names: Sequence[str]) -> None:
    """Refuse columns that nobody can tell apart."""
    if twice := repeated(names):
        raise InputError(f"several columns are called {shown(twice)!r}: rename them")


class RowReader:
    """Rows of one file in tables, from any row on.

    Parquet can be decoded from the beginning of a run of rows only. So whoever reads on where they
    stopped, or further down, goes on with what is decoded already.

    Parameters
    ----------
    filesystem, path
        Where the file is.
    groups
        The runs of rows that are read together.
    columns
        Which are read.
    batch
        The most rows of a table.
    """

    def __init__(
        self,
        filesystem: Any,
        path: str,
        groups: Sequence[int],
        columns: Sequence[str],
        batch: int,
    ) -> None:
        self.ends = [0, *accumulate(groups)]
        self.columns, self.batch = list(columns), batch
        self.stream = filesystem.open_input_file(path)
        self.parquet = ending_of(path) in PARQUET
        local = filesystem.type_name == "local"
        self.file = (
            _parquet_file(self.stream, local) if self.parquet else _arrow_reader(self.stream, path)
        )
        self.group = self.at = -1
        self.records: Iterator[pa.RecordBatch] = iter(())
        self.left: pa.RecordBatch | None = None

    def close(self) -> None:
        """Let go of the file."""
        self.stream.close()

    def rows(self, start: int, stop: int) -> Iterator[pa.Table]:
        """Rows start…stop in tables of at most `batch` rows."""
        import pyarrow as pa

        while start < stop:
            record = self._record_with(start)
            skipped = start - self.at
            taken = record.slice(skipped, min(self.batch, stop - start))
            rest = record.slice(skipped + len(taken))
            start += len(taken)
            self.at, self.left = start, rest if len(rest) else None
            yield pa.Table.from_batches([taken])

    def _record_with(self, row: int) -> pa.RecordBatch:
        """What holds a row, beginning at row `at`; what comes before it in its run is skipped."""
        group = bisect_right(self.ends, row) - 1
        if group != self.group or row < self.at:
            self.group, self.at, self.left = group, self.ends[group], None
            self.records = iter(self._records_of(group))
        while True:
            record = next(self.records, None) if self.left is None else self.left
            if record is None:
                raise OSError("the file holds fewer rows than it says")
            if row < self.at + len(record):
                return record
            self.at, self.left = self.at + len(record), None

    def _records_of(self, group: int) -> Iterator[pa.RecordBatch]:
        if self.parquet:
            batches = self.file.iter_batches(self.batch, row_groups=[group], columns=self.columns)
            return iter(batches)
        return iter([self.file.get_batch(group).select(self.columns)])


def pieces_of(filesystem: Any, path: str, *, tail: bool = False) -> Iterator[bytes]:
    """A file's bytes, whatever they mean: OSError where nobody can have them now.

    Its `tail` is where Parquet and Arrow say what they hold.
    """
    with filesystem.open_input_file(path) as stream:
        if tail:
            stream.seek(max(0, stream.size() - TAIL))
        while piece := bytes(stream.read(PIECE)):
            yield piece


def check_readable(filesystem: Any, path: str, *, tail: bool = False) -> None:
    """Read a file's bytes and make nothing of them: OSError where nobody can have them now."""
    for _ in pieces_of(filesystem, path, tail=tail):
        pass


def _parquet_file(stream: Any, local: bool) -> Any:
    import pyarrow.parquet as pq

    if local:
        # Piece by piece as it is decoded: a run of rows need not fit in memory.
        return pq.ParquetFile(stream, pre_buffer=False, buffer_size=BUFFER)
    # A store answers slowly: all columns of a run are asked for at once.
    return pq.ParquetFile(stream, pre_buffer=True)


def _arrow_reader(stream: Any, path: str) -> Any:
    import pyarrow as pa

    try:
        return pa.ipc.open_file(stream)
    except pa.ArrowInvalid as problem:
        raise InputError(
            f"{path} is no Arrow file that can be read from any row on: write it with "
            "pyarrow.feather.write_feather, or as Parquet"
        ) from problem
