"""Files of separated values, block by block: every cell as its column's type, or set aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core.files import csv_dialect, is_closed, spans_lines
from anharmonic.sources.csv_cells import (
    Cells,
    OtherKind,
    kind_of_first,
    kind_of_texts,
    marked,
    readable,
)
from anharmonic.sources.formats import require_distinct
from anharmonic.sources.retyping import BLOCK, ROW, SHOWN, SOME, Kinds, Retyped
from anharmonic.sources.rows import Aside

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["csv_blocks"]

HEAD, LINES, END = 1 << 16, 10, 1 << 10
"""Bytes at the beginning that types are taken from (more where they hold fewer lines), and bytes at
the end that are remembered."""


def csv_blocks(
    stream: Any, name: str, known: Kinds, aside: list[Aside], *, tabs: bool = False
) -> Iterator[pa.Table]:
    """A .csv or .tsv file block by block, with the number of every row.

    Parameters
    ----------
    stream, name
        The text, and what results call the file.
    known
        Types that an earlier look at the file found; the others are those of its first lines.
    aside
        Takes lines and cells that are unlike the rest.
    tabs
        Whether the file's name says that tabs separate its cells.
    """
    import pyarrow as pa
    from pyarrow import csv

    head, whole = _head(stream)
    if whole and len(head.strip().splitlines()) < 2:
        return  # a header alone, or nothing at all
    _check_header(head)
    separator, comma = csv_dialect(head, tabs)
    bad: set[int] = set()
    last: tuple[int, str] = (-1, "")

    def skip(row: Any) -> str:
        nonlocal last
        # Physical numbers begin at 1 with the header.
        number = row.number - 2
        bad.add(number)
        last = (number, row.text)
        wrong = f"{row.actual_columns} cells for {row.expected_columns} columns"
        aside.append(Aside(name, number, 1, f"{wrong}: {row.text[:SHOWN]}"))
        return "skip"

    options = {
        "read_options": csv.ReadOptions(block_size=BLOCK, use_threads=False),
        "parse_options": csv.ParseOptions(
            delimiter=separator, newlines_in_values=True, invalid_row_handler=skip
        ),
    }
    convert = csv.ConvertOptions(
        decimal_point="," if comma else ".",
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    lines = readable(head if whole else head[: head.rfind(b"\n") + 1])
    first = csv.open_csv(pa.BufferReader(lines), convert_options=convert, **options).read_all()
    require_distinct(first.column_names)
    cells = Cells(comma)
    kinds = {
        column: known.get(column) or kind_of_first(first[column].combine_chunks(), cells)
        for column in first.column_names
    }
    # The head has been looked at: its bad lines come again.
    bad.clear()
    aside.clear()
    as_text = csv.ConvertOptions(
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types=dict.fromkeys(kinds, pa.string()),
    )
    number = 0
    joined = _WholeLines(head, stream)
    read = csv.open_csv(pa.PythonFile(joined, "r"), convert_options=as_text, **options)
    for record, is_last in _and_last(read):
        table = pa.Table.from_batches([record])
        # Lines that were skipped have numbers too.
        candidates = np.arange(number, number + len(table) + len(bad))
        numbers = np.setdiff1d(candidates, list(bad))[: len(table)]
        number = int(numbers[-1]) + 1 if len(table) else number
        bad -= set(range(number))
        table = table.add_column(0, ROW, pa.array(numbers))
        unclosed = _unclosed(table, last, joined.end) if is_last else None
        # What it swallowed is no cell.
        aside[:] = [row for row in aside if unclosed is None or row.row != unclosed]
        whole_rows = table[: len(table) - (unclosed == number - 1)]
        yield _typed(whole_rows, kinds, name, aside, cells, joined.repaired)
        if unclosed is not None and joined.failed is None:
            raise ValueError(f"a quote that begins in row {unclosed:,} is never closed")
    if joined.failed is not None:
        raise joined.failed


def _and_last(records: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
    """Records, and whether each is the last; an error comes when all before it are out."""
    record = next(records, None)
    while record is not None:
        failed: Exception | None = None
        try:
            following = next(records, None)
        except (ValueError, OSError) as problem:
            following, failed = None, problem
            if "straddling" in str(problem):
                failed = ValueError("a line is very long, as where a quote is never closed")
        yield record, following is None and failed is None
        if failed is not None:
            raise failed
        record = following


def _unclosed(table: pa.Table, skipped: tuple[int, str], end: bytes) -> int | None:
    """The number of a file's last row where a quote in it is never closed; None where all are.

    Parameters
    ----------
    table
        The last rows.
    skipped
        The number and the text of the last line that was none.
    end
        The last bytes of the file.
    """
    number = table[ROW][-1].as_py() if len(table) else -1
    if skipped[0] > number:
        return skipped[0] if skipped[1].count('"') % 2 else None
    cell = table[-1][-1].as_py() if len(table) else None
    return number if spans_lines(cell) and not is_closed(end) else None


def _typed(
    table: pa.Table, kinds: Kinds, name: str, aside: list[Aside], cells: Cells, repaired: bool
) -> pa.Table:
    """Texts as what their columns are; rows with a cell that is none are set aside.

    `repaired` says that bytes of the file were no text, and have a mark in their place.
    """
    import pyarrow as pa

    keep = np.ones(len(table), dtype=bool)
    columns, others = {}, {}
    for column in kinds:
        texts = table[column].combine_chunks()
        garbled = marked(texts) if repaired else np.zeros(len(texts), dtype=bool)
        if garbled.sum() > max(1, SOME * len(garbled)):
            raise ValueError(f"column {column} is not written in UTF-8: save the file in UTF-8")
        for row in np.flatnonzero(garbled & keep).tolist():
            cell = str(texts[row].as_py())[:SHOWN]
            reason = f"column {column} holds {cell!r}, which is no text in UTF-8"
            aside.append(Aside(name, table[ROW][row].as_py(), 1, reason))
        keep &= ~garbled
        if kinds[column] == pa.null() and texts.null_count < len(texts):
            # The column was empty so far, and what is empty is written as fractions.
            found = kind_of_texts(texts, cells)
            if found != pa.float64():
                others[column] = found
                continue
            kinds[column] = found
        try:
            columns[column], wrong = cells.read(texts, kinds[column])
        except OtherKind as other:
            others[column] = other.kind
            continue
        for row in np.flatnonzero(wrong & keep).tolist():
            cell = str(texts[row].as_py())[:SHOWN]
            reason = f"column {column} holds {cell!r}, which is no {kinds[column]}"
            aside.append(Aside(name, table[ROW][row].as_py(), 1, reason))
        keep &= ~wrong
    if others:
        raise Retyped(others)
    made = pa.table({ROW: table[ROW], **columns})
    return made if keep.all() else made.filter(pa.array(keep))


def _check_header(head: bytes) -> None:
    """Refuse names that nobody can read."""
    try:
        (head.splitlines() or [b""])[0].decode()
    except UnicodeDecodeError:
        raise ValueError("its first line is not written in UTF-8: save the file in UTF-8") from None


def _head(stream: Any) -> tuple[bytes, bool]:
    """A file's first lines, and whether they are all of it."""
    wanted, head = HEAD, b""
    while wanted:
        more = bytes(stream.read(wanted))
        head, whole = head + more, len(more) < wanted
        enough = head.count(b"\n") > LINES or len(head) >= BLOCK
        wanted = 0 if whole or enough else len(head)
    return head, whole


