"""Files that will be written: refused before the work where they could not be, and claimed.

A claim lasts as long as the work. It is a lock that the system takes back when a process ends,
however that comes, so that nothing is left to clear away by hand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anharmonic.errors import InputError, SettingsError, first_line

__all__ = ["HTML", "PARQUET", "claimed"]

PARQUET = (".parquet", ".pq", "")
"""A name without an ending promises nothing; any other would be a lie."""
HTML = (".html", ".htm", "")
TEMPORARY = re.compile(r"[0-9a-f]{16}")


@contextmanager
def claimed(path: str | os.PathLike[str], endings: tuple[str, ...] = ()) -> Iterator[Path]:
    """Lock a file that will be written, so that no other run writes it meanwhile.

    Its folder is made. Half-written files that a killed run left beside it are cleared away.
    """
    target = Path(path)
    _check_name(target, endings)
    lock = target.with_name(f".{target.name}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _open_locked(lock)
    except BlockingIOError:
        raise InputError(
            f"{target} is being written by another run: wait for it, or give another name"
        ) from None
    except OSError as problem:
        raise InputError(
            f"{target} cannot be written ({problem.strerror or first_line(problem)}): "
            "give a file in a folder of yours"
        ) from problem
    try:
        _clear_half_written(target)
        yield target
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _check_name(target: Path, endings: tuple[str, ...]) -> None:
    if target.is_dir():
        raise SettingsError(f"{target} is a folder: give the name of a file in it")
    if endings and target.suffix.lower() not in endings:
        raise SettingsError(
            f"{target} would not hold what its name says: give {target.stem}{endings[0]}"
        )


def _open_locked(lock: Path) -> int:
    """The descriptor of a lock file of our own; BlockingIOError where another process has it."""
    while True:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            _lock(descriptor)
            # Whoever held it before may have removed it since we opened it.
            if lock.exists() and os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:
        return  # no such locks on Windows
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return  # a file system that knows no locks


def _clear_half_written(target: Path) -> None:
    """Remove what `whole_file` began for this file and a kill did not let it finish."""
    for file in target.parent.glob(f".{_escaped(target.name)}.*"):
        if TEMPORARY.fullmatch(file.name.removeprefix(f".{target.name}.")):
            file.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    """A name as a glob pattern that matches nothing else."""
    return re.sub(r"([*?[])", r"[\1]", name)
