"""Who makes answers into vectors: a network on this machine, a server, sentence-transformers."""

from anharmonic.llm.embed.characters import characters
from anharmonic.llm.embed.checks import texts_to_embed, unit_vectors
from anharmonic.llm.embed.network import minilm
from anharmonic.llm.embed.sentences import sentence_transformer
from anharmonic.llm.embed.server import endpoint

__all__ = [
    "characters",
    "endpoint",
    "minilm",
    "sentence_transformer",
    "texts_to_embed",
    "unit_vectors",
]
