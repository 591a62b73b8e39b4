"""Text files and standard input as Parquet: they cannot be read from the middle, Parquet can.

A file is read once from beginning to end in blocks. Lines that are no rows are set aside with
their numbers, so that all other rows keep theirs. Types are those of the first block; a column of
whole numbers that meets a fraction becomes one of fractions, one that meets many words a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from anharmonic.errors import InputError, first_line
from anharmonic.sources.csv_text import csv_blocks
from anharmonic.sources.formats import COMPRESSED, Outline, outline
from anharmonic.sources.json_text import json_blocks
from anharmonic.sources.retyping import ROW, Retyped
from anharmonic.sources.rows import Aside

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Staged", "stage"]

GROUP = 1 << 16
"""Rows that are read together later on."""


class Staged(NamedTuple):
    """A text file as Parquet, and what of it is no row."""

    outline: Outline
    aside: list[Aside]


def stage(source: IO[bytes], ending: str, name: str, filesystem: Any, target: str) -> Staged:
    """Write a text file as Parquet.

    Parameters
    ----------
    source
        Opened at its beginning, and able to go back there.
    ending, name
        What the file holds, and what results call it.
    filesystem, target
        Where to write.
    """
    told: dict[str, Any] = {}
    while True:
        source.seek(0)
        aside: list[Aside] = []
        try:
            with _plain(source, ending) as stream:
                blocks = (json_blocks if "json" in ending or "nd" in ending else csv_blocks)(
                    stream, name, told, aside
                )
                _write(blocks, filesystem, target, name, aside)
            return Staged(outline(filesystem, target), aside)
        except Retyped as again:
            told[again.column] = again.kind


@contextmanager
def _plain(source: IO[bytes], ending: str) -> Iterator[Any]:
    """The file's text, uncompressed."""
    import pyarrow as pa

    how = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
    stream = pa.PythonFile(source, "r")
    packed = next((how[end] for end in COMPRESSED if ending.endswith(end)), None)
    yield stream if packed is None else pa.CompressedInputStream(stream, packed)


def _write(
    blocks: Iterator[pa.Table], filesystem: Any, target: str, name: str, aside: list[Aside]
) -> None:
    """Blocks into one Parquet file; damage ends the file there, and says so."""
    import pyarrow.parquet as pq

    first = _next_block(blocks, name, 0, None)
    if first is None:
        raise InputError(f"{name} has no rows")
    rows, block = 0, first
    with (
        filesystem.open_output_stream(target) as stream,
        pq.ParquetWriter(stream, first.schema) as writer,
    ):
        while block is not None:
            writer.write_table(block, row_group_size=GROUP)
            rows = int(block[ROW][-1].as_py()) + 1 if len(block) else rows
            block = _next_block(blocks, name, rows, aside)


def _next_block(
    blocks: Iterator[pa.Table], name: str, rows: int, aside: list[Aside] | None
) -> pa.Table | None:
    """The next block; None at the end, or where the file is damaged from here on."""
    import pyarrow as pa

    try:
        return next(blocks, None)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as problem:
        if aside is None:
            raise InputError(f"{name} cannot be read ({first_line(problem)})") from problem
        aside.append(Aside(name, rows, None, f"the rest of the file: {first_line(problem)}"))
        return None
