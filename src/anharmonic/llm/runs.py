"""Runs: a file of results that only grows, so that any stop can be gone on from."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from anharmonic.errors import InputError, SettingsError, first_line
from anharmonic.llm.cache import Cache
from anharmonic.llm.dispatch import Usage
from anharmonic.llm.measuring import measure_prompts
from anharmonic.llm.questions import Question
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.records import Header, Record, RunHeader
from anharmonic.llm.types import Client, Embed

__all__ = ["RunFile", "Step", "run"]

FORMAT = 1
SAME = ("model", "client", "embed", "recipe")
"""What of a header must be the same to go on with a run."""


class Step(NamedTuple):
    """What a run has just finished."""

    question: Question
    record: Record


@dataclass
class RunFile:
    """One line of JSON for what was measured how, then one for each question; never rewritten.

    `done` holds for each finished question whether it is whole, no answer failed, and a hash of
    its prompt.
    """

    path: Path
    header: RunHeader
    done: dict[str, tuple[bool, int]] = field(default_factory=dict)
    _file: IO[bytes] | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: str | os.PathLike[str], header: Header) -> RunFile:
        """Begin a run, or go on with one that was made the same way."""
        target = Path(path)
        file = cls(target, {"anharmonic": "llm run", "format": FORMAT, **header})
        # Read and write, made where it is missing, never cut: "a+" would do but for the torn end.
        # Prompts and answers are their owner's alone.
        try:
            file._file = os.fdopen(os.open(target, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        except OSError as problem:
            raise InputError(f"{target} cannot be written: {first_line(problem)}") from problem
        try:
            _lock(file._file, target)
            file._resume()
        except BaseException:
            file.close()
            raise
        return file

    def append(self, question: Question, record: Record) -> None:
        """One more line, handed to the system at once."""
        line = {"id": question.id, "domain": question.domain, **record.plain()}
        self._write(line)
        self.done[question.id] = record.failed == 0, hash(record.prompt)

    def due(self, question: Question, retry_errors: bool) -> bool:
        """Whether a question is still to be asked."""
        if question.id not in self.done:
            return True
        whole, prompt = self.done[question.id]
        if prompt != hash(question.prompt):
            raise InputError(
                f"{self.path} holds another question with the id {question.id}: "
                "give another file with --out"
            )
        return retry_errors and not whole

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _resume(self) -> None:
        """Read what is there, and cut a last line that a kill left unfinished."""
        assert self._file is not None
        end, header = 0, self.header
        for number, raw in enumerate(iter(self._file.readline, b"")):
            if not raw.endswith(b"\n"):
                break
            line = _parsed(raw, self.path, number)
            if number == 0:
                header = cast(RunHeader, line)
            else:
                self.done[line["id"]] = line["failed"] == 0, hash(line["prompt"])
            end += len(raw)
        if self.done:
            _require_same(header, self.header, self.path)
            self.header = header
        else:
            # Nothing was measured that way, so that any other may begin here.
            end = 0
        self._file.truncate(end)
        self._file.seek(end)
        if end == 0:
            self._write(self.header)

    def _write(self, line: Mapping[str, object]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line).encode("ascii") + b"\n")
        self._file.flush()


def run(
    file: RunFile,
    client: Client,
    questions: Iterable[Question],
    recipe: Recipe,
    embed: Embed,
    *,
    cache: Cache | None = None,
    usage: Usage | None = None,
    retry_errors: bool = False,
    on_step: Callable[[Step], None] | None = None,
) -> None:
    """Measure the questions that are not done yet, each written as soon as it is measured.

    Parameters
    ----------
    file
        The run to begin or go on with.
    client, recipe, embed
        Who answers, what is asked about each question, and what makes answers into vectors.
    questions
        All of them; those that the file holds are passed over.
    cache, usage
        Where answers are kept, and what counts calls.
    retry_errors
        Whether to ask again where answers failed.
    on_step
        Called with each question that is finished.
    """
    # `measure_prompts` takes prompts ahead of the records it gives back, in the same order: the
    # questions they belong to wait here.
    waiting: deque[Question] = deque()

    def prompts() -> Iterator[str]:
        for question in questions:
            if file.due(question, retry_errors):
                waiting.append(question)
                yield question.prompt

    for record in measure_prompts(client, prompts(), recipe, embed, cache=cache, usage=usage):
        question = waiting.popleft()
        file.append(question, record)
        if on_step is not None:
            on_step(Step(question, record))


def _parsed(raw: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        line = json.loads(raw)
        if number == 0 and line["anharmonic"] != "llm run":
            raise KeyError
        if number == 0 and line["format"] > FORMAT:
            raise InputError(f"{path} was written by a newer version: upgrade anharmonic")
        _ = line["model"] if number == 0 else (line["id"], line["failed"], line["prompt"])
    except (ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(
            f"{path}, line {number + 1}, was not written by anharmonic llm score: "
            "give another file with --out"
        ) from None
    return dict(line)


def _require_same(before: Mapping[str, object], now: Mapping[str, object], path: Path) -> None:
    differing = [
        f"{name} ({_difference(before.get(name), now.get(name))})"
        for name in SAME
        if before.get(name) != now.get(name)
    ]
    if differing:
        raise SettingsError(
            f"{path} holds a run with another {'; another '.join(differing)}: "
            "go on with its settings, or give another file with --out"
        )


def _difference(before: object, now: object) -> str:
    """What two settings differ in, in a few words."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return f"{before!r:.80}, now {now!r:.80}"
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return "; ".join(f"{name} {_difference(before.get(name), now.get(name))}" for name in names)


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuse a file that another run is writing: both at once would tear it."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"{path} is being written by another run: wait for it") from None
