"""`anharmonic llm`: language models, one file a command."""

from __future__ import annotations

import typer

from anharmonic.cli.llm.calibrate import calibrate_command
from anharmonic.cli.llm.score import score_command

__all__ = ["language"]

language = typer.Typer(no_args_is_help=True, help="How far to trust a language model's answers.")
language.command("score")(score_command)
language.command("calibrate")(calibrate_command)
