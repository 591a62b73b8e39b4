"""Tell damage, which stays, from bytes that nobody can have just now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from anharmonic.errors import AnharmonicError, InputError, first_line

__all__ = ["Interrupted", "NoRoom", "NotNow", "read_patiently", "room_in"]

Read = TypeVar("Read")
PAUSES = (0.5, 2.0, 8.0)
"""Seconds before bytes are asked for again."""
FOR_GOOD = (FileNotFoundError, PermissionError)
"""What waiting does not mend."""


class Interrupted(Exception):
    """Reading ended because bytes could not be had, and not because they made no sense."""


class NotNow(InputError):
    """The bytes of a file cannot be had now, whatever they are."""


class NoRoom(InputError):
    """What was found cannot be written, which says nothing about what was read."""


@contextmanager
def room_in(folder: str) -> Iterator[None]:
    """Tell what cannot be written to a folder, such as to a full disk, from all other errors."""
    try:
        yield
    except AnharmonicError:
        raise
    except OSError as problem:
        raise NoRoom(
            f"{folder} cannot be written ({first_line(problem)}): what is finished is kept, so "
            "make room and start again with the same call"
        ) from problem


def read_patiently(read: Callable[[], Read], check: Callable[[], None], name: str) -> Read:
    """What `read` gives; its own error where the content is damaged, `NotNow` where it is away.

    Parameters
    ----------
    read
        Reads and makes sense of what it reads; it is called again where it may have had bad luck.
    check
        Reads the same bytes and makes nothing of them: OSError where they cannot be had.
    name
        Of the file, for people.
    """
    said = ""
    for pause in (*PAUSES, None):
        try:
            return read()
        except (AnharmonicError, MemoryError):
            raise
        except Exception as problem:  # damage makes every library fail in ways of its own
            damage = problem
        try:
            check()
        except OSError as failure:
            if pause is None or isinstance(failure, FOR_GOOD):
                raise NotNow(
                    f"{name} cannot be read now ({first_line(failure)}): start again when it can"
                ) from failure
            time.sleep(pause)
            continue
        # The bytes are there: twice the same error is damage.
        if said == str(damage) or pause is None:
            raise damage
        said = str(damage)
    raise AssertionError("the last attempt returns or raises")
