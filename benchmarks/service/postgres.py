"""A PostgreSQL server of one's own, on loopback, for benchmarks and tests."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.service.target import free_port

__all__ = ["Postgres", "postgres_server"]


class Postgres:
    """A PostgreSQL server of one's own, which can be stopped and started."""

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


@contextmanager
def postgres_server() -> Iterator[Postgres | None]:
    """A server for as long as the block lasts; None where PostgreSQL is not installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="anharmonic-pg-") as folder:
        server = Postgres(Path(found[-1]), Path(folder))
        try:
            yield server
        finally:
            server.stop()
