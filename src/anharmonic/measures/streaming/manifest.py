"""What a run is: enough to know whether another start belongs to it."""

from __future__ import annotations

import hashlib
import math
import pickle
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError

__all__ = ["ANSWERS", "Manifest", "model_hash", "rows_per_shard", "versions"]

FORMAT = 1
LIBRARIES = ("numpy", "scipy", "pyarrow", "scikit-learn", "torch", "onnxruntime", "ray")
MEASURED = {"precision", "clipped", "model", "noise", "odd_power", "even_power"}
"""Settings that say what was seen and not what was asked for."""
ANSWERS = 8
"""Rows of the sample whose answers tell one model from another."""


@dataclass(frozen=True)
class Manifest:
    """Settings, source, model and versions of a run.

    Parameters
    ----------
    measure, settings
        What is measured, and how.
    source, fingerprint, rows
        What the data are called, a short text that is the same for the same files, and how many
        rows there are.
    model, answers
        A hash of the model where it has one, and its answers at a few rows.
    block, shard
        Rows that are measured together, and rows of a part.
    queries
        What settling took.
    """

    measure: str
    settings: dict[str, Any]
    source: str
    fingerprint: str
    rows: int
    model: str | None
    answers: list[Any]
    block: int
    shard: int
    queries: int
    versions: dict[str, str]

    def plain(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"format": FORMAT, **vars(self)}

    @classmethod
    def read(cls, content: dict[str, Any]) -> Manifest:
        """From what `plain` gave."""
        if content.get("format") != FORMAT:
            raise SettingsError("the run was begun by another version: start anew with fresh=True")
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})

    def check_same(self, earlier: Manifest, folder: str) -> None:
        """Refuse to go on with a run that was begun with something else."""
        differing = [
            name
            for name in ("measure", "block", "rows")
            if getattr(self, name) != getattr(earlier, name)
        ]
        if self.fingerprint != earlier.fingerprint:
            differing.append("source (its files or rows have changed)")
        mine, other = (Settings.record(**run.settings) for run in (self, earlier))
        names = sorted({*self.settings, *earlier.settings} - MEASURED)
        differing += [name for name in names if not _alike(mine, other, name)]
        if self.model != earlier.model and not _close(self.answers, earlier.answers):
            differing.append("model (its answers differ)")
        if self.versions["anharmonic"] != earlier.versions["anharmonic"]:
            differing.append("version of anharmonic")
        if differing:
            raise SettingsError(
                f"{folder} holds a run with another {', '.join(differing)}: call with the same "
                "arguments and data as before, give another folder, or start anew with fresh=True "
                "(--fresh)"
            )


def versions() -> dict[str, str]:
    """What a run's numbers may depend on."""
    from anharmonic import __version__

    found = {"anharmonic": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def model_hash(model: object) -> str | None:
    """A hash of a model's pickle; None where it has none, or one that cannot be made."""
    try:
        return hashlib.sha256(pickle.dumps(model)).hexdigest()
    except Exception:  # models refuse to be pickled in ways of their own
        return None


def _alike(one: Settings, other: Settings, name: str) -> bool:
    return (
        not one.differing(other, [name])
        if name in one._fields()
        else (one.extra.get(name) == other.extra.get(name))
    )


def _close(one: list[Any], other: list[Any]) -> bool:
    try:
        first, second = np.array(one, dtype=float), np.array(other, dtype=float)
        return first.shape == second.shape and bool(
            np.allclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True)
        )
    except ValueError:
        return False


def rows_per_shard(block: int, rows: int, seconds_per_row: float | None, seconds: float) -> int:
    """Rows of a part: about so many seconds of work, whole blocks, and a dozen parts or more.

    >>> rows_per_shard(block=100, rows=10_000, seconds_per_row=0.01, seconds=5.0)
    500
    """
    wanted = math.inf if not seconds_per_row else seconds / seconds_per_row
    most = min(1 << 18, max(block, rows // 16), wanted)
    return max(1, int(most // block)) * block
