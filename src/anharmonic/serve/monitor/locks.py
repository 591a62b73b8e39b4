"""Locks between the services of one PostgreSQL store; a file of SQLite has one service.

Both are advisory locks, which PostgreSQL lets go with the connection of whoever dies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, Engine, exc, text

__all__ = ["Duty", "lock_key", "take_turns"]

HELD_MILLISECONDS = 10_000
"""A machine that vanishes closes no connection: PostgreSQL ends its turn after this."""
WAIT_FOR_TURN = text(
    "SELECT set_config('idle_in_transaction_session_timeout', :held, true), "
    "pg_advisory_xact_lock(:key)"
)
KEEPALIVES = "SET tcp_keepalives_idle = 20; SET tcp_keepalives_interval = 5; " + (
    "SET tcp_keepalives_count = 4"
)
"""By which PostgreSQL notices within a minute that a machine has vanished."""


def lock_key(name: str) -> int:
    """The number of a lock: a signed one of 64 bits, as PostgreSQL wants it.

    >>> lock_key("wine@1") == lock_key("wine@1") != lock_key("wine@2")
    True
    """
    digest = hashlib.blake2b(f"anharmonic {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@contextmanager
def take_turns(engine: Engine, name: str) -> Iterator[None]:
    """Wait until nobody else is in a block of this name, on any machine.

    Of a transaction of its own, so that it also holds behind a pooler of connections. Should it be
    lost in the block, what is written there is still compared with the revision that was read.
    """
    if engine.dialect.name != "postgresql":
        yield
        return
    connection = engine.connect()
    try:
        held = {"held": str(HELD_MILLISECONDS), "key": lock_key(name)}
        connection.execute(WAIT_FOR_TURN, held)
    except BaseException:
        connection.close()
        raise
    try:
        yield
    finally:
        # What was written in the block stands, whatever becomes of this connection.
        with suppress(exc.SQLAlchemyError):
            connection.close()


class Duty:
    """Something that one service of a store does for all of them, for as long as it lives.

    Parameters
    ----------
    engine
        Of the store.
    name
        Of what is done.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine, self._key = engine, lock_key(name)
        self._connection: Connection | None = None

    def held(self) -> bool:
        """Whether it is this service's: it is taken if nobody has it."""
        if self._engine.dialect.name != "postgresql":
            return True
        if self._connection is not None:
            try:
                self._connection.execute(text("SELECT 1"))
            except exc.SQLAlchemyError:
                self.release()
            else:
                return True
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            for setting in KEEPALIVES.split("; "):
                connection.execute(text(setting))
            taken = bool(
                connection.execute(
                    text("SELECT pg_try_advisory_lock(:key)"), {"key": self._key}
                ).scalar()
            )
        except BaseException:
            connection.invalidate()
            connection.close()
            raise
        if taken:
            self._connection = connection
        else:
            connection.close()
        return taken

    def release(self) -> None:
        """Leave it to another; its connection is closed for good, so that no lock stays behind."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(exc.SQLAlchemyError):
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": self._key})
        with suppress(exc.SQLAlchemyError):
            connection.invalidate()
            connection.close()
