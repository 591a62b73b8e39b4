"""Gamma for language models: how far an answer is from the mean of answers to nearby prompts."""

from anharmonic.llm import clients, embed, perturb, rivals, statistics
from anharmonic.llm.bands import Bands, calibrate
from anharmonic.llm.board import Board, leaderboard
from anharmonic.llm.clients import as_client
from anharmonic.llm.measuring import gamma
from anharmonic.llm.prompt_search import PromptSearch, search
from anharmonic.llm.rating import Ratings, ratings
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.result import LanguageScores
from anharmonic.llm.summaries import RunSummary, read_run
from anharmonic.llm.types import Answer, Client, Embed, Parameters, Request

__all__ = [
    "Answer",
    "Bands",
    "Board",
    "Client",
    "Embed",
    "LanguageScores",
    "Parameters",
    "PromptSearch",
    "Ratings",
    "Recipe",
    "Request",
    "RunSummary",
    "as_client",
    "calibrate",
    "clients",
    "embed",
    "gamma",
    "leaderboard",
    "perturb",
    "ratings",
    "read_run",
    "rivals",
    "search",
    "statistics",
]
