"""`anharmonic llm`: language models, one file a command."""

from __future__ import annotations

import typer

from anharmonic.cli.llm.board import leaderboard_command, ratings_command
from anharmonic.cli.llm.calibrate import calibrate_command
from anharmonic.cli.llm.demo import demo_command
from anharmonic.cli.llm.score import score_command
from anharmonic.cli.llm.search import search_command
from anharmonic.cli.llm.serve import serve_command

__all__ = ["language"]

language = typer.Typer(no_args_is_help=True, help="How far to trust a language model's answers.")
language.command("score")(score_command)
language.command("calibrate")(calibrate_command)
language.command("search")(search_command)
language.command("leaderboard")(leaderboard_command)
language.command("ratings")(ratings_command)
language.command("serve")(serve_command)
language.command("demo")(demo_command)
