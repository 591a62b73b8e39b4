"""`anharmonic reproduce`: the paper's tables and figures, measured again."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from anharmonic.cli.options import Json
from anharmonic.cli.show import plain, tell
from anharmonic.reproduce.page import Page, Section, prose

__all__ = ["reproduce"]

STUDIES = {
    "functions": ("functions:known_functions", "Balls and functions with known answers."),
    "wine": ("splits:wine_splits", "The four Wine models over 20 splits: a minute on two cores."),
    "boundary": ("boundary:boundary_length", "Gamma of labels is the length of the boundary."),
    "radius": ("radius:radius_dependence", "Gamma against the radius: when is the order steady?"),
    "overfitting": (
        "overfitting.study:overfitting",
        "Gamma against the true generalisation gap: 12 data sets, some minutes on two cores.",
    ),
    "dirichlet": ("dirichlet:minimal_interpolation", "Relax a boundary to a harmonic function."),
}

reproduce = typer.Typer(
    no_args_is_help=True, help="Measure the paper's tables and figures again, with errors."
)


def _command(name: str, place: str) -> Callable[..., None]:
    def run(
        seed: Annotated[int, typer.Option(min=0)] = 0,
        out: Annotated[
            Path | None, typer.Option(help="Write the page as Markdown into this folder.")
        ] = None,
        as_json: Json = False,
    ) -> None:
        module, function = place.split(":")
        study = getattr(import_module(f"anharmonic.reproduce.{module}"), function)
        with Console(stderr=True).status(f"{name} …") as status:
            page: Page = study(seed=seed, tell=lambda line: status.update(escape(line)))
        if out is not None:
            tell(f"written: {page.write(out)}")
        if as_json:
            print(json.dumps(plain(page.plain())))
        else:
            _show(page)

    return run


for _name, (_place, _help) in STUDIES.items():
    reproduce.command(_name, help=_help)(_command(_name, _place))


def _show(page: Page) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{escape(page.title)}[/]\n")
    console.print(f"The paper says: {escape(prose(page.claim))}\n", style="dim")
    for section in page.sections:
        if section.rows:
            console.print(_table(section))
    for line in page.verdict:
        console.print(f"• {escape(prose(line))}")
    console.print(f"{page.queries:,} queries, seed {page.seed}", style="dim")


def _table(section: Section) -> Table:
    headings, cells = section.table()
    table = Table(title=escape(section.title))
    for heading in headings:
        words = heading in ("case", "paper", "remark")
        table.add_column(heading, justify="left" if words else "right")
    for line in cells:
        table.add_row(*(escape(cell) for cell in line))
    return table
