"""`anharmonic llm leaderboard` and `llm ratings`: runs side by side, and beside what people say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from anharmonic._core.printable import visible
from anharmonic.cli.groups import Json, Seed
from anharmonic.cli.show import plain, tell
from anharmonic.errors import SettingsError
from anharmonic.llm.board import Board, leaderboard
from anharmonic.llm.pages.boards import write_board
from anharmonic.llm.rating import Ratings, ratings

__all__ = ["leaderboard_command", "ratings_command"]


def leaderboard_command(
    runs: Annotated[list[Path], typer.Argument(help="Runs written by llm score.")],
    out: Annotated[Path | None, typer.Option(help="Write one HTML page here.")] = None,
    as_json: Json = False,
) -> None:
    """Models by data sets: mean gamma with its error, and which differences are real.

    Example: anharmonic llm leaderboard a.jsonl b.jsonl --out board.html
    """
    board = leaderboard(runs)
    if out is not None:
        tell(f"written: {write_board(out, board)}")
    if as_json:
        print(json.dumps(plain(board.plain())))
        return
    console = Console(highlight=False)
    console.print(_board(board))
    for contest in board.contests:
        for pair in contest.differences:
            console.print(f"{escape(visible(contest.data))}: {escape(visible(str(pair)))}")
        if not contest.alike:
            tell(f"{visible(contest.data)}: runs measured differently, so they are not compared")


def ratings_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="RUN... RATINGS", help="Runs, and a table of ratings.")
    ],
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Correlate gamma with ratings: a table with id and rating, annotator and model if known.

    Example: anharmonic llm ratings run.jsonl ratings.csv
    """
    if len(files) < 2:
        raise SettingsError("give runs and, last, the table of ratings")
    compared = ratings(files[:-1], files[-1], seed=seed)
    if as_json:
        print(json.dumps(plain(compared.plain())))
        return
    console = Console(highlight=False)
    console.print(_correlations(compared))
    agreement = compared.agreement
    if agreement is not None:
        console.print(
            f"annotators agree: Krippendorff's alpha {agreement.alpha:.3f} "
            f"[{agreement.low:.3f}, {agreement.high:.3f}], {agreement.annotators} annotators, "
            f"{agreement.rated_twice:,} answers rated more than once"
        )
    if compared.unmatched:
        tell(f"{compared.unmatched:,} ratings are of no question in these runs")


def _board(board: Board) -> Table:
    table = Table(title="mean gamma, smallest first")
    table.add_column("model")
    for contest in board.contests:
        table.add_column(escape(visible(contest.data)), justify="right")
    table.add_column("over shared sets", justify="right")
    for model in board.models:
        runs = [board.run(model, contest.data) for contest in board.contests]
        cells = ["–" if run is None else str(run.mean) for run in runs]
        table.add_row(escape(visible(model)), *cells, str(board.overall(model)))
    return table


def _correlations(compared: Ratings) -> Table:
    table = Table(title="gamma and ratings, with 95% intervals")
    table.add_column("answers of")
    for name in ("rated", "Spearman", "Pearson"):
        table.add_column(name, justify="right")
    for row in compared.correlations:
        cells = ["{:.3f} [{:.3f}, {:.3f}]".format(*value) for value in (row.spearman, row.pearson)]
        table.add_row(escape(visible(row.group)), f"{row.answers:,}", *cells)
    return table
