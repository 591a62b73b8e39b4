"""Answers on disk: a call that was answered is never paid twice."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from dataclasses import asdict
from types import TracebackType

from anharmonic.errors import InputError, first_line
from anharmonic.llm.types import Answer, Request

__all__ = ["Cache", "identity"]

TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, request TEXT, answer TEXT)"


def identity(model: str, request: Request) -> str:
    """The cache key of an answer: model, parameters, full prompt, seed and repeat, as JSON."""
    facts = [model, request.parameters.plain(), request.prompt, request.seed, request.repeat]
    return json.dumps(facts, sort_keys=True)


class Cache:
    """An SQLite file of answers, safe among threads and processes, and through a kill.

    Failures are not kept, so that they are tried again; refusals are.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.Lock()
        try:
            if os.fspath(path) != ":memory:":
                # Created with mode 600: SQLite would let everybody read it.
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._store = sqlite3.connect(
                path, timeout=30, check_same_thread=False, isolation_level=None
            )
            # A write-ahead log: other processes read while one writes, and a kill tears nothing.
            self._store.execute("PRAGMA journal_mode=WAL")
            self._store.execute("PRAGMA synchronous=NORMAL")
            self._store.execute(TABLE)
        except (sqlite3.Error, OSError) as problem:
            raise InputError(
                f"{path} cannot be used as a cache ({first_line(problem)}): give another file"
            ) from problem

    def get(self, about: str) -> Answer | None:
        """The answer to what `identity` gave, if it is known."""
        with self._lock:
            row = self._store.execute(
                "SELECT answer FROM answers WHERE key = ?", (_key(about),)
            ).fetchone()
        return None if row is None else Answer(**json.loads(row[0]), cached=True)

    def put(self, about: str, answer: Answer) -> None:
        """Keep an answer, at once."""
        if answer.error is not None and not answer.refused:
            return
        fields = {name: value for name, value in asdict(answer).items() if name != "cached"}
        with self._lock:
            self._store.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)",
                (_key(about), about, json.dumps(fields)),
            )

    def __len__(self) -> int:
        with self._lock:
            return int(self._store.execute("SELECT COUNT(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        with self._lock:
            self._store.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _key(about: str) -> str:
    return hashlib.sha256(about.encode()).hexdigest()
