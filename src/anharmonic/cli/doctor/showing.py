"""What `anharmonic doctor` found, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from anharmonic import __version__
from anharmonic.cli.show import printable

if TYPE_CHECKING:
    from anharmonic.cli.doctor import Findings
    from anharmonic.cli.doctor.installation import Extra
    from anharmonic.cli.doctor.known_answers import Outcome

__all__ = ["show"]

COLOURS = {"ready": "green", "in part": "yellow", "does not fit": "red", "not installed": "dim"}
CPU_TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


def show(found: Findings) -> None:
    """Tables, then what to install for what, then what is wrong or that all is well."""
    console = Console(highlight=False)
    console.print(_machine(found))
    console.print(_extras(found.extras))
    console.print(_answers(found.answers))
    _advise(console, found)
    if not found.problems:
        console.print("[bold green]All is well.[/]")
    for problem in found.problems:
        console.print(f"[bold red]Wrong:[/] {printable(problem)}", soft_wrap=True)


def _machine(found: Findings) -> Table:
    table = Table(title=f"anharmonic {__version__}", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    version, needed, _ = found.python
    table.add_row("Python", f"{version} (needed: {needed})")
    table.add_row("core", ", ".join(f"{one.name} {one.installed}" for one in found.core))
    size = "" if found.memory is None else f", {found.memory:.0f} GiB of memory"
    table.add_row("machine", f"{found.cores} cores{size}")
    table.add_row("accelerators", printable(", ".join(found.devices) or "none; nothing needs one"))
    absent = "none: PNG and SVG cannot be drawn, HTML can; install chromium"
    table.add_row("browser", printable(found.browser or absent))
    return table


def _extras(extras: dict[str, Extra]) -> Table:
    table = Table(title="optional parts")
    for heading in ("extra", "for", "state"):
        table.add_column(heading)
    for name, extra in extras.items():
        table.add_row(name, extra.purpose, f"[{COLOURS[extra.state]}]{_state(extra)}[/]")
    return table


def _state(extra: Extra) -> str:
    missing = ", ".join(package.name for package in extra.packages if not package.installed)
    misfits = ", ".join(
        f"{package.name} {package.installed} ({package.needed})"
        for package in extra.packages
        if package.installed and not package.fits
    )
    if extra.state == "in part":
        return printable(f"in part, without {missing}")
    return printable(f"does not fit: {misfits}" if misfits else extra.state)


def _answers(answers: list[Outcome]) -> Table:
    seconds = sum(outcome.seconds for outcome in answers)
    table = Table(title=f"measured where the answer is known ({seconds:.1f} s)")
    for heading in ("what", "measured", "allowed", ""):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for outcome in answers:
        mark = "[green]right[/]" if outcome.right else "[bold red]WRONG[/]"
        allowed = f"{outcome.expected:.4g} ± {outcome.allowed:.2g}"
        table.add_row(printable(outcome.name), f"{outcome.measured:.4g}", allowed, mark)
    return table


def _advise(console: Console, found: Findings) -> None:
    """One command that shows how, rather than one for each extra."""
    lacking = [extra for extra in found.extras.values() if extra.state != "ready"]
    if not lacking:
        return
    console.print(
        "To add a part, name its extra, several with commas: "
        + printable(f"pip install 'anharmonic[{lacking[-1].name}]'"),
        soft_wrap=True,
    )
    missing = {
        package.name for extra in lacking for package in extra.packages if not package.installed
    }
    if "torch" in missing:
        console.print(
            "Before an extra that needs torch, on a machine without a GPU: "
            f"{CPU_TORCH} (a tenth of the size)",
            soft_wrap=True,
        )
