"""What a run is: enough to know whether another start belongs to it."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.streaming.answers import same_answers

__all__ = ["RECORDED", "Manifest", "rows_per_shard", "versions"]

FORMAT = 2
RECORDED = "answers "
"""What the hash of answers begins with that were recorded elsewhere."""
LIBRARIES = ("numpy", "scipy", "pyarrow", "scikit-learn", "torch", "onnxruntime", "ray")
MEASURED = {"precision", "clipped", "model", "noise", "odd_power", "even_power"}
"""Settings that say what was seen and not what was asked for."""


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
        A hash of what the model is, where that can be told, and its answers at a few rows.
    objects
        Hashes of arguments that are no plain values, such as a ball of one's own.
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
    objects: dict[str, str | None] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"format": FORMAT, **vars(self)}

    @classmethod
    def read(cls, content: dict[str, Any]) -> Manifest:
        """From what `plain` gave."""
        if content.get("format") != FORMAT or not cls.__dataclass_fields__.keys() <= content.keys():
            raise SettingsError(
                "the folder holds a plan, or a run of another version: give another folder, or "
                "start anew with fresh=True (--fresh)"
            )
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})

    def check_same(
        self, earlier: Manifest, folder: str, again: Callable[[], list[list[float]]]
    ) -> None:
        """Refuse to go on with a run that was begun with something else.

        `again` asks the model once more for its answers at a few rows.
        """
        differing = [
            name
            for name in ("measure", "block", "rows")
            if getattr(self, name) != getattr(earlier, name)
        ]
        if self.fingerprint != earlier.fingerprint:
            differing.append("source (its files have changed, or were written anew)")
        mine, other = (Settings.record(**run.settings) for run in (self, earlier))
        names = sorted({*self.settings, *earlier.settings} - MEASURED)
        differing += [name for name in names if not _alike(mine, other, name)]
        differing += [
            f"{name} (what it does has changed)"
            for name in sorted({*self.objects, *earlier.objects})
            if (name in self.objects) != (name in earlier.objects)
            or _differ(self.objects.get(name), earlier.objects.get(name))
        ]
        # Only at the same rows can answers tell models apart.
        if not differing and (reason := self._other_model(earlier, again)):
            differing.append(reason)
        if self.versions["anharmonic"] != earlier.versions["anharmonic"]:
            differing.append("version of anharmonic")
        if differing:
            raise SettingsError(
                f"{folder} holds a run with another {', '.join(differing)}: call with the same "
                "arguments and data as before, give another folder, or start anew with fresh=True "
                "(--fresh)"
            )

    def _other_model(self, earlier: Manifest, again: Callable[[], list[list[float]]]) -> str | None:
        """Why the model cannot be the one of before; None where it can."""
        if _differ(self.model, earlier.model):
            recorded = str(self.model).startswith(RECORDED)
            what = "set of answers (their files have changed, or were written anew)"
            return what if recorded else "model (its file, code or weights have changed)"
        known = self.model is not None and self.model == earlier.model
        if not same_answers(self.answers, earlier.answers, again, known):
            return "model (its answers differ)"
        return None


def _differ(one: str | None, other: str | None) -> bool:
    """Whether two hashes say that things differ; None says nothing."""
    return one is not None and other is not None and one != other


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


def _alike(one: Settings, other: Settings, name: str) -> bool:
    return (
        not one.differing(other, [name])
        if name in one._fields()
        else (one.extra.get(name) == other.extra.get(name))
    )


def rows_per_shard(block: int, rows: int, seconds_per_row: float | None, seconds: float) -> int:
    """Rows of a part: about so many seconds of work, whole blocks, and a dozen parts or more.

    >>> rows_per_shard(block=100, rows=10_000, seconds_per_row=0.01, seconds=5.0)
    500
    """
    wanted = math.inf if not seconds_per_row else seconds / seconds_per_row
    most = min(1 << 18, max(block, rows // 16), wanted)
    return max(1, int(most // block)) * block
