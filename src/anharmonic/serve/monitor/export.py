"""Events as Parquet, one column per feature, for DuckDB, pandas and whatever else reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, and_, select

from anharmonic._core.files import whole_file
from anharmonic.errors import InputError
from anharmonic.serve.monitor.records import Cell
from anharmonic.serve.monitor.schema import events, labels
from anharmonic.serve.monitor.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["export"]

CHUNK = 20_000
FACTS = (
    *("sequence", "id", "monitor", "time", "received", "segment", "score", "evidence"),
    *("label", "label_time", "metadata"),
)
TEXTS = ("id", "monitor", "segment", "label", "metadata")


def export(
    store: Store,
    path: str | os.PathLike[str],
    columns: Sequence[str] = (),
    monitor: str | None = None,
) -> int:
    """Write every event to one Parquet file, whole or not at all; how many there were.

    Columns are number, id, times, segment, score and evidence of an event, its label (as text) and
    metadata (as JSON), then its features; a feature with the name of one of these becomes
    `feature_NAME`.

    Parameters
    ----------
    store
        Where the events are.
    path
        The Parquet file.
    columns
        Names of the features, where they are not to have those they came with.
    monitor
        One of several that share the store, "MODEL@VERSION".
    """
    import pyarrow.parquet as pq

    monitors = _choose_monitors(store, monitor)
    columns = columns or _column_names(store, monitors)
    count = 0
    with whole_file(path) as temporary:
        writer: Any = None
        try:
            for table in _tables(store, monitors, columns):
                writer = writer or pq.ParquetWriter(temporary, table.schema)
                writer.write_table(table.cast(writer.schema))
                count += len(table)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            pq.write_table(_table([], columns), temporary)
    return count


def _choose_monitors(store: Store, monitor: str | None) -> list[str]:
    """Monitors whose events have the same columns, so that one table holds them."""
    columns_of = store.monitors()
    names = ", ".join(columns_of)
    if monitor is not None:
        if monitor not in columns_of:
            raise InputError(f"no monitor {monitor!r} in the store: there are {names}")
        return [monitor]
    if len({json.dumps(columns) for columns in columns_of.values() if columns is not None}) > 1:
        raise InputError(
            f"the store holds monitors with other columns: choose with --monitor of {names}"
        )
    return list(columns_of)


def _column_names(store: Store, monitors: list[str]) -> list[str]:
    columns_of = store.monitors()
    return next((columns_of[name] or [] for name in monitors if columns_of[name]), [])


def _tables(store: Store, monitors: list[str], columns: Sequence[str]) -> Iterator[pa.Table]:
    for monitor in monitors:
        after = 0
        while rows := _chunk(store, monitor, after):
            after = rows[-1].sequence
            yield _table(rows, columns)


def _chunk(store: Store, monitor: str, after: int) -> Sequence[Row[Any]]:
    query = (
        select(events, labels.c.label, labels.c.time.label("label_time"))
        .outerjoin(labels, and_(labels.c.monitor == events.c.monitor, labels.c.id == events.c.id))
        .where(events.c.monitor == monitor, events.c.sequence > after)
        .order_by(events.c.sequence)
    )
    with store.reading() as connection:
        return connection.execute(query.limit(CHUNK)).all()


def _table(rows: Sequence[Row[Any]], columns: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    kinds = {"sequence": pa.int64(), **dict.fromkeys(TEXTS, pa.string())}
    arrays = {
        name: pa.array([getattr(row, name) for row in rows], kinds.get(name, pa.float64()))
        for name in FACTS
        if name != "label"
    }
    arrays["label"] = pa.array([_label(row.label) for row in rows], pa.string())
    points = [json.loads(row.point) for row in rows]
    width = len(points[0]) if points else len(columns)
    names = list(columns) if len(columns) == width else [f"feature_{i}" for i in range(width)]
    for index, name in enumerate(names):
        unique = f"feature_{name}" if name in FACTS else name
        arrays[unique] = _column([point[index] for point in points])
    return pa.table(arrays)


def _label(text: str | None) -> str | None:
    """A label as text: numbers as JSON writes them, text as it is."""
    value = None if text is None else json.loads(text)
    return value if isinstance(value, str) else text


def _column(values: list[Cell]) -> pa.Array:
    import pyarrow as pa

    # Whole numbers and missing ones become numbers too, so that chunks have one schema.
    text = any(isinstance(value, str) for value in values)
    if text:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())
