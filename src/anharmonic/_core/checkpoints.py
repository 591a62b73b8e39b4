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
from typing import Protocol, TypedDict

from anharmonic._core import tables
from anharmonic._core.output_files import PARQUET, claimed
from anharmonic.errors import InputError, SettingsError

__all__ = ["UNFINISHED", "Folder", "PathLike", "clear", "kept"]

PathLike = str | os.PathLike[str]
UNFINISHED = "unfinished"
"""A setting that is true in a file while the run it belongs to has not come to its end."""
SECONDS = 1.0
"""The least between two saves."""
SHARE = 0.02
"""Of a run's time that may go into saving: where a save takes longer, there are fewer."""


class CheckpointArguments(TypedDict, total=False):
    """What a measure is called with, to keep what it finishes and to go on from what is there."""

    checkpoint: Path | None
    resume: Path | None


class Result(Protocol):
    """Anything that can be saved, and says whether there is anything to save."""

    @property
    def started(self) -> bool: ...

    def save(self, path: PathLike) -> Path: ...


@contextmanager
def kept(
    path: PathLike | None, resume: object, result_so_far: Callable[[bool], Result]
) -> Iterator[Callable[[], None]]:
    """Give a function to call whenever a part is finished: it saves the result when it is time.

    Parameters
    ----------
    path
        The Parquet file to save to; None saves nothing.
    resume
        What the run goes on from. An unfinished run that is in the file already is not
        overwritten unless it is this.
    result_so_far
        Makes the result to save; its argument says whether the run came to its end. The result
        is saved once more when the run ends, however that comes.
    """
    if path is None:
        yield lambda: None
        return
    import pyarrow.parquet  # noqa: F401 - here, so that it is not taken for a part of saving

    with claimed(path, PARQUET) as file:
        _check_not_lost(file, resume)
        saver = _Saver(file, result_so_far)
        try:
            yield saver
        except BaseException:
            # A refusal has found nothing, and must not replace what an earlier run has.
            if saver.called:
                saver.save(False)
            raise
        saver.save(True)


class _Saver:
    """Saves when it is time, so seldom that saving takes a small share of the run."""

    def __init__(self, file: Path, result_so_far: Callable[[bool], Result]) -> None:
        self.file, self.result_so_far, self.called = file, result_so_far, False
        self.begun, self.cost = time.perf_counter(), math.inf
        self.due = self.begun + SECONDS

    def __call__(self) -> None:
        self.called = True
        if time.perf_counter() >= self.due:
            self.save(False)

    def save(self, finished: bool) -> None:
        begun = time.perf_counter()
        result = self.result_so_far(finished)
        if result.started:
            result.save(self.file)
        now = time.perf_counter()
        # The least it took: a busy machine says nothing about the next time. Nor is more lost
        # than half of what was done, however long a save takes.
        self.cost = min(self.cost, now - begun)
        self.due = now + max(SECONDS, min(self.cost / SHARE, now - self.begun))


def _check_not_lost(file: Path, resume: object) -> None:
    """Refuse to overwrite what another run has finished and nobody has read."""
    if not file.exists():
        return
    facts = tables.facts_of(file)
    if facts is None:
        raise InputError(f"{file} is there and is no run of ours: give another name")
    other = isinstance(resume, str | os.PathLike) and not os.path.samefile(resume, file)
    if (resume is None or other) and facts.get("settings", {}).get(UNFINISHED):
        raise _earlier_run_error(file)


def _earlier_run_error(path: Path) -> SettingsError:
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
            raise _earlier_run_error(self.path)

    def arguments(self, *names: str) -> CheckpointArguments:
        """What one measurement gets: the file to save to, and the file to go on from."""
        if self.path is None and self.resume is None:
            return {}
        name = "-".join(map(_slug, names)) + f"-{_hash(names)}.parquet"
        earlier = None if self.resume is None else self.resume / name
        return {
            "checkpoint": None if self.path is None else self.path / name,
            "resume": earlier if earlier is not None and earlier.exists() else None,
        }

    def within(self, name: str) -> Folder:
        """A folder in this one."""
        earlier = None if self.resume is None else self.resume / name
        resume = earlier if earlier is not None and earlier.is_dir() else None
        return Folder(None if self.path is None else self.path / name, resume)


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
