"""`load`: any result from its file, as what it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from anharmonic._core import tables
from anharmonic.errors import InputError
from anharmonic.measures.search.result import Search
from anharmonic.measures.spectral.result import SpadeScores
from anharmonic.measures.streaming import StoredScores
from anharmonic.scores import Scores
from anharmonic.sources.locations import is_folder

__all__ = ["load"]

LOADERS: dict[str, Callable[[Path], Scores | SpadeScores | Search]] = {
    "scores": Scores.load,
    "SPADE scores": SpadeScores.load,
    "search": Search.load,
}


def load(path: str | os.PathLike[str]) -> Scores | SpadeScores | Search | StoredScores:
    """Open a file or a folder that `save` or `--out` wrote, whatever kind of result it holds.

    Parameters
    ----------
    path
        A Parquet file of `Scores`, `SpadeScores` or `Search`, of this version or 0.1.0; or the
        folder of a source's `StoredScores`.

    Examples
    --------
    >>> import tempfile, numpy as np, anharmonic as ah
    >>> scores = ah.gamma(lambda x: np.sin(x[:, 0]), np.eye(3), radius=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(scores.save(f"{folder}/scores.parquet"))
    >>> repr(again) == repr(scores)
    True
    """
    if is_folder(path):
        return StoredScores.load(path)
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}: give one written by save or --out")
    kind = tables.held_by(path)
    if kind not in LOADERS:
        raise InputError(f"{path} holds no result of ours: give a file written by save or --out")
    return LOADERS[kind](Path(path))
