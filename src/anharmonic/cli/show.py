"""What a person sees: tables with errors, a bar that says how long."""

from __future__ import annotations

import json
import math
import shlex
import sys
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from anharmonic._core.columns import kinds_in_words, named_rows, told, words_for
from anharmonic._core.estimate import Estimate
from anharmonic._core.printable import visible

if TYPE_CHECKING:
    from anharmonic._core.settings import Settings
    from anharmonic.scores import Scores

__all__ = [
    *("answer_cell", "command_line", "complain", "plain", "printable", "show_scores", "tell"),
    "warn",
]

WORST = 5


def command_line() -> str:
    """What was typed, ready to be typed again."""
    return shlex.join(["anharmonic", *sys.argv[1:]])


def complain(problem: Exception) -> None:
    """What went wrong, in one line on standard error."""
    tell(" ".join(str(problem).split()), "[bold red]anharmonic:[/] ")


def warn(message: str) -> None:
    """What to know of a result that is given nevertheless, in one line on standard error."""
    tell(" ".join(message.split()), "[bold yellow]anharmonic:[/] ")


def tell(message: str, before: str = "") -> None:
    """A line on standard error, beside whatever goes to standard output."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(before + printable(message))


def printable(text: object) -> str:
    r"""Somebody's text as it is: no markup ('anharmonic[onnx]' stays whole), no control codes.

    >>> print(printable("[/x] \x1b[2J"))
    \[/x] ␛[2J
    """
    return escape(visible(str(text), lines=True))


def show_scores(scores: Scores, as_json: bool) -> None:
    """The result on standard output: a table for people, or JSON for machines."""
    if as_json:
        print(json.dumps(plain(scores.summary())))
        return
    console = Console()
    console.print(_headline(scores))
    console.print(printable(scores.reading), highlight=False, soft_wrap=True, style="dim")
    console.print(_worst(scores))


def _headline(scores: Scores) -> Table:
    settings, facts = scores.settings, scores.settings.plain()
    low, high = scores.interval()
    name = printable(settings.model or "a model")
    table = Table(title=f"{scores.metric} of {name}", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row(f"mean {scores.metric}", str(Estimate(scores.mean, scores.error)))
    table.add_row("95% interval", f"{low:.4g} … {high:.4g}")
    if np.isfinite(scores.floor):
        table.add_row("noise alone would read", f"{scores.floor:.2g}")
        table.add_row("root mean square, noise removed", str(scores.rms))
    if scores.about.bounded and np.isfinite(scores.relative.value):
        table.add_row("share of the outputs' spread", scores.relative.percent)
    table.add_row("points", f"{len(scores):,}")
    each = f"{scores.queries / len(scores):.1f} per point"
    table.add_row("queries", f"{scores.queries:,} ({each if scores.queries else 'recorded'})")
    if settings.moves:
        table.add_row("radius", _radius(settings))
    turns = f", {facts.get('rotations')} rotations" if settings.moves else ""
    table.add_row(words_for(settings)["ball"], f"{facts.get('ball')}{turns}")
    for name, names in told(settings).items():
        table.add_row(name, printable(names))
    if settings.kinds:
        table.add_row("as", printable(kinds_in_words(settings.columns, settings.kinds)))
        most = [f"{moved.name} ({moved.change})" for moved in scores.along()[:3]]
        table.add_row("answers move most with", printable(", ".join(most)))
    if settings.noise:
        table.add_row("the model's own noise", f"{settings.noise:.2g} (in the errors)")
    if settings.knows("clipped"):
        table.add_row("queries moved by the bounds", f"{settings.clipped:.1%}")
    return table


def _radius(settings: Settings) -> str:
    distance = settings.nearest_distance
    why = "as given" if distance is None else "the usual distance between neighbours"
    return f"{settings.radius:.4g} ({why})"


def _worst(scores: Scores) -> Table:
    low, high = scores.intervals()
    end, which = ("lower", "largest") if scores.fragile == "large" else ("upper", "smallest")
    table = Table(title=f"{which}, by the {end} end of their intervals")
    names = named_rows(scores.index)
    others = getattr(scores, "others", None)
    said = {"output": scores.outputs} | ({} if others is None else {"other rows say": others})
    for name in ("row", scores.metric, "95% interval", *said):
        table.add_column(name, justify="right")
    for row in scores.worst(WORST).tolist():
        table.add_row(
            printable(str(row) if names is None else names[row]),
            str(Estimate(scores.values[row], scores.errors[row])),
            f"{low[row]:.4g} … {high[row]:.4g}",
            *(answer_cell(values[row]) for values in said.values()),
        )
    return table


def answer_cell(answer: object) -> str:
    """An answer in a few characters: a class by its name, the first numbers of a vector.

    >>> answer_cell(np.array([0.25, 0.75])), answer_cell("red")
    ('0.25, 0.75', 'red')
    """
    values = np.atleast_1d(np.asarray(answer))
    if values.dtype.kind not in "fiub":
        return ", ".join(str(value) for value in values.tolist())
    return ", ".join(f"{value:.3g}" for value in values[:4])


@overload
def plain(value: dict[str, Any]) -> dict[str, object]: ...
@overload
def plain(value: object) -> object: ...
def plain(value: object) -> object:
    """JSON has no NaN: say null."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
