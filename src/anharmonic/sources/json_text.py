"""Files of JSON objects, one per line, block by block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anharmonic.errors import first_line
from anharmonic.sources.retyping import BLOCK, ROW, SHOWN, SOME, Retyped
from anharmonic.sources.rows import Aside

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["json_blocks"]


def json_blocks(
    stream: Any, name: str, told: dict[str, Any], aside: list[Aside]
) -> Iterator[pa.Table]:
    """A file of JSON objects, one per line, block by block."""
    number, types = 0, dict(told)
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
            yield _json_table(records, np.array(numbers), types, name, aside)


def _json_table(
    records: list[dict[str, Any]],
    numbers: NDArray[np.int64],
    types: dict[str, Any],
    name: str,
    aside: list[Aside],
) -> pa.Table:
    import pyarrow as pa

    names = list(types) or list(dict.fromkeys(key for record in records for key in record))
    columns, keep = {}, np.ones(len(records), dtype=bool)
    for column in names:
        cells = [record.get(column) for record in records]
        if column not in types:
            types[column] = _kind_of(cells)
        kind = types[column]
        if kind == pa.string():
            cells = [_as_text(cell) for cell in cells]
        try:
            columns[column] = pa.array(cells, type=kind)
            continue
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            pass
        if pa.types.is_integer(kind) and all(
            isinstance(cell, int | float | None) for cell in cells
        ):
            raise Retyped(column, pa.float64())
        whole = [cell if _fits(cell, kind) else None for cell in cells]
        wrong = np.array([a is not None and b is None for a, b in zip(cells, whole, strict=True)])
        if wrong.mean() > SOME and wrong.sum() > 1:
            raise Retyped(column, pa.string())
        for row in np.flatnonzero(wrong & keep).tolist():
            reason = f"column {column} holds {str(cells[row])[:SHOWN]!r}, which is no {kind}"
            aside.append(Aside(name, int(numbers[row]), 1, reason))
        keep &= ~wrong
        columns[column] = pa.array(whole, type=kind)
    made = pa.table({ROW: numbers, **columns})
    return made if keep.all() else made.filter(pa.array(keep))


def _kind_of(cells: list[Any]) -> Any:
    """The type that most cells of a first block have: floats beside integers are floats."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if (kinds <= {int, float} and float in kinds) or not kinds:
        return pa.float64()
    single = {bool: pa.bool_(), int: pa.int64(), str: pa.string()}
    counted = max(kinds, key=lambda kind: sum(type(cell) is kind for cell in cells))
    return single.get(counted, pa.string())


def _as_text(cell: object) -> str | None:
    return cell if isinstance(cell, str | None) else json.dumps(cell)


def _fits(cell: object, kind: Any) -> bool:
    import pyarrow as pa

    try:
        pa.array([cell], type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
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
