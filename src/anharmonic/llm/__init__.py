"""Gamma for language models: how far an answer is from the mean of answers to nearby prompts."""

from anharmonic.llm import perturb, statistics
from anharmonic.llm.shapes import Answer, Client, Embed, Parameters, Request

__all__ = ["Answer", "Client", "Embed", "Parameters", "Request", "perturb", "statistics"]
