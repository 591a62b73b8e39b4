"""The tables, and how an older store is migrated.

A migration never changes once it is released: a store is brought up to date by running those
that it has not had, each in a transaction with its number.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    inspect,
    text,
)

from anharmonic.errors import InputError

__all__ = ["VERSION", "alarms", "events", "labels", "migrate", "monitors"]

METADATA: Final = MetaData()

monitors = Table(
    "monitors",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("sequence", BigInteger),
    Column("state", LargeBinary),
    Column("columns", Text),
    Column("about", Text),
    Column("summary", Text),
    Column("revision", BigInteger),
    Column("log_evidence", Float),
    Column("updated", Float),
)
"""A monitor after its event `sequence` and its write `revision`: whoever advances these may write.

`state` are its detectors, `columns` its features' names as JSON, `about` its identity as JSON,
`summary` what pages of other processes need of it, as JSON; `log_evidence` is the largest now.
"""

events = Table(
    "events",
    METADATA,
    Column("monitor", Text, primary_key=True),
    Column("sequence", BigInteger, primary_key=True),
    Column("id", Text),
    Column("time", Float),
    Column("received", Float),
    Column("segment", Text),
    Column("point", Text),
    Column("score", Float),
    Column("others", Text),
    Column("evidence", Float),
    Column("metadata", Text),
    Column("evidences", Text),
)
"""What was observed, numbered for each monitor. `point` is JSON, in the reference's order;
`score` NULL was not scored; an `id` is known once in each monitor. `metadata` is JSON that never
reaches the model; `evidences` the largest log evidence of each thing watched since the last event
that has it, as JSON."""

labels = Table(
    "labels",
    METADATA,
    Column("monitor", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("label", Text),
    Column("time", Float),
    Column("received", Float),
    Column("waiting", Integer),
)
"""What turned out to be true of the event `id`; `label` is JSON, `waiting` 1 while no such event
has come."""

alarms = Table(
    "alarms",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("sequence", BigInteger),
    Column("monitor", Text),
    Column("time", Float),
    Column("watched", Text),
    Column("segment", Text),
    Column("direction", Text),
    Column("since", BigInteger),
    Column("log_evidence", Float),
    Column("threshold", Float),
    Column("attempts", Integer),
    Column("delivered", Float),
    Column("remark", Text),
    Column("details", Text),
    Column("cleared", Float),
    Column("acknowledged", Float),
    Column("acknowledged_by", Text),
    Column("note", Text),
)
"""What was raised, between event `since` and event `sequence`; `delivered` to the webhook.

