"""The command line: parse, call one function, print."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, TextIO

import typer

from anharmonic import __version__
from anharmonic.cli.lazy import Entry, lazy_group
from anharmonic.errors import AnharmonicError

__all__ = ["COMMANDS", "app", "main", "run"]

PACKAGE = Path(__file__).parents[1]
COMMANDS = {
    "audit": Entry(
        "anharmonic.cli.audit:audit_command",
        "Say what is wrong with a model and its data, how bad it is, and what to do.",
    ),
    "gamma": Entry(
        "anharmonic.cli.gamma:gamma_command",
        "How far a model is from the mean-value property at each point: 0 for a harmonic one.",
    ),
    "gamma plan": Entry(
        "anharmonic.cli.gamma:plan_command",
        "Write every question for a model that runs elsewhere; answer them, then collect.",
    ),
    "gamma collect": Entry(
        "anharmonic.cli.gamma:collect_command",
        "Turn the answers to a plan into the scores a direct run would have given.",
    ),
    "gamma recorded": Entry(
        "anharmonic.cli.recorded:recorded_command",
        "Gamma over data of answers that were recorded: no model is asked.",
    ),
    "suspects": Entry(
        "anharmonic.cli.suspects:suspects_command",
        "Rows to look at first, wrong labels among them: where other rows contradict the model.",
    ),
    "support": Entry(
        "anharmonic.cli.support:support_command",
        "Which rows hold the answer at one row up, which contradict it, and what they rest on.",
    ),
    "compare": Entry(
        "anharmonic.cli.compare:compare_command",
        "Rank models by gamma on the same points, and say which differences are real.",
    ),
    "fix": Entry(
        "anharmonic.cli.fix:fix_command",
        "What would make a model better: proposals that were measured on held-out rows first.",
    ),
    "sweep": Entry(
        "anharmonic.cli.sweep:sweep_command", "Measure at several radii, and recommend one."
    ),
    "check": Entry(
        "anharmonic.cli.check:check_command",
        "Pass or fail a model by its mean gamma: exit code 0 or 100.",
    ),
    "report": Entry(
        "anharmonic.cli.report:report_command",
        "Write one HTML file that needs nothing else: headline, tables, pictures, worst points.",
    ),
    "search": Entry(
        "anharmonic.cli.search:search_command",
        "Walk from each point until its class changes: which rows flip, and how far from where.",
    ),
    "nstep": Entry(
        "anharmonic.cli.nstep:nstep_command",
        "Tell how likely each decision is to last for some random steps.",
    ),
    "explain": Entry(
        "anharmonic.cli.explain:explain_command",
        "Explain the model's answer at one row; scale and radius come from all of the data.",
    ),
    "clever": Entry(
        "anharmonic.cli.clever:clever_command",
        "A lower bound on how far an attack must go (CLEVER), and the points nearest to one.",
    ),
    "spade": Entry(
        "anharmonic.cli.spade:spade_command",
        "How far a model pulls apart what is close: the SPADE score, and the most fragile points.",
    ),
    "monitor": Entry(
        "anharmonic.cli.replay:monitor", "Watch a model's scores for drift, without labels."
    ),
    "serve": Entry(
        "anharmonic.cli.serve:serve_command",
        "Watch a model as a service: points over HTTP, alarms, metrics and a live page.",
    ),
    "export": Entry(
        "anharmonic.cli.serve:export_command", "Write what a service has kept to a Parquet file."
    ),
    "llm": Entry("anharmonic.cli.llm:language", "How far to trust a language model's answers."),
    "card": Entry(
        "anharmonic.cli.card:card_command",
        "Add mean gamma by data set to a Hugging Face model card; nothing is uploaded.",
    ),
    "demo": Entry(
        "anharmonic.cli.demo:demo",
        "Train the paper's four Wine models and tell the overfit ones apart without labels.",
    ),
    "doctor": Entry(
        "anharmonic.cli.doctor:doctor_command",
        "Look at this installation: versions, extras, devices, and measures with known answers.",
    ),
    "reproduce": Entry(
        "studies.command:reproduce",
        "Measure the paper's tables and figures again, with errors (in a clone of the repository).",
    ),
}

app = typer.Typer(
    name="anharmonic",
    help="Measure how robust, overfit and explainable any model is, without labels.",
    cls=lazy_group(COMMANDS),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"anharmonic {__version__}")
        raise typer.Exit


@app.callback()
def begin(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Which this is."),
    ] = False,
) -> None:
    """Everything runs on this machine; nothing is sent anywhere."""
    from anharmonic.cli.output_files import session

    context.with_resource(session())


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning of this package in one line, without its place in the code; others as ever."""
    if category is UserWarning and Path(filename).is_relative_to(PACKAGE):
        from anharmonic.cli.show import warn

        warn(str(message))
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def run(program: typer.Typer) -> None:
    """Run a program; an expected error is one line and exit code 1."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            program()
        except AnharmonicError as problem:
            from anharmonic.cli.show import complain

            complain(problem)
            sys.exit(1)


def main() -> None:
    """Run `anharmonic`."""
    run(app)
