"""What a command writes: refused before the first query where it cannot be, kept where it stops."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from anharmonic._core.checkpoints import Folder, clear
from anharmonic._core.extras import require
from anharmonic._core.output_files import HTML, PARQUET, claimed
from anharmonic.cli.show import tell

if TYPE_CHECKING:
    from anharmonic.measures.search.result import Search
    from anharmonic.scores import Scores

__all__ = ["claim", "claim_page", "finish", "folder_of", "keeping", "partial_of", "session"]

_held: ContextVar[ExitStack | None] = ContextVar("held", default=None)


@contextmanager
def session() -> Iterator[None]:
    """One command: what it claims is let go when it ends."""
    with ExitStack() as stack:
        token = _held.set(stack)
        try:
            yield
        finally:
            _held.reset(token)


def claim(path: Path | None, endings: tuple[str, ...] = PARQUET) -> None:
    """Refuse a file that could not be written; the others are ours until the command ends.

    From here on a closed terminal and a polite kill end the command as Ctrl-C does.
    """
    if path is None:
        return
    with ExitStack() as checked:
        checked.enter_context(claimed(path, endings))
        if (stack := _held.get()) is not None:
            stack.enter_context(_ended_in_order())
            stack.push(checked.pop_all())


def claim_page(path: Path | None, extra: str = "report") -> None:
    """The same for a page, and for what draws it."""
    if path is not None:
        require(extra)
        claim(path, HTML)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    before: dict[int, Any] = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # What was ignored on purpose, as by nohup, stays so; only the main thread may ask.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            with suppress(ValueError):
                before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: object) -> NoReturn:
    # A second one must not interrupt what the first began to keep.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


def partial_of(out: Path | None) -> Path | None:
    """Where an unfinished run is kept: beside what it is to become."""
    return None if out is None else out.with_suffix(".partial.parquet")


@contextmanager
def keeping(out: Path | None) -> Iterator[None]:
    """Whatever stops the run in here, say where what was finished is, and how to go on."""
    try:
        yield
    except BaseException as stop:
        partial = getattr(stop, "partial", None)
        if partial is not None and partial.started:
            kept = partial_of(out)
            with suppress(OSError):  # a terminal that is no longer there
                tell(
                    "What was finished is lost: give --out to keep it next time."
                    if kept is None
                    else f"What was finished is kept. Go on with: --resume {kept}"
                )
        raise


def finish(result: Scores | Search, out: Path | None) -> None:
    """Write the result; what was kept on the way is no longer needed."""
    if out is not None:
        result.save(out)
        partial = partial_of(out)
        assert partial is not None
        partial.unlink(missing_ok=True)


@contextmanager
def folder_of(page: Path | None, keep: Path | None, resume: Path | None) -> Iterator[Folder]:
    """Where several runs that belong together are kept; removed when all of them are used."""
    beside = None if page is None else page.with_suffix(".partial")
    folder = Folder(keep or resume or beside, resume)
    try:
        yield folder
    except BaseException:
        if folder.path is not None and any(folder.path.rglob("*.parquet")):
            with suppress(OSError):
                tell(f"What was finished is kept. Go on with: --resume {folder.path}")
        raise
    if folder.path is not None:
        clear(folder.path)
