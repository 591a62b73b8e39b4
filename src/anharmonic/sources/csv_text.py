"""Files of separated values, block by block: every cell as its column's type, or set aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.files import csv_dialect
from anharmonic.sources.retyping import BLOCK, ROW, SHOWN, SOME, Retyped
from anharmonic.sources.rows import Aside

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["csv_blocks"]

FEWEST = 10
"""Cells from which on a single wrong one does not make a column of numbers a text."""


def csv_blocks(
    stream: Any, name: str, told: dict[str, Any], aside: list[Aside]
) -> Iterator[pa.Table]:
    """A .csv or .tsv file block by block, with the number of every row."""
    import pyarrow as pa
    from pyarrow import csv

    head = stream.read(1 << 16)
    separator, comma = csv_dialect(head)
    bad: set[int] = set()

    def skip(row: Any) -> str:
        # Physical numbers begin at 1 with the header.
        number = row.number - 2
        bad.add(number)
        wrong = f"{row.actual_columns} cells for {row.expected_columns} columns"
        aside.append(Aside(name, number, 1, f"{wrong}: {row.text[:SHOWN]}"))
        return "skip"

    convert = csv.ConvertOptions(
        decimal_point="," if comma else ".",
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types=told,
    )
    options = {
        "read_options": csv.ReadOptions(block_size=BLOCK, use_threads=False),
        "parse_options": csv.ParseOptions(delimiter=separator, invalid_row_handler=skip),
    }
    joined = _joined(head, stream)
    looked_at = csv.open_csv(
        pa.BufferReader(_whole_lines(head)), convert_options=convert, **options
    )
    first = looked_at.read_all()
    types = {
        name: told.get(name) or _kind_of(first[name].combine_chunks(), comma)
        for name in first.column_names
    }
    # The head has been looked at: its bad lines come again.
    bad.clear()
    aside.clear()
    as_text = csv.ConvertOptions(
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types=dict.fromkeys(types, pa.string()),
    )
    reader = csv.open_csv(joined, convert_options=as_text, **options)
    number = 0
    for record in reader:
        table = pa.Table.from_batches([record])
        # Lines that were skipped have numbers too.
        candidates = np.arange(number, number + len(table) + len(bad))
        numbers = np.setdiff1d(candidates, list(bad))[: len(table)]
        number = int(numbers[-1]) + 1 if len(table) else number
        bad -= set(range(number))
        yield _typed(table, numbers, types, name, aside, comma)


def _kind_of(cells: Any, comma: bool) -> Any:
    """The type of a column: that of its first cells, though a few of these may be wrong."""
    import pyarrow as pa

    if not pa.types.is_string(cells.type) or len(cells) < FEWEST:
        return cells.type
    for kind in (pa.int64(), pa.float64()):
        try:
            _cast("", cells, kind, comma)
        except Retyped:
            continue
        return kind
    return cells.type


def _joined(head: bytes, stream: Any) -> Any:
    """The stream as if its head had not been read."""
    import pyarrow as pa

    return pa.PythonFile(_Joined(head, stream), "r")


class _Joined:
    """A file whose first bytes were read already."""

    closed = False

    def __init__(self, head: bytes, rest: Any) -> None:
        self.head, self.rest = head, rest

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        if self.head:
            wanted = len(self.head) if size < 0 else size
            taken, self.head = self.head[:wanted], self.head[wanted:]
            return taken if size >= 0 else taken + self.rest.read()
        return bytes(self.rest.read(size) if size >= 0 else self.rest.read())

    def readable(self) -> bool:
        """As of any file that is read."""
        return True

    def close(self) -> None:
        """Leave it to whoever opened it."""


def _whole_lines(head: bytes) -> bytes:
    """A file's first bytes without a line that is cut off."""
    end = head.rfind(b"\n")
    return head if end < 0 or len(head) < 1 << 16 else head[: end + 1]


def _typed(
    table: pa.Table,
    numbers: NDArray[np.int64],
    types: dict[str, Any],
    name: str,
    aside: list[Aside],
    comma: bool = False,
) -> pa.Table:
    """Texts as what their columns are; rows with a cell that is none are set aside."""
    import pyarrow as pa

    keep = np.ones(len(table), dtype=bool)
    columns = {}
    for column, kind in types.items():
        columns[column], wrong = _cast(column, table[column].combine_chunks(), kind, comma)
        for row in np.flatnonzero(wrong & keep).tolist():
            cell = str(table[column][row].as_py())[:SHOWN]
            reason = f"column {column} holds {cell!r}, which is no {kind}"
            aside.append(Aside(name, int(numbers[row]), 1, reason))
        keep &= ~wrong
    made = pa.table({ROW: numbers, **columns})
    return made if keep.all() else made.filter(pa.array(keep))


def _cast(column: str, texts: Any, kind: Any, comma: bool) -> tuple[Any, NDArray[np.bool_]]:
    """A column of texts as its type, null where a text is none, and which those are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    right = np.zeros(len(texts), dtype=bool)
    if comma and pa.types.is_floating(kind):
        texts = pc.replace_substring(texts, ",", ".")
    if kind == pa.null():
        if texts.null_count == len(texts):
            return texts.cast(pa.float64()), right
        raise Retyped(column, pa.string())
    try:
        return texts.cast(kind), right
    except pa.ArrowInvalid:
        pass
    if pa.types.is_integer(kind):
        try:
            texts.cast(pa.float64())
        except pa.ArrowInvalid:
            pass
        else:
            raise Retyped(column, pa.float64())
    encoded = texts.dictionary_encode()
    levels = [_cast_one(level, kind) for level in encoded.dictionary.to_pylist()]
    wrong_level = np.array([value is None for value in levels] + [False])
    # A null cell has no level, and is a missing cell, not a wrong one.
    indices = encoded.indices.fill_null(len(levels)).to_numpy(zero_copy_only=False)
    wrong = wrong_level[indices]
    if wrong.mean() > SOME and wrong.sum() > 1:
        raise Retyped(column, pa.string())
    return pa.array([*levels, None], type=kind).take(pa.array(indices)), wrong


def _cast_one(text: str, kind: Any) -> object:
    import pyarrow as pa

    try:
        return pa.scalar(text).cast(kind).as_py()
    except pa.ArrowInvalid:
        return None
