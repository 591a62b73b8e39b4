"""Text files and standard input as Parquet: they cannot be read from the middle, Parquet can.

A file is read once from beginning to end in blocks. Lines that are no rows are set aside with
their numbers, so that all other rows keep theirs. Types are those of the first lines; a column of
whole numbers that meets a fraction becomes one of fractions, one that meets many words a text, and
one that was empty what it holds later. Then the file is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from anharmonic.errors import InputError, first_line
from anharmonic.sources.csv_text import csv_blocks
from anharmonic.sources.formats import COMPRESSED, Outline, outline
from anharmonic.sources.json_text import json_blocks
from anharmonic.sources.patience import Interrupted, room_in
from anharmonic.sources.retyping import ROW, Kinds, Retyped
from anharmonic.sources.rows import Aside

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Staged", "stage"]

GROUP = 1 << 16
"""Rows that are read together later on."""
JSON = (".jsonl", ".ndjson")
NOTHING = Outline(None, ())
"""Of a file without rows, which need not have columns either."""


class Staged(NamedTuple):
    """A text file as Parquet, and what of it is no row."""

    outline: Outline
    aside: list[Aside]


def stage(
    source: IO[bytes],
    ending: str,
    name: str,
    filesystem: Any,
    target: str,
    check: Callable[[], None],
    kinds: Kinds | None = None,
) -> Staged:
    """Write a text file as Parquet.

    Parameters
    ----------
    source
        Opened at its beginning, and able to go back there.
    ending, name
        What the file holds, and what results call it.
    filesystem, target
        Where to write.
    check
        Raises OSError where the file's bytes cannot be had now: then nothing of it is damaged.
    kinds
        Types that columns have because other files say so.
    """
    separated = partial(csv_blocks, tabs=ending.startswith(".tsv"))
    read = json_blocks if ending.startswith(JSON) else separated
    known: Kinds = {**(kinds or {})}
    while True:
        source.seek(0)
        aside: list[Aside] = []
        try:
            with _plain(source, ending) as stream:
                blocks = _Blocks(read(stream, name, known, aside), name, check)
                rows = _write(blocks, filesystem, target, aside)
            return Staged(outline(filesystem, target) if rows else NOTHING, aside)
        except Retyped as again:
            known |= again.kinds


@contextmanager
def _plain(source: IO[bytes], ending: str) -> Iterator[Any]:
    """The file's text, uncompressed."""
    import pyarrow as pa

    how = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
    stream = pa.PythonFile(source, "r")
    packed = next((how[end] for end in COMPRESSED if ending.endswith(end)), None)
    yield stream if packed is None else pa.CompressedInputStream(stream, packed)


class _Blocks:
    """A file's blocks one after the other, as far as it can be read."""

    def __init__(self, blocks: Iterator[pa.Table], name: str, check: Callable[[], None]) -> None:
        self.blocks, self.name, self.check = blocks, name, check

    def first(self) -> pa.Table | None:
        """The first block; None where there is none."""
        try:
            return self._following()
        except InputError:
            raise
        except (ValueError, OSError) as problem:
            raise InputError(f"{self.name} cannot be read ({first_line(problem)})") from problem

    def following(self, rows: int, aside: list[Aside]) -> pa.Table | None:
        """The next block; None at the end, or where the file is damaged from here on."""
        try:
            return self._following()
        except (ValueError, OSError) as problem:
            reason = f"the rest of the file: {first_line(problem)}"
            aside.append(Aside(self.name, rows, None, reason))
            return None

    def _following(self) -> pa.Table | None:
        try:
            return next(self.blocks, None)
        except OSError:
            try:
                self.check()
            except OSError as failure:
                raise Interrupted(self.name) from failure
            raise


def _write(blocks: _Blocks, filesystem: Any, target: str, aside: list[Aside]) -> int:
    """Blocks into one Parquet file; damage ends the file there, and says so. Gives its rows."""
    import pyarrow.parquet as pq

    block = blocks.first()
    if block is None:
        return 0
    rows, folder = 0, target.rpartition("/")[0]
    with (
        room_in(folder),
        filesystem.open_output_stream(target) as stream,
        pq.ParquetWriter(stream, block.schema) as writer,
    ):
        while block is not None:
            writer.write_table(block, row_group_size=GROUP)
            rows = int(block[ROW][-1].as_py()) + 1 if len(block) else rows
            block = blocks.following(rows, aside)
    return rows
