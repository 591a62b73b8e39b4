"""Events, scores, alarms and detectors in one database: SQLite in a file, or PostgreSQL."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from pydantic_core import to_json
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    exc,
    func,
    insert,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.event import listen

from anharmonic.errors import InputError, MissingExtra, first_line
from anharmonic.serve.http.problems import (
    StoreDamaged,
    StoreUnavailable,
    UnstorableValue,
    WriteConflict,
)
from anharmonic.serve.monitor.locks import take_turns
from anharmonic.serve.monitor.records import Batch, EventResult, StoredLabel, StoredState
from anharmonic.serve.monitor.schema import alarms, events, labels, migrate, monitors

__all__ = ["Store"]

LOG = logging.getLogger("anharmonic.serve.monitor")
BUSY_MILLISECONDS = 5_000
CONNECT_SECONDS = 3
WRITE_LABEL = (
    "INSERT INTO labels (monitor, id, label, time, received, waiting) "
    "VALUES (:monitor, :id, :label, :time, :received, :waiting) "
    "ON CONFLICT (monitor, id) DO UPDATE SET label = excluded.label, time = excluded.time, "
    "received = excluded.received, waiting = excluded.waiting"
)
UNAVAILABLE = (exc.OperationalError, exc.InterfaceError, exc.InternalError, exc.TimeoutError)


class Store:
    """A database of events.

    A write is all or nothing: events, their scores, alarms and the detectors' state are in one
    transaction, and it is on the disk when `append` returns.

    Parameters
    ----------
    address
        A path, for SQLite, or a postgresql:// URL. A store that is not there is created, an older
        one is migrated.
    """

    def __init__(self, address: str | Path) -> None:
        url = _url(address)
        self.engine = _engine(url)
        try:
            with self.translate_errors():
                if url.get_backend_name() == "sqlite":
                    self._check_file()
                migrate(self.engine)
                self._check_tables()
        except (StoreDamaged, exc.SQLAlchemyError) as problem:
            self.close()
            raise InputError(
                f"the store {url.render_as_string(hide_password=True)} is damaged "
                f"({_reason(problem)}): restore a copy, or give another --store"
            ) from problem
        except BaseException:
            self.close()
            raise

    def _check_file(self) -> None:
        """Check every page of the file, before anything is acknowledged on them."""
        with self.engine.connect() as connection:
            result = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if result != "ok":
            raise StoreDamaged(str(result))

    def _check_tables(self) -> None:
        with self.engine.connect() as connection:
            inspector = inspect(connection)
            present = inspector.get_table_names()
            for table in (monitors, events, alarms, labels):
                columns = inspector.get_columns(table.name) if table.name in present else []
                missing = set(table.c.keys()) - {column["name"] for column in columns}
                if missing:
                    raise StoreDamaged(f"{table.name} lacks {', '.join(sorted(missing))}")

    def probe(self) -> None:
        """Raise where the store is unavailable."""
        with self.reading() as connection:
            connection.execute(select(monitors.c.sequence).limit(1)).all()

    def monitors(self) -> dict[str, list[str] | None]:
        """Monitors that have written here, with their columns where these are stored."""
        with self.reading() as connection:
            rows = connection.execute(select(monitors.c.name, monitors.c.columns)).all()
            names = list(_monitors_with_events(connection))
        columns = {row.name: row.columns and json.loads(row.columns) for row in rows}
        return {**dict.fromkeys(names), **columns}

    def read_state(self, monitor: str) -> StoredState:
        """A monitor's last event, and its detectors as they were left."""
        last = select(func.max(events.c.sequence)).where(events.c.monitor == monitor)
        with self.reading() as connection:
            # In this order: another service may write in between, and then the state is newer.
            newest = int(connection.execute(last).scalar() or 0)
            row = connection.execute(select(monitors).where(monitors.c.name == monitor)).first()
        if row is None:
            return StoredState(newest, None)
        if row.sequence < newest:
            raise StoreDamaged(
                f"{monitor} stands at event {row.sequence} and has event {newest}: restore a copy, "
                "or give a new --version"
            )
        return StoredState(
            int(row.sequence), bytes(row.state), row.about, int(row.revision), row.summary
        )

    def read_revision(self, monitor: str) -> int:
        """How often a monitor was written: whether another service has been at work."""
        query = select(monitors.c.revision).where(monitors.c.name == monitor)
        with self.reading() as connection:
            return int(connection.execute(query).scalar() or 0)

    def find_results(self, monitor: str, ids: Sequence[str]) -> dict[str, EventResult]:
        """Results by id, of those events of a monitor that are here already."""
        query = select(events.c.id, events.c.sequence, events.c.score).where(
            events.c.monitor == monitor, events.c.id.in_(ids)
        )
        with self.reading() as connection:
            rows = connection.execute(query).all()
        return {
            row.id: EventResult(row.id, row.sequence, row.score, duplicate=True) for row in rows
        }

    def find_labels(self, monitor: str, ids: Sequence[str]) -> dict[str, StoredLabel]:
        """Labels by id, of those that are here already."""
        query = select(labels).where(labels.c.monitor == monitor, labels.c.id.in_(ids))
        with self.reading() as connection:
            rows = connection.execute(query).all()
        return {row.id: StoredLabel(row.id, row.label, row.time, bool(row.waiting)) for row in rows}

    def count_waiting(self, monitor: str) -> int:
        """Labels whose events have not come."""
        query = select(func.count()).where(labels.c.monitor == monitor, labels.c.waiting == 1)
        with self.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def clear_alarms(
        self, monitor: str, moment: float, keep: Sequence[tuple[str, str | None, str]]
    ) -> None:
        """Mark alarms as cleared, but the latest of each (watched, segment, direction) to keep."""
        standing = (
            select(alarms.c.id, alarms.c.watched, alarms.c.segment, alarms.c.direction)
            .where(alarms.c.monitor == monitor, alarms.c.cleared.is_(None))
            .order_by(alarms.c.sequence.desc())
        )
        with self.reading() as connection:
            rows = connection.execute(standing).all()
        left, cleared = list(keep), []
        for row in rows:
            key = (row.watched, row.segment, row.direction)
            if key in left:
                left.remove(key)
            else:
                cleared.append(row.id)
        if cleared:
            with self.writing() as connection:
                connection.execute(
                    update(alarms).where(alarms.c.id.in_(cleared)).values(cleared=moment)
                )

    def append(self, batch: Batch) -> None:
        """Write a batch, or raise and leave everything as it was."""
        own_alarms = alarms.c.monitor == batch.monitor
        own_labels = labels.c.monitor == batch.monitor
        with self.writing() as connection:
            self._advance(connection, batch)
            if batch.clears:
                standing = update(alarms).where(own_alarms, alarms.c.cleared.is_(None))
                connection.execute(standing.values(cleared=batch.received))
            if batch.events:
                connection.execute(insert(events), _rows(batch))
            if batch.alarms:
                connection.execute(insert(alarms), [asdict(alarm) for alarm in batch.alarms])
            if batch.labels:
                connection.execute(text(WRITE_LABEL), _label_rows(batch))
            if batch.arrived:
                waited = update(labels).where(own_labels, labels.c.id.in_(batch.arrived))
                connection.execute(waited.values(waiting=0))

    def _advance(self, connection: Connection, batch: Batch) -> None:
        """Take the monitor from event `after` to the batch's last (optimistic locking).

        Sequence and revision are compared and set in one statement: of two writers that read the
        same state only one updates a row, the other gets `WriteConflict`. The sequence alone would
        not do: labels and resets change the state without an event.
        """
        values: dict[str, object] = {
            "sequence": batch.after + len(batch.events),
            "state": batch.state,
            "log_evidence": batch.log_evidence,
            "updated": batch.received,
        }
        if batch.about is not None:
            values |= {"about": batch.about, "columns": batch.columns}
        if batch.summary is not None:
            values["summary"] = batch.summary
        own = monitors.c.name == batch.monitor
        current = [own, monitors.c.sequence == batch.after]
        if batch.revision is not None:
            current.append(monitors.c.revision == batch.revision)
        updated = connection.execute(
            update(monitors).where(*current).values(**values, revision=monitors.c.revision + 1)
        )
        if updated.rowcount == 1:
            return
        if connection.execute(select(monitors.c.sequence).where(own)).first() is not None:
            raise WriteConflict(
                "another service writes for this monitor: give each its own --version"
            )
        values["revision"] = (batch.revision or 0) + 1
        connection.execute(insert(monitors).values(name=batch.monitor, **values))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with."""
        with self.translate_errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed at the end."""
        with self.translate_errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def turn(self, monitor: str) -> Iterator[None]:
        """Be the only service that writes for a monitor; in PostgreSQL the others wait."""
        with self.translate_errors(), take_turns(self.engine, monitor):
            yield

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise the database's errors as those of the service."""
        try:
            yield
        except exc.IntegrityError as problem:
            raise WriteConflict("another service wrote one of these events") from problem
        except (exc.DataError, UnicodeError, OverflowError) as problem:
            raise UnstorableValue("the store cannot keep a value of this request") from problem
        except UNAVAILABLE as problem:
            raise StoreUnavailable(
                f"the store does not answer ({_reason(problem)}): try again"
            ) from problem
        except exc.DatabaseError as problem:
            raise StoreDamaged(f"the store cannot be read ({_reason(problem)})") from problem

    def close(self) -> None:
        self.engine.dispose()


