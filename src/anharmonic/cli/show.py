"""What a person sees: tables with errors, a bar that says how long."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from anharmonic.columns import told
from anharmonic.moments import Estimate
from anharmonic.scores import Scores

__all__ = ["command_line", "complain", "plain", "progress_bar", "show_scores", "tell"]

WORST = 5


def command_line() -> str:
    """What was typed, ready to be typed again."""
    return shlex.join(["anharmonic", *sys.argv[1:]])


def complain(problem: Exception) -> None:
    """What went wrong, in one line on standard error."""
    tell(str(problem), "[bold red]anharmonic:[/] ")


def tell(message: str, before: str = "") -> None:
    """A line on standard error, beside whatever goes to standard output."""
    # The message is not markup: 'anharmonic[onnx]' must reach the reader whole.
    Console(stderr=True, highlight=False, soft_wrap=True).print(before + escape(message))


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        passed = task.finished_time or task.elapsed
        return Text(f"{task.completed / passed:,.0f} queries/s" if passed else "")


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error with queries a second and time left."""
    columns = (
        TextColumn("measuring"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as bar:
        task = bar.add_task("measuring", total=1)

        def update(done: int, expected: int) -> None:
            bar.update(task, completed=done, total=expected)

        yield update


def show_scores(scores: Scores, as_json: bool) -> None:
    """The result on standard output: a table for people, or JSON for machines."""
    if as_json:
        print(json.dumps(plain(scores.summary())))
        return
    console = Console()
    console.print(_headline(scores))
    console.print(_worst(scores))


def _headline(scores: Scores) -> Table:
    settings = scores.settings
    low, high = scores.interval()
    table = Table(title=f"{scores.metric} of {settings.get('model', 'a model')}", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row(f"mean {scores.metric}", str(Estimate(scores.mean, scores.error)))
    table.add_row("95% interval", f"{low:.4g} … {high:.4g}")
    if np.isfinite(scores.floor):
        table.add_row("noise alone would read", f"{scores.floor:.2g}")
        table.add_row("root mean square, noise removed", str(scores.rms))
    table.add_row("points", f"{len(scores):,}")
    table.add_row("queries", f"{scores.queries:,} ({scores.queries / len(scores):.1f} a point)")
    table.add_row("radius", _radius(settings))
    table.add_row("ball", f"{settings.get('ball')}, {settings.get('rotations')} rotations")
    for name, names in told(settings).items():
        table.add_row(name, escape(names))
    if settings.get("noise"):
        table.add_row("the model's own noise", f"{settings['noise']:.2g} (in the errors)")
    if "clipped" in settings:
        table.add_row("queries moved by the bounds", f"{settings['clipped']:.1%}")
    return table


def _radius(settings: dict[str, Any]) -> str:
    distance = settings.get("nearest_distance")
    why = "as given" if distance is None else "the usual distance between neighbours"
    return f"{settings['radius']:.4g} ({why})"


def _worst(scores: Scores) -> Table:
    low, high = scores.intervals()
    end, which = ("lower", "largest") if scores.fragile == "large" else ("upper", "smallest")
    table = Table(title=f"{which}, by the {end} end of their intervals")
    for name in ("row", scores.metric, "95% interval", "output"):
        table.add_column(name, justify="right")
    for row in scores.worst(WORST).tolist():
        outputs = np.atleast_1d(scores.outputs[row])[:4]
        table.add_row(
            str(row),
            str(Estimate(scores.values[row], scores.errors[row])),
            f"{low[row]:.4g} … {high[row]:.4g}",
            ", ".join(f"{each:.3g}" for each in outputs),
        )
    return table


def plain(value: Any) -> Any:
    """JSON has no NaN: say null."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