`details` is JSON of what the monitor says carries it, `cleared` when it was reset; it was
`acknowledged` then, by somebody, with a note."""

MIGRATIONS: Final = (
    (
        "CREATE TABLE head (one {key} PRIMARY KEY, sequence BIGINT NOT NULL)",
        "INSERT INTO head (one, sequence) VALUES (1, 0)",
        "CREATE TABLE monitors (name TEXT PRIMARY KEY, sequence BIGINT NOT NULL, "
        "state {bytes} NOT NULL)",
        "CREATE TABLE events (sequence {key} PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
        "monitor TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, "
        "received DOUBLE PRECISION NOT NULL, segment TEXT, point TEXT NOT NULL, "
        "score DOUBLE PRECISION, evidence DOUBLE PRECISION)",
        "CREATE TABLE alarms (id TEXT PRIMARY KEY, sequence BIGINT NOT NULL, "
        "monitor TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, watched TEXT NOT NULL, "
        "segment TEXT, direction TEXT NOT NULL, since BIGINT NOT NULL, "
        "log_evidence DOUBLE PRECISION NOT NULL, threshold DOUBLE PRECISION NOT NULL)",
    ),
    (
        "ALTER TABLE events ADD COLUMN others TEXT",
        "ALTER TABLE alarms ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE alarms ADD COLUMN delivered DOUBLE PRECISION",
    ),
    (
        # Several models in one store: every monitor has its own numbers and ids.
        "ALTER TABLE events RENAME TO events_2",
        "CREATE TABLE events (monitor TEXT NOT NULL, sequence BIGINT NOT NULL, "
        "id TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, received DOUBLE PRECISION NOT NULL, "
        "segment TEXT, point TEXT NOT NULL, score DOUBLE PRECISION, others TEXT, "
        "evidence DOUBLE PRECISION, PRIMARY KEY (monitor, sequence), UNIQUE (monitor, id))",
        "INSERT INTO events SELECT monitor, sequence, id, time, received, segment, point, score, "
        "others, evidence FROM events_2 ORDER BY monitor, sequence",
        "DROP TABLE events_2",
        "CREATE INDEX events_by_segment ON events (monitor, segment, sequence) "
        "WHERE segment IS NOT NULL",
        "ALTER TABLE monitors ADD COLUMN columns TEXT",
        "ALTER TABLE monitors ADD COLUMN about TEXT",
        "DROP TABLE head",
    ),
    (
        # Late labels; metadata; evidence per channel; alarms that are acknowledged and cleared.
        "CREATE TABLE labels (monitor TEXT NOT NULL, id TEXT NOT NULL, label TEXT NOT NULL, "
        "time DOUBLE PRECISION, received DOUBLE PRECISION NOT NULL, waiting INTEGER NOT NULL, "
        "PRIMARY KEY (monitor, id))",
        "CREATE INDEX labels_waiting ON labels (monitor, received) WHERE waiting = 1",
        "ALTER TABLE events ADD COLUMN metadata TEXT",
        "ALTER TABLE events ADD COLUMN evidences TEXT",
        "ALTER TABLE alarms ADD COLUMN remark TEXT",
        "ALTER TABLE alarms ADD COLUMN details TEXT",
        "ALTER TABLE alarms ADD COLUMN cleared DOUBLE PRECISION",
        "ALTER TABLE alarms ADD COLUMN acknowledged DOUBLE PRECISION",
        "ALTER TABLE alarms ADD COLUMN acknowledged_by TEXT",
        "ALTER TABLE alarms ADD COLUMN note TEXT",
        "ALTER TABLE monitors ADD COLUMN summary TEXT",
        "ALTER TABLE monitors ADD COLUMN revision BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE monitors ADD COLUMN log_evidence DOUBLE PRECISION",
        "ALTER TABLE monitors ADD COLUMN updated DOUBLE PRECISION",
    ),
)
VERSION: Final = len(MIGRATIONS)


TYPES: Final = {
    "postgresql": {"key": "BIGINT", "bytes": "BYTEA"},
    "sqlite": {"key": "INTEGER", "bytes": "BLOB"},
}
LOCKS: Final = {
    "postgresql": (
        "SET LOCAL statement_timeout = 0",
        "SELECT pg_advisory_xact_lock(7263840193)",
    ),
    # Python's driver begins a transaction before INSERT and its like, not before CREATE TABLE.
    "sqlite": ("BEGIN IMMEDIATE",),
}
"""Statements that make processes which open a store at the same time wait for each other."""


def migrate(engine: Engine, to: int = VERSION) -> None:
    """Run the migrations that a store has not had; one of a later version is refused."""
    types, locks = TYPES[engine.dialect.name], LOCKS[engine.dialect.name]
    while True:
        with engine.begin() as connection:
            for statement in locks:
                connection.exec_driver_sql(statement)
            version = _version(connection)
            if version > VERSION:
                raise InputError(
                    f"the store has schema version {version} and this anharmonic knows "
                    f"{VERSION}: upgrade anharmonic, or give another --store"
                )
            if version >= to:
                return
            for statement in MIGRATIONS[version]:
                connection.execute(text(statement.format(**types)))
            connection.execute(text("UPDATE schema_version SET version = :v"), {"v": version + 1})


def _version(connection: Connection) -> int:
    if not inspect(connection).has_table("schema_version"):
        connection.execute(text("CREATE TABLE schema_version (version INTEGER NOT NULL)"))
        connection.execute(text("INSERT INTO schema_version (version) VALUES (0)"))
    return int(connection.execute(text("SELECT version FROM schema_version")).scalar_one())
