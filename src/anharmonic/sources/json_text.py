"""Files of JSON objects, one per line, block by block."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anharmonic.errors import first_line
from anharmonic.sources.retyping import BLOCK, ROW, SHOWN, SOME, Kinds, Retyped
from anharmonic.sources.rows import Aside

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["json_blocks"]

Records = list[dict[str, Any]]


def json_blocks(stream: Any, name: str, known: Kinds, aside: list[Aside]) -> Iterator[pa.Table]:
    """A file of JSON objects, one per line, block by block.

    Parameters
    ----------
    stream, name
        The text, and what results call the file.
    known
        Types that an earlier look at the file found; the others are those of its first block.
    aside
        Takes lines and cells that are unlike the rest.
    """
    number = 0
    kinds: Kinds = {}
    for lines in _blocks_of_lines(stream):
        records, numbers = [], []
        for line in lines:
            try:
                record = json.loads(line) if line.strip() else None
                if record is not None and not isinstance(record, dict):
                    raise ValueError("no object")
            except ValueError as problem:
                text = line[:SHOWN].decode("utf-8", "replace")
                aside.append(Aside(name, number, 1, f"{first_line(problem)}: {text}"))
                record = None
            if record is not None:
                records.append(record)
                numbers.append(number)
            number += bool(line.strip())
        if records:
            if not kinds:
                kinds = _kinds_of(records, known)
            yield _json_table(records, np.array(numbers), kinds, name, aside)


def _kinds_of(records: Records, known: Kinds) -> Kinds:
    """Columns and their types: those of a first block, then those that come later in the file."""
    names = dict.fromkeys(key for record in records for key in record)
    own = {name: known.get(name) or _kind_of(_cells(records, name)) for name in names}
    return {**own, **known}


def _json_table(
    records: Records,
    numbers: NDArray[np.int64],
    kinds: Kinds,
    name: str,
    aside: list[Aside],
) -> pa.Table:
    import pyarrow as pa

    later = dict.fromkeys(key for record in records for key in record if key not in kinds)
    others = {column: _kind_of(_cells(records, column)) for column in later}
    columns, keep = {}, np.ones(len(records), dtype=bool)
    for column in kinds:
        cells = _cells(records, column)
        found = _kind_of(cells) if kinds[column] == pa.null() else pa.null()
        if found == pa.float64():
            # What was empty so far is written as fractions.
            kinds[column] = found
        elif found != pa.null():
            others[column] = found
            continue
        kind = kinds[column]
        made, wrong = _column(cells, kind)
        if made is None:
            others[column] = wrong
            continue
        columns[column] = made
        for row in np.flatnonzero(wrong & keep).tolist():
            reason = f"column {column} holds {str(cells[row])[:SHOWN]!r}, which is no {kind}"
            aside.append(Aside(name, int(numbers[row]), 1, reason))
        keep &= ~wrong
    if others:
        raise Retyped({column: _written(kind) for column, kind in others.items()})
    table = pa.table({ROW: numbers, **columns})
    return table if keep.all() else table.filter(pa.array(keep))


def _column(cells: list[Any], kind: Any) -> tuple[Any, Any]:
    """Cells as a column and which of them are none of its type; None and the type they are."""
    import pyarrow as pa

    kind = _written(kind)
    if kind == pa.string():
        cells = [_as_text(cell) for cell in cells]
    if pa.types.is_integer(kind) and any(_is_fraction(cell) for cell in cells):
        # Arrow would cut it off.
        if all(isinstance(cell, int | float | None) for cell in cells):
            return None, pa.float64()
        cells = [str(cell) if _is_fraction(cell) else cell for cell in cells]
    if pa.types.is_floating(kind):
        cells = [_as_float(cell) for cell in cells]
    if _fit(cells, kind):
        return pa.array(cells, type=kind), np.zeros(len(cells), dtype=bool)
    whole = [cell if _fit([cell], kind) else None for cell in cells]
    wrong = np.array([a is not None and b is None for a, b in zip(cells, whole, strict=True)])
    if wrong.mean() > SOME and wrong.sum() > 1:
        return None, pa.string()
    return pa.array(whole, type=kind), wrong


def _is_fraction(cell: object) -> bool:
    return isinstance(cell, float) and not cell.is_integer()


def _as_float(cell: object) -> object:
    """A whole number as the nearest that fractions have; what is no number, as it is."""
    try:
        return float(cell) if type(cell) is int else cell
    except OverflowError:
        return cell


def _cells(records: Records, column: str) -> list[Any]:
    return [record.get(column) for record in records]


def _kind_of(cells: list[Any]) -> Any:
    """The type that most cells of a block have: floats beside integers are floats.

    >>> print(_kind_of([1, 0.5, None]), _kind_of([1, 0.5, 2, "unknown"]), _kind_of([1, [2]]))
    double double string
    """
    import pyarrow as pa

    counts = Counter(type(cell) for cell in cells if cell is not None)
    if not counts:
        return pa.null()
    number = pa.float64() if counts[float] else pa.int64()
    known = {number: counts[int] + counts[float], pa.bool_(): counts[bool]}
    kind = max(known, key=lambda kind: known[kind])
    return kind if 2 * known[kind] > counts.total() else pa.string()


def _written(kind: Any) -> Any:
    """The type of a column in the file: nothing but empty cells are fractions."""
    import pyarrow as pa

    return pa.float64() if kind == pa.null() else kind


def _as_text(cell: object) -> str | None:
    return cell if isinstance(cell, str | None) else json.dumps(cell)


def _fit(cells: list[Any], kind: Any) -> bool:
    import pyarrow as pa

    try:
        pa.array(cells, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return False
    return True


def _blocks_of_lines(stream: Any) -> Iterator[list[bytes]]:
    """Lines, as many as come in a block of bytes at a time."""
    rest = b""
    while data := stream.read(BLOCK):
        *lines, rest = (rest + bytes(data)).split(b"\n")
        yield lines
    if rest:
        yield [rest]
