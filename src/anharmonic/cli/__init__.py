"""The command line: parse, call one function, print."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from anharmonic import __version__
from anharmonic.cli.card import card_command
from anharmonic.cli.check import check_command
from anharmonic.cli.clever import clever_command
from anharmonic.cli.compare import compare_command
from anharmonic.cli.demo import demo
from anharmonic.cli.explain import explain_command
from anharmonic.cli.llm import language
from anharmonic.cli.measure import measure
from anharmonic.cli.monitor import monitor
from anharmonic.cli.nstep import nstep_command
from anharmonic.cli.outputs import session
from anharmonic.cli.report import report_command
from anharmonic.cli.reproduce import reproduce
from anharmonic.cli.search import search_command
from anharmonic.cli.serve import export_command, serve_command
from anharmonic.cli.show import complain
from anharmonic.cli.spade import spade_command
from anharmonic.cli.sweep import sweep_command
from anharmonic.errors import AnharmonicError

__all__ = ["app", "main"]

app = typer.Typer(
    name="anharmonic",
    help="Measure how robust, overfit and explainable any model is, without labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(measure, name="gamma")
app.command("card")(card_command)
app.command("check")(check_command)
app.command("clever")(clever_command)
app.command("compare")(compare_command)
app.command("spade")(spade_command)
app.command("sweep")(sweep_command)
app.command("report")(report_command)
app.command("search")(search_command)
app.command("explain")(explain_command)
app.command("serve")(serve_command)
app.command("export")(export_command)
app.command("nstep")(nstep_command)
app.command("demo")(demo)
app.add_typer(monitor, name="monitor")
app.add_typer(reproduce, name="reproduce")
app.add_typer(language, name="llm")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"anharmonic {__version__}")
        raise typer.Exit


@app.callback()
def begin(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Which this is.")
    ] = False,
) -> None:
    """Everything runs on this machine; nothing is sent anywhere."""
    context.with_resource(session())


def main() -> None:
    """Run, and turn expected errors into one line and exit code 1."""
    try:
        app()
    except AnharmonicError as problem:
        complain(problem)
        sys.exit(1)
