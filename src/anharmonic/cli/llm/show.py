"""What a person sees of a run: a bar with calls and cost, a table with errors, what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from anharmonic._core.estimate import Estimate
from anharmonic._core.printable import shortened, visible
from anharmonic.llm.bands import Bands
from anharmonic.llm.dispatch import Usage
from anharmonic.llm.summaries import RunSummary

__all__ = ["calls_bar", "least_steady", "problems", "run_table"]

WORST = 5

NO_BANDS = (
    "The paper's bands are for its control characters and ten answers: fit your own with "
    "anharmonic llm calibrate."
)


@contextmanager
def calls_bar(total: int, quiet: bool) -> Iterator[Callable[[Usage, int], None]]:
    """A bar on standard error: answers, calls per second, cost, time left."""
    columns = (
        TextColumn("asking"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} answers"),
        TextColumn("{task.fields[about]}"),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as bar:
        task = bar.add_task("asking", total=total, about="")

        def advance(usage: Usage, answers: int) -> None:
            rate = usage.calls / max(time.monotonic() - started, 1e-9)
            about = f"{rate:,.1f} calls/s"
            about += f", cost {usage.cost:,.4g}" if usage.price is not None else ""
            about += f", {usage.refused:,} refused" if usage.refused else ""
            about += f", {usage.failed:,} failed" if usage.failed else ""
            bar.update(task, advance=answers, about=about)

        yield advance


def run_table(run: RunSummary, bands: Bands | None, usage: Usage) -> Table:
    """The headline of a run."""
    unit = run.header["recipe"]["unit"]
    table = Table(
        title=escape(visible(f"gamma of {run.model} on {run.data}")),
        show_header=False,
        caption=escape(NO_BANDS if bands is None else bands.caveat),
        caption_justify="left",
    )
    table.add_column(style="bold")
    table.add_column()
    table.add_row(f"mean gamma ({unit}), N = {run.header['recipe']['count']}", str(run.mean))
    table.add_row("corrected for N", str(run.corrected))
    table.add_row("perturbation", escape(visible(str(run.header["recipe"]["perturb"]))))
    if run.header["recipe"]["repeats"]:
        table.add_row("gamma0, the model's own noise", str(run.mean0))
        table.add_row("excess", str(run.excess))
    if bands is not None:
        low, high = bands.limits(unit)
        limits = (f"< {low:.3g}", f"{low:.3g} … {high:.3g}", f"> {high:.3g}")
        counts = bands.counts(run.values, unit)
        for limit, (word, rate) in zip(limits, counts.items(), strict=True):
            table.add_row(f"{word} ({limit})", str(rate))
    table.add_row("questions", f"{len(run):,}")
    table.add_row("answers", f"{run.answers:,}, {usage.cached:,} of them from the cache now")
    table.add_row("refused, failed", f"{run.refused.sum():,}, {run.failed.sum():,}")
    table.add_row("calls now, retries included", f"{usage.calls:,}")
    if usage.price is not None:
        table.add_row("cost now", f"{usage.cost:.4g}")
    return table


def least_steady(run: RunSummary) -> Table:
    """The questions with the largest gamma."""
    table = Table(title="the least steady answers")
    for name in ("gamma", "id", "question"):
        table.add_column(name, justify="right" if name == "gamma" else "left")
    rows = run.measured[(-run.values[run.measured]).argsort(kind="stable")]
    for row in rows[:WORST].tolist():
        table.add_row(
            str(Estimate(run.values[row], run.errors[row])),
            escape(shortened(run.ids[row], 20)),
            escape(shortened(run.prompts[row], 60)),
        )
    return table


def problems(run: RunSummary, stopped: str | None, allowed: float) -> list[str]:
    """What keeps a run from being whole, in sentences."""
    faults = [] if stopped is None else [stopped]
    share = run.missing / max(run.answers, 1)
    if share > allowed:
        faults.append(
            f"{run.refused.sum():,} answers were refused and {run.failed.sum():,} failed, "
            f"{share:.1%} of {run.answers:,}: see "
            f"'problems' in {run.path}, then try --retry-errors or another --perturb"
        )
    return faults
