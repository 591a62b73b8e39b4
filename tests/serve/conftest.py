"""Real databases for the tests of the service."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Postgres:
    """A PostgreSQL server of the tests' own, which can be stopped and started."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder, self.port = programs, folder, free_port()
        # It refuses to run as root.
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            shutil.chown(folder, self.user)
        self._run("initdb", "-D", str(folder / "data"), "-U", "tester", "-A", "trust", "-N")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        subprocess.run(
            command, user=self.user, check=True, capture_output=True, cwd="/", timeout=60
        )

    def start(self) -> None:
        # The machine does not go down with the server: without syncing it is up in a second.
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self._run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", settings)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self.folder / "data"))

    def database(self, name: str) -> str:
        options = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "tester")
        self._run("createdb", *options, name)
        return f"postgresql://tester@127.0.0.1:{self.port}/{name}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    with tempfile.TemporaryDirectory(prefix="anharmonic-pg-") as folder:
        server = Postgres(Path(found[-1]), Path(folder))
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store's address, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "store" / "monitor.db")
    server: Postgres = request.getfixturevalue("postgres")
    return server.database(f"test_{os.urandom(6).hex()}")
