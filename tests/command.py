"""`anharmonic` as tests call it: in this process, or in one of its own as a user runs it.

A process of its own spends two seconds on importing what the tests have imported already; it is
for what only a process shows: its start, its workers, signals, a clean standard output.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from anharmonic.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PROGRAM", "run", "run_program"]

PROGRAM = Path(sys.executable).with_name("anharmonic")
TERMINAL = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


def run(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """One command in a folder, in this process."""
    out, err = io.StringIO(), io.StringIO()
    command = ["anharmonic", *map(str, arguments)]
    ended = 0
    with (
        chdir(folder),
        _forgotten(Path(folder)),
        mock.patch.dict(os.environ, TERMINAL),
        mock.patch.object(sys, "argv", command),
        redirect_stdout(out),
        redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        # Warnings are errors to pytest, not to users.
        warnings.simplefilter("default")
        try:
            main()
        except SystemExit as end:
            ended = end.code if isinstance(end.code, int) else int(end.code is not None)
    assert ended == code, err.getvalue()
    return subprocess.CompletedProcess(command, ended, out.getvalue(), err.getvalue())


@contextmanager
def _forgotten(folder: Path) -> Iterator[None]:
    """Forget modules of the folder afterwards: other folders have some of the same names."""
    path, modules = list(sys.path), set(sys.modules)
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).resolve().is_relative_to(folder.resolve()):
                del sys.modules[name]


def run_program(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **TERMINAL},
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done
