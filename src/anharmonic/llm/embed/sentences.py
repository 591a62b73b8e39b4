"""Any model of sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anharmonic._core.protocols import Floats
from anharmonic.errors import MissingExtra
from anharmonic.llm.embed.checks import texts_to_embed, unit_vectors
from anharmonic.llm.types import Embed

__all__ = ["sentence_transformer"]


def sentence_transformer(model: Any, *, batch_size: int = 32) -> Embed:
    """A sentence-transformers model as an embedder; vectors have length 1.

    Parameters
    ----------
    model
        The model, or the name or folder of one.
    batch_size
        Texts per call of the model.
    """
    if isinstance(model, str):
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as problem:
            raise MissingExtra("sentence-transformers", "sentences") from problem
        model = SentenceTransformer(model)

    def embed(texts: Sequence[str]) -> Floats:
        checked = texts_to_embed(texts)
        vectors = model.encode(
            checked, batch_size=batch_size, convert_to_numpy=True, show_progress_bar=False
        )
        return unit_vectors(vectors, len(checked))

    return embed
