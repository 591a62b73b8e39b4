"""A folder that lasts as long as somebody holds on to it."""

from __future__ import annotations

import shutil
import tempfile
import weakref

__all__ = ["TemporaryFolder"]


class TemporaryFolder:
    """A folder of its own, removed when nobody refers to it any more.

    Unlike `tempfile.TemporaryDirectory` it is meant to be let go of without a word.
    """

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="anharmonic-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