class _WholeLines:
    """A file whose first bytes were read already, line by line up to where it can be read.

    Arrow reads ahead, and what it had not handed out yet when an error came would be lost: more or
    less of it, as threads happen to run. So errors wait until all lines before them are out.
    """

    closed = False

    def __init__(self, head: bytes, rest: Any) -> None:
        self.begun, self.ready, self.rest = head, bytearray(), rest
        self.failed: Exception | None = None
        self.ended, self.repaired, self.end = False, False, b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes, whole lines but for the last of the file."""
        while not self.ended and (size < 0 or len(self.ready) < size):
            self._read_on()
        wanted = len(self.ready) if size < 0 else size
        taken = bytes(self.ready[:wanted])
        del self.ready[:wanted]
        self.end = (self.end + taken)[-END:] if len(taken) < END else taken[-END:]
        return taken

    def _read_on(self) -> None:
        try:
            piece = bytes(self.rest.read(HEAD))
        except (OSError, ValueError) as problem:
            # A line that is cut off might be taken for a shorter number.
            self.failed, self.ended, piece, end = problem, True, b"", self.begun.rfind(b"\n") + 1
        else:
            self.begun += piece
            self.ended = not piece
            end = len(self.begun) if self.ended else self.begun.rfind(b"\n") + 1
        whole = self.begun[:end]
        lines = readable(whole)
        self.repaired |= lines is not whole
        self.ready += lines
        self.begun = self.begun[end:]

    def readable(self) -> bool:
        """As of any file that is read."""
        return True

    def close(self) -> None:
        """Leave it to whoever opened it."""
