"""The file that scores of chats are appended to; prompts and answers are its owner's alone."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping

from anharmonic.errors import InputError, first_line

__all__ = ["ScoreFile"]

BLOCK = 2**16
"""Bytes that are read at a time, looking for the last line's end."""


class ScoreFile:
    """One line of JSON for each score, handed to the system at once; made with mode 600."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as problem:
            raise InputError(f"{path} cannot be written: {first_line(problem)}") from problem
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            # A kill may have torn the last line: what follows must begin a line of its own.
            os.ftruncate(descriptor, _whole_lines(descriptor))
        self._file = os.fdopen(descriptor, "ab")

    def append(self, line: Mapping[str, object]) -> None:
        self._file.write(json.dumps(line).encode("ascii") + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def _whole_lines(descriptor: int) -> int:
    """How many bytes of a file are whole lines, looked for from its end."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - BLOCK)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
