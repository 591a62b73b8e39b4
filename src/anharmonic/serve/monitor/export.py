"""Events as Parquet, a column a feature, for DuckDB, pandas and whatever else reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from anharmonic._core.files import whole_file
from anharmonic.errors import InputError
from anharmonic.serve.monitor.schema import events
from anharmonic.serve.monitor.store import Store

__all__ = ["export"]

CHUNK = 20_000
FACTS = ("sequence", "id", "monitor", "time", "received", "segment", "score", "evidence")


def export(
    store: Store,
    path: str | os.PathLike[str],
    columns: Sequence[str] = (),
    monitor: str | None = None,
) -> int:
    """Write every event to one Parquet file, whole or not at all; how many there were.

    `columns` names the features, where they are not to have the names they came with. Features
    stand after the facts, a feature with a fact's name as `feature_NAME`. `monitor` chooses one
    of several that share the store, "MODEL@VERSION".
    """
    import pyarrow.parquet as pq

    names = _chosen(store, monitor)
    columns = columns or _names(store, names)
    many = 0
    with whole_file(path) as temporary:
        writer: Any = None
        try:
            for table in _tables(store, names, columns):
                writer = writer or pq.ParquetWriter(temporary, table.schema)
                writer.write_table(table.cast(writer.schema))
                many += len(table)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            pq.write_table(_table([], columns), temporary)
    return many


def _chosen(store: Store, monitor: str | None) -> list[str]:
    """Monitors whose events have the same columns, so that one table holds them."""
    known = store.monitors()
    if monitor is not None:
        if monitor not in known:
            raise InputError(f"no monitor {monitor!r} in the store: there are {', '.join(known)}")
        return [monitor]
    if len({json.dumps(columns) for columns in known.values() if columns is not None}) > 1:
        raise InputError(
            f"the store holds monitors with other columns: choose with --monitor of "
            f"{', '.join(known)}"
        )
    return list(known)


def _names(store: Store, monitors: list[str]) -> list[str]:
    known = store.monitors()
    return next((known[each] or [] for each in monitors if known[each]), [])


def _tables(store: Store, monitors: list[str], columns: Sequence[str]) -> Iterator[Any]:
    for monitor in monitors:
        after = 0
        while rows := _chunk(store, monitor, after):
            after = rows[-1].sequence
            yield _table(rows, columns)


def _chunk(store: Store, monitor: str, after: int) -> list[Any]:
    query = (
        select(events)
        .where(events.c.monitor == monitor, events.c.sequence > after)
        .order_by(events.c.sequence)
    )
    with store.reading() as connection:
        return list(connection.execute(query.limit(CHUNK)).all())


def _table(rows: list[Any], columns: Sequence[str]) -> Any:
    import pyarrow as pa

    kinds = {"sequence": pa.int64(), "id": pa.string(), "monitor": pa.string()}
    kinds |= {"segment": pa.string()}
    arrays = {
        name: pa.array([getattr(row, name) for row in rows], kinds.get(name, pa.float64()))
        for name in FACTS
    }
    points = [json.loads(row.point) for row in rows]
    wide = len(points[0]) if points else len(columns)
    names = list(columns) if len(columns) == wide else [f"feature_{i}" for i in range(wide)]
    for place, name in enumerate(names):
        shown = f"feature_{name}" if name in FACTS else name
        arrays[shown] = _column([point[place] for point in points])
    return pa.table(arrays)


def _column(values: list[Any]) -> Any:
    import pyarrow as pa

    # Whole numbers and missing ones become numbers too, so that chunks have one schema.
    text = any(isinstance(value, str) for value in values)
    if text:
        return pa.array([None if each is None else str(each) for each in values], pa.string())
    return pa.array([None if each is None else float(each) for each in values], pa.float64())
