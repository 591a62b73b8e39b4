"""Progress of a long run: calls of a function, or a bar in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from anharmonic.errors import SettingsError

__all__ = ["Progress", "Telling", "parts", "shown"]

Telling = Callable[[int, int], None]
"""Called with queries made so far and queries expected in all."""
Progress = Telling | bool | None
"""A function to call, True for a bar, None for neither."""

SECONDS = 0.2
"""Between two updates of a bar in a notebook."""


@contextmanager
def shown(progress: Progress) -> Iterator[Telling | None]:
    """The function to report progress to, for as long as the work lasts."""
    if progress is None or progress is False:
        yield None
    elif progress is not True:
        if not callable(progress):
            raise SettingsError(
                f"progress={progress!r}: give True for a bar, or a function of the queries made "
                "and the queries expected"
            )
        yield progress
    elif _in_notebook():
        yield _Notebook()
    else:
        with _bar() as update:
            yield update


def parts(report: Telling | None, count: int) -> Iterator[Telling | None]:
    """A function for each of several runs to report to, so that together they look like one.

    >>> for run in parts(lambda done, expected: print(done, "of", expected), 2):
    ...     run(5, 10)
    ...     run(10, 10)
    5 of 20
    10 of 20
    15 of 20
    20 of 20
    """
    before = 0
    for left in range(count, 0, -1):
        if report is None:
            yield None
            continue
        run = _Part(report, before, left)
        yield run
        before += run.done


@dataclass
class _Part:
    """One run of several: `before` counts queries of earlier runs, `left` the runs from here on."""

    report: Telling
    before: int
    left: int
    done: int = 0

    def __call__(self, done: int, expected: int) -> None:
        self.done = done
        # Those still to come are taken to cost what this one does.
        self.report(self.before + done, self.before + expected * self.left)


@contextmanager
def _bar() -> Iterator[Telling]:
    """A bar on standard error with queries per second and time left."""
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            passed = task.finished_time or task.elapsed
            return Text(f"{task.completed / passed:,.0f} queries/s" if passed else "")

    columns = (
        TextColumn("measuring"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        Rate(),
        TimeRemainingColumn(),
    )
    bar = Bar(*columns, console=Console(stderr=True))
    task = bar.add_task("measuring", total=1)

    def update(done: int, expected: int) -> None:
        bar.update(task, completed=done, total=expected)

    bar.start()
    try:
        yield update
    finally:
        # A terminal that was closed must not hide why the work ended.
        with suppress(OSError):
            bar.stop()


def _in_notebook() -> bool:
    """Whether this process is a notebook's kernel, whose output is HTML and not a terminal."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and hasattr(running, "kernel")


class _Notebook:
    """The same bar as HTML that is renewed in place: no widgets need be installed for it."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.last = 0.0
        self.handle: Any = None

    def __call__(self, done: int, expected: int) -> None:
        now = time.perf_counter()
        if done < expected and now - self.last < SECONDS:
            return
        from IPython.display import HTML, display

        self.last = now
        page = HTML(self.picture(done, expected, now - self.begun))
        if self.handle is None:
            self.handle = display(page, display_id=True)
        else:
            self.handle.update(page)

    @staticmethod
    def picture(done: int, expected: int, seconds: float) -> str:
        """The bar, the count, the rate and the time left.

        >>> _Notebook.picture(500, 1000, 2.0)[-52:]
        '500 of 1,000 queries, 250 queries/s, 0:02 left</div>'
        """
        rate = done / seconds if seconds else 0.0
        left = round((expected - done) / rate) if rate else 0
        return (
            f"<div><progress value='{done}' max='{max(1, expected)}'></progress> {done:,} of "
            f"{expected:,} queries, {rate:,.0f} queries/s, {left // 60}:{left % 60:02} left</div>"
        )
