"""The file that scores of chats are appended to; prompts and answers are its owner's alone."""

from __future__ import annotations

import json
import os
from typing import Any

from anharmonic.errors import InputError, first_line

__all__ = ["ScoreFile"]


class ScoreFile:
    """One line of JSON for each score, handed to the system at once; made with mode 600."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        except OSError as problem:
            raise InputError(f"{path} cannot be written: {first_line(problem)}") from problem
        # A kill may have torn the last line: what follows it must begin a line of its own.
        whole = self._file.read().rfind(b"\n") + 1
        self._file.seek(whole)
        self._file.truncate()

    def append(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line).encode("ascii") + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
