"""Points in an Arrow stream, whose size is checked before anything is unpacked.

A few hundred bytes can declare a billion rows (columns of nulls have no bytes), and compressed
buffers any size at all. So the messages' metadata are read first, which say how many rows and
whether compressed; the schema is checked; and only then are the batches read.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.metadata import metadata_texts
from anharmonic.serve.monitor.payloads import (
    MOST_POINTS,
    MOST_TEXT,
    build_events,
    check_size,
    seconds_since_1970,
)
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.row_schema import RowSchema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["events_of_arrow"]

FACTS = ("_id", "_segment", "_time", "_metadata")
MOST_MESSAGES = 2 * MOST_POINTS
DICTIONARY, BATCH = 2, 3
"""Kinds of messages, as the Arrow format numbers them."""


def events_of_arrow(body: bytes, row_schema: RowSchema) -> list[Event]:
    """The events in a stream: a column per feature, and `_id`, `_segment`, `_time`, `_metadata`."""
    import pyarrow as pa

    try:
        check_size(_declared_rows(body), len(row_schema.columns))
        with pa.ipc.open_stream(body) as reader:
            _check_columns(reader.schema, row_schema)
            table = reader.read_all()
        table.validate(full=True)
        _check_text(table)
        columns = {name: _values(table[name]) for name in table.column_names}
    except (pa.ArrowException, ValueError, OSError, NotImplementedError, struct.error) as problem:
        raise BadRequest(f"the body is no Arrow stream of a table ({problem})"[:300]) from None
    ids, segments = (_texts(columns.pop(name, None), name) for name in FACTS[:2])
    times = _moments(columns.pop("_time", None))
    metadata = metadata_texts(_objects(columns.pop("_metadata", None)))
    by_name = set(columns) == set(row_schema.columns)
    ordered = [columns[name] for name in row_schema.columns] if by_name else list(columns.values())
    return build_events(row_schema.rows(zip(*ordered, strict=True)), ids, segments, times, metadata)


def _declared_rows(body: bytes) -> int:
    """How many rows the stream's batches say they have; compressed ones are refused."""
    import pyarrow as pa

    rows = 0
    for index, message in enumerate(pa.ipc.MessageReader.open_stream(body)):
        if index > MOST_MESSAGES:
            raise BadRequest(f"the stream has more than {MOST_MESSAGES:,} messages: send fewer")
        for count, compressed in _batches(message.metadata.to_pybytes()):
            if compressed:
                raise BadRequest("the stream is compressed: send it without compression")
            rows += count if message.type == "record batch" else 0
    return rows


def _batches(metadata: bytes) -> Iterator[tuple[int, bool]]:
    """Rows of a message's batch, and whether its buffers are compressed.

    The metadata is a flatbuffer, which pyarrow has verified but does not show. Field numbers are
    those of the format's Message.fbs.
    """
    message = _follow(metadata, 0)
    # Message: header_type is field 1, header (a union, by offset) field 2.
    kind, header = _field(metadata, message, 1), _field(metadata, message, 2)
    if kind is None or header is None or metadata[kind] not in (DICTIONARY, BATCH):
        return
    batch: int | None = _follow(metadata, header)
    if metadata[kind] == DICTIONARY:
        # DictionaryBatch: its RecordBatch is field 1.
        data = _field(metadata, _follow(metadata, header), 1)
        batch = None if data is None else _follow(metadata, data)
    if batch is not None:
        # RecordBatch: length is field 0, compression field 3.
        length = _field(metadata, batch, 0)
        rows = 0 if length is None else struct.unpack_from("<q", metadata, length)[0]
        yield int(rows), _field(metadata, batch, 3) is not None


def _follow(data: bytes, position: int) -> int:
    """Where a flatbuffer's offset at a position points to."""
    return position + int(struct.unpack_from("<I", data, position)[0])


def _field(data: bytes, table: int, number: int) -> int | None:
    """The position of a field of a flatbuffer's table; None where it is absent."""
    # A table starts with the offset of its vtable: two sizes, then an offset per field.
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size, slot = struct.unpack_from("<H", data, vtable)[0], 4 + 2 * number
    offset = struct.unpack_from("<H", data, vtable + slot)[0] if slot < size else 0
    return table + int(offset) if offset else None


def _check_columns(schema: pa.Schema, row_schema: RowSchema) -> None:
    names = [name for name in schema.names if name not in FACTS]
    # An array's columns have no names of their own: any will do.
    named = set(names) == set(row_schema.columns) or row_schema.table is None
    if (
        not named
        or len(names) != len(row_schema.columns)
        or len(set(schema.names)) < len(schema.names)
    ):
        raise BadRequest(f"the columns are {', '.join(row_schema.columns[:50])}")
    odd = [field.name for field in schema if not _is_plain(field.type)]
    if odd:
        raise BadRequest(f"column {odd[0][:80]!r} holds neither numbers, text nor times")


def _is_plain(kind: pa.DataType) -> bool:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(kind):
        return bool(kinds.is_string(kind.value_type) or kinds.is_large_string(kind.value_type))
    checks = (
        *(kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_null),
        *(kinds.is_string, kinds.is_large_string, kinds.is_timestamp),
    )
    return any(check(kind) for check in checks)


def _check_text(table: pa.Table) -> None:
    """Refuse more text than `MOST_TEXT`, counted as it will be unpacked.

    Columns may share their bytes, and a dictionary's word may stand in every row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for column in table.columns:
        for chunk in column.chunks:
            words, indices = chunk, None
            if pa.types.is_dictionary(chunk.type):
                words, indices = chunk.dictionary, chunk.indices
            if not (pa.types.is_string(words.type) or pa.types.is_large_string(words.type)):
                continue
            lengths = pc.binary_length(words)
            lengths = lengths if indices is None else lengths.take(indices)
            total += pc.sum(lengths.cast(pa.int64())).as_py() or 0
    if total > MOST_TEXT:
        raise BadRequest(
            f"the text has {total:,} bytes: send fewer points", status=413, kind="size"
        )


def _values(column: pa.ChunkedArray) -> list[object]:
    """A column's values, missing ones as None; a dictionary's words once each."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        values: list[object] = column.to_pylist()
        return values
    unpacked: list[object] = []
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        unpacked += [None if index is None else words[index] for index in chunk.indices.to_pylist()]
    return unpacked


def _texts(values: list[object] | None, name: str) -> list[str | None] | None:
    if values is None:
        return None
    texts: list[str | None] = []
    for value in values:
        if value is None or (
            isinstance(value, str) and 1 <= len(value) <= 200 and value.isprintable()
        ):
            texts.append(value)
        else:
            raise BadRequest(f"{name} holds text of 1 to 200 printable characters")
    return texts


def _objects(values: list[object] | None) -> list[object] | None:
    """Metadata, which a column holds as JSON."""
    if values is None:
        return None
    try:
        return [None if text is None else json.loads(str(text)) for text in values]
    except (ValueError, RecursionError):
        raise BadRequest("_metadata holds JSON objects as text") from None


def _moments(values: list[object] | None) -> list[float | None] | None:
    if values is None:
        return None
    moments: list[float | None] = []
    for value in values:
        seconds = seconds_since_1970(value) if isinstance(value, datetime) else value
        if seconds is None or (isinstance(seconds, int | float) and abs(seconds) <= 1e11):
            moments.append(seconds)
        else:
            raise BadRequest("_time holds timestamps, or seconds since 1970")
    return moments
