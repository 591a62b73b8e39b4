"""What a long run has finished, kept in files every few seconds so that any stop costs little."""

from __future__ import annotations

import hashlib
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from anharmonic._core import tables
from anharmonic._core.output_files import PARQUET, claimed
from anharmonic.errors import InputError, SettingsError

__all__ = ["UNFINISHED", "Folder", "PathLike", "clear", "kept"]

PathLike = str | os.PathLike[str]
UNFINISHED = "unfinished"
"""A setting that is true in a file while the run it belongs to has not come to its end."""
SECONDS = 1.0
"""How long what was finished waits to be kept."""
SHARE = 0.02
"""Of the time that may go into keeping: where a save takes longer, there are fewer."""


class Result(Protocol):
    """Anything that can be saved, and says whether there is anything to save."""

    @property
    def started(self) -> bool: ...

    def save(self, path: PathLike) -> Path: ...


@contextmanager
def kept(
    path: PathLike | None, resume: object, found: Callable[[bool], Result]
) -> Iterator[Callable[[], None]]:
    """Something to call whenever a part is finished: what was `found` is then kept, if it is time.

    It is kept once more at the end, however that comes; `found` is told whether the run came to
    its end. An unfinished run that is there already is not overwritten unless it was resumed.
    """
    if path is None:
        yield lambda: None
        return
    import pyarrow.parquet  # noqa: F401 - here, so that it is not taken for a part of saving

    with claimed(path, PARQUET) as file:
        _not_lost(file, resume)
        keeper = _Keeper(file, found)
        try:
            yield keeper
        except BaseException:
            # A refusal has found nothing, and must not replace what an earlier run has.
            if keeper.called:
                keeper.save(False)
            raise
        keeper.save(True)


class _Keeper:
    """Saves when it is time, so seldom that saving takes a small share of the run."""

    def __init__(self, file: Path, found: Callable[[bool], Result]) -> None:
        self.file, self.found, self.called = file, found, False
        self.begun, self.cost = time.perf_counter(), math.inf
        self.due = self.begun + SECONDS

    def __call__(self) -> None:
        self.called = True
        if time.perf_counter() >= self.due:
            self.save(False)

    def save(self, finished: bool) -> None:
        begun = time.perf_counter()
        result = self.found(finished)
        if result.started:
            result.save(self.file)
        now = time.perf_counter()
        # The least it took: a busy machine says nothing about the next time. Nor is more lost
        # than half of what was done, however long a save takes.
        self.cost = min(self.cost, now - begun)
        self.due = now + max(SECONDS, min(self.cost / SHARE, now - self.begun))


def _not_lost(file: Path, resume: object) -> None:
    """Refuse to overwrite what another run has finished and nobody has read."""
    if not file.exists():
        return
    about = tables.facts_of(file)
    if about is None:
        raise InputError(f"{file} is there and is no run of ours: give another name")
    other = isinstance(resume, str | os.PathLike) and not os.path.samefile(resume, file)
    if (resume is None or other) and about.get("settings", {}).get(UNFINISHED):
        raise _earlier(file)


def _earlier(path: Path) -> SettingsError:
    return SettingsError(
        f"{path} holds what an earlier run had finished: go on with --resume {path} "
        "(in Python resume=), or delete it to begin anew"
    )


class Folder:
    """One file for each of several measurements that belong together."""

    def __init__(self, path: PathLike | None, resume: PathLike | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.resume = None if resume is None else Path(resume)
        if self.resume is not None and not self.resume.is_dir():
            raise InputError(f"there is no folder {self.resume}: give the one a run was kept in")
        if self.path is None or self.resume is not None:
            return
        if self.path.is_file():
            raise SettingsError(f"{self.path} is a file: give the name of a folder")
        if any(self.path.rglob("*.parquet")):
            raise _earlier(self.path)

    def arguments(self, *names: str) -> dict[str, Any]:
        """What one measurement gets: where to keep what it finds, and what is known already."""
        if self.path is None and self.resume is None:
            return {}
        name = "-".join(map(_slug, names)) + f"-{_hash(names)}.parquet"
        before = None if self.resume is None else self.resume / name
        return {
            "checkpoint": None if self.path is None else self.path / name,
            "resume": before if before is not None and before.exists() else None,
        }

    def within(self, name: str) -> Folder:
        """A folder in this one."""
        before = None if self.resume is None else self.resume / name
        known = before if before is not None and before.is_dir() else None
        return Folder(None if self.path is None else self.path / name, known)


def clear(folder: Path) -> None:
    """Remove runs that are no longer needed, and nothing else that lies in their folder."""
    for inner in filter(Path.is_dir, list(folder.iterdir()) if folder.is_dir() else []):
        clear(inner)
    for file in folder.glob("*.parquet"):
        if tables.facts_of(file) is not None:
            file.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", name)[:40]


def _hash(names: tuple[str, ...]) -> str:
    """Different names have different files, whatever is left of them in a slug."""
    return hashlib.sha256(repr(names).encode()).hexdigest()[:8]
