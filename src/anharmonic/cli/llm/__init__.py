"""`anharmonic llm`: language models, one file per command."""

from __future__ import annotations

import typer

from anharmonic.cli.lazy import Entry, lazy_group

__all__ = ["COMMANDS", "language"]

COMMANDS = {
    "score": Entry(
        "anharmonic.cli.llm.score:score_command",
        "Measure every question: exit code 0, or 100 when a criterion is not met.",
    ),
    "calibrate": Entry(
        "anharmonic.cli.llm.calibrate:calibrate_command",
        "Fit the two limits to judged answers, with 95% intervals.",
    ),
    "search": Entry(
        "anharmonic.cli.llm.search:search_command",
        "Search near a prompt for a large gamma, beside random walks and the best of as many.",
    ),
    "leaderboard": Entry(
        "anharmonic.cli.llm.board:leaderboard_command",
        "Models by data sets: mean gamma with its error, and which differences are real.",
    ),
    "ratings": Entry(
        "anharmonic.cli.llm.board:ratings_command",
        "Correlate gamma with ratings: a table with id and rating, annotator and model if known.",
    ),
    "serve": Entry(
        "anharmonic.cli.llm.serve:serve_command",
        "Forward chat completions unchanged, and score a share of them on the side.",
    ),
    "demo": Entry(
        "anharmonic.cli.llm.demo:demo_command",
        "Ask SmolLM2 twenty questions, and see which answers hold when it is asked again.",
    ),
}

language = typer.Typer(
    cls=lazy_group(COMMANDS),
    no_args_is_help=True,
    help="How far to trust a language model's answers.",
)


@language.callback()
def begin() -> None:
    """How far to trust a language model's answers."""
