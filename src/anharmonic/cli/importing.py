"""Modules that a command line names, which may lie in the folder it was typed in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["folder_last"]


@contextmanager
def folder_last() -> Iterator[None]:
    """Put this folder at the end of the path while something in it is imported by name.

    A console script does not look here, and neither do we for anything that was not named: a
    file beside the data must not run because it is called like a library. At the end it hides
    nothing that is installed. The folder stays there only if a module was found in it: whoever
    named that runs its code already, and it may import its neighbours later or in a worker.
    """
    folder, before = os.getcwd(), set(sys.modules)
    if folder in sys.path or "" in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        if not any(_lies_in(folder, name) for name in set(sys.modules) - before):
            sys.path.remove(folder)


def _lies_in(folder: str, name: str) -> bool:
    """Whether a module was loaded from a folder."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and os.path.abspath(file).startswith(os.path.join(folder, ""))
