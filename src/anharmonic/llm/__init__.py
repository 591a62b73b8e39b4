"""Gamma for language models: how far an answer is from the mean of answers to nearby prompts."""

from anharmonic.llm import clients, embed, perturb, rivals, statistics
from anharmonic.llm.clients import as_client
from anharmonic.llm.measuring import gamma
from anharmonic.llm.result import LanguageScores
from anharmonic.llm.shapes import Answer, Client, Embed, Parameters, Request

__all__ = [
    "Answer",
    "Client",
    "Embed",
    "LanguageScores",
    "Parameters",
    "Request",
    "as_client",
    "clients",
    "embed",
    "gamma",
    "perturb",
    "rivals",
    "statistics",
]
