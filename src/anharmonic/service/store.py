"""Events, scores, alarms and detectors in one database: SQLite in a file, or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic_core import to_json
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    exc,
    insert,
    make_url,
    select,
    update,
)

from anharmonic.errors import InputError, MissingExtra, first_line
from anharmonic.service.faults import Moved, StoreAway
from anharmonic.service.records import Batch, Kept, Told
from anharmonic.service.schema import alarms, events, head, migrate, monitors

__all__ = ["Store"]

BUSY_MILLISECONDS = 5_000
CONNECT_SECONDS = 3
AWAY = (exc.OperationalError, exc.InterfaceError, exc.InternalError, exc.TimeoutError)


class Store:
    """A database of events. `address` is a path, for SQLite, or a postgresql:// URL.

    A write is all or nothing: events, their scores, alarms and the detectors' state are in one
    transaction, and it is on the disk when `append` returns.
    """

    def __init__(self, address: str | Path) -> None:
        self.engine = _engine(_url(address))
        try:
            with self.answering():
                migrate(self.engine)
        except BaseException:
            self.close()
            raise

    def kept(self, monitor: str) -> Kept:
        """Where the store stands, and the detectors of a monitor as they were left."""
        with self.reading() as connection:
            last = connection.execute(select(head.c.sequence)).scalar_one()
            state = connection.execute(
                select(monitors.c.state).where(monitors.c.name == monitor)
            ).scalar()
        return Kept(int(last), None if state is None else bytes(state))

    def known(self, ids: Sequence[str]) -> dict[str, Told]:
        """Those events that are here already."""
        wanted = select(events.c.id, events.c.sequence, events.c.score).where(events.c.id.in_(ids))
        with self.reading() as connection:
            rows = connection.execute(wanted).all()
        return {row.id: Told(row.id, row.sequence, row.score, duplicate=True) for row in rows}

    def append(self, batch: Batch) -> None:
        """Write a batch, or raise and leave everything as it was."""
        last = batch.after + len(batch.events)
        with self.writing() as connection:
            moved = connection.execute(
                update(head).where(head.c.sequence == batch.after).values(sequence=last)
            )
            if moved.rowcount != 1:
                raise Moved("another service writes to this store: give each model its own")
            if batch.events:
                connection.execute(insert(events), _rows(batch))
            if batch.alarms:
                connection.execute(insert(alarms), [asdict(each) for each in batch.alarms])
            self._keep_state(connection, batch, last)

    def _keep_state(self, connection: Connection, batch: Batch, last: int) -> None:
        kept = {"sequence": last, "state": batch.state}
        found = connection.execute(
            update(monitors).where(monitors.c.name == batch.monitor).values(kept)
        )
        if not found.rowcount:
            connection.execute(insert(monitors).values(name=batch.monitor, **kept))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with."""
        with self.answering(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed at the end."""
        with self.answering(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A database's own errors as ours."""
        try:
            yield
        except exc.IntegrityError as problem:
            raise Moved("another service wrote one of these events") from problem
        except AWAY as problem:
            said = first_line(getattr(problem, "orig", None) or problem)
            raise StoreAway(f"the store does not answer ({said}): try again") from problem

    def close(self) -> None:
        self.engine.dispose()


def _rows(batch: Batch) -> list[dict[str, Any]]:
    others = batch.others or [None] * len(batch.events)
    return [
        {
            "sequence": batch.after + place,
            "id": each.id,
            "monitor": batch.monitor,
            "time": each.time,
            "received": batch.received,
            "segment": each.segment,
            "point": to_json(each.values).decode(),
            "score": score,
            "others": other,
            "evidence": evidence,
        }
        for place, (each, score, other, evidence) in enumerate(
            zip(batch.events, batch.scores, others, batch.evidence, strict=True), start=1
        )
    ]


def _url(address: str | Path) -> URL:
    text = str(address)
    if "://" not in text:
        Path(text).absolute().parent.mkdir(parents=True, exist_ok=True)
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError) as problem:
        raise InputError("--store is a path or postgresql://USER@HOST/DATABASE") from problem
    if url.get_backend_name() in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite":
        return url
    raise InputError(f"no store of kind {url.get_backend_name()}: SQLite or PostgreSQL")


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": BUSY_MILLISECONDS / 1000})
        event.listen(engine, "connect", _durable)
        return engine
    try:
        return create_engine(
            url,
            pool_pre_ping=True,
            pool_timeout=CONNECT_SECONDS,
            connect_args={
                "connect_timeout": CONNECT_SECONDS,
                "options": f"-c statement_timeout={BUSY_MILLISECONDS}",
            },
        )
    except ImportError as problem:
        raise MissingExtra("psycopg", "postgres") from problem


def _durable(connection: Any, _: Any) -> None:
    """A commit is on the disk when it returns, and readers never wait for the writer."""
    for pragma in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}").close()
