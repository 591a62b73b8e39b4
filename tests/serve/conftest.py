"""Real databases for the tests of the service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.service.postgres import Postgres, postgres_server
from benchmarks.service.target import free_port

__all__ = ["Postgres", "free_port"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        if server is None:
            pytest.skip("no PostgreSQL server here: apt-get install postgresql")
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store's address, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "store" / "monitor.db")
    server: Postgres = request.getfixturevalue("postgres")
    return server.database(f"test_{os.urandom(6).hex()}")