def _monitors_with_events(connection: Connection) -> Iterator[str]:
    """Names in the events table, by one index lookup each: DISTINCT would scan all rows."""
    name: str | None = ""
    while name is not None:
        following = select(func.min(events.c.monitor)).where(events.c.monitor > name)
        name = connection.execute(following).scalar()
        if name is not None:
            yield name


def _reason(problem: BaseException) -> str:
    return first_line(getattr(problem, "orig", None) or problem)


def _rows(batch: Batch) -> list[dict[str, object]]:
    others = batch.others or [None] * len(batch.events)
    evidences = batch.evidences or [None] * len(batch.events)
    return [
        {
            "sequence": batch.after + number,
            "id": event.id,
            "monitor": batch.monitor,
            "time": event.time,
            "received": batch.received,
            "segment": event.segment,
            "point": to_json(event.values).decode(),
            "score": score,
            "others": other,
            "evidence": evidence,
            "metadata": event.metadata,
            "evidences": by_name,
        }
        for number, (event, score, other, evidence, by_name) in enumerate(
            zip(batch.events, batch.scores, others, batch.evidence, evidences, strict=True), start=1
        )
    ]


def _label_rows(batch: Batch) -> list[dict[str, object]]:
    return [
        {
            "monitor": batch.monitor,
            "id": label.id,
            "label": label.label,
            "time": label.time,
            "received": batch.received,
            "waiting": int(label.waiting),
        }
        for label in batch.labels
    ]


def _url(address: str | Path) -> URL:
    text = str(address)
    if "://" not in text:
        _create_private(Path(text).absolute())
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


def _create_private(path: Path) -> None:
    """Create a file that only its owner reads: it will hold the inputs of a model."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        if os.name == "posix" and path.stat().st_mode & 0o007:
            LOG.warning("%s can be read by every user of this machine: chmod 600 it", path)
        return
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as problem:
        raise InputError(f"--store {path}: {problem.strerror}: give another path") from problem


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": BUSY_MILLISECONDS / 1000})
        listen(engine, "connect", _set_pragmas)
        return engine
    try:
        return create_engine(
            url,
            pool_pre_ping=True,
            pool_timeout=CONNECT_SECONDS,
            connect_args={
                "connect_timeout": CONNECT_SECONDS,
                "options": f"-c statement_timeout={BUSY_MILLISECONDS}",
                # A database that vanished without closing its connections is noticed.
                "tcp_user_timeout": 2 * BUSY_MILLISECONDS,
            },
        )
    except ImportError as problem:
        raise MissingExtra("psycopg", "postgres") from problem


def _set_pragmas(connection: sqlite3.Connection, _: object) -> None:
    """A commit is on the disk when it returns, and readers never wait for the writer."""
    for pragma in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}").close()
