"""Embedders: the real network, a server that misbehaves, and what all of them refuse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from anharmonic.errors import InputError, MissingExtra, OutputError, PointsError, RemoteError
from anharmonic.llm import embed
from anharmonic.llm.embed import network

KEY = "sk-planted-7f3a"


@pytest.fixture(scope="module")
def minilm() -> embed.network.MiniLM:
    return embed.minilm(threads=1)


def test_meaning_is_near_and_nonsense_is_far(minilm):
    near, also, far = minilm(
        ["The capital of France is Paris.", "France's capital city: Paris", "I like fried eggs."]
    )
    assert near @ also > 0.8 > 0.3 > near @ far


def test_the_published_network_gives_its_published_likenesses(minilm):
    # The model's page at Hugging Face shows these, in full precision.
    happy, *others = minilm(
        [
            "That is a happy person",
            "That is a happy dog",
            "That is a very happy person",
            "Today is a sunny day",
        ]
    )
    assert [happy @ other for other in others] == pytest.approx([0.695, 0.943, 0.257], abs=0.01)


def test_vectors_have_length_one_and_do_not_depend_on_company(minilm):
    texts = ["Rome", "a much longer answer that needs many more tokens than the others", "Rome"]
    together = minilm(texts)
    assert together.shape == (3, 384)
    assert np.linalg.norm(together, axis=1) == pytest.approx([1, 1, 1], abs=1e-12)
    assert np.array_equal(together[0], together[2])
    for text, vector in zip(texts, together, strict=True):
        assert minilm([text])[0] == pytest.approx(vector, abs=1e-5)


def test_a_long_text_is_read_up_to_the_limit(minilm):
    long = "word " * 1000
    assert minilm([long])[0] == pytest.approx(minilm([long + "but the end is not read"])[0])


def test_control_characters_and_any_unicode_are_embedded(minilm):
    found = minilm(["who? \x01\x1f", "who? \ufffe", "\U0001f600", "who? \ud800"])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("texts", ["Rome", ["Rome", " \n"], [""], [3]])
def test_what_is_no_text_is_refused(minilm, texts):
    with pytest.raises(PointsError):
        minilm(texts)
    with pytest.raises(PointsError):
        embed.characters()(texts)


def test_no_texts_give_no_vectors(minilm):
    assert minilm([]).shape == (0, 384)
    assert embed.characters(size=16)([]).shape == (0, 16)


def test_without_the_package_the_way_out_is_named(monkeypatch):
    monkeypatch.setattr(network, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"anharmonic\[llm\]"):
        embed.minilm()


def test_a_folder_with_both_files_does_as_well(minilm, tmp_path: Path):
    with pytest.raises(InputError, match=r"model\.onnx"):
        embed.minilm(tmp_path)
    (tmp_path / "model.onnx").symlink_to(network._packaged(*network.WEIGHTS))
    words = network.VOCABULARY.read_text("utf-8")
    network._word_pieces(words).save(str(tmp_path / "tokenizer.json"))
    assert np.array_equal(embed.minilm(tmp_path, threads=1)(["Rome"]), minilm(["Rome"]))


def test_sentence_transformers_are_asked_and_normalised():
    model = SimpleNamespace(encode=lambda texts, **_: np.array([[3.0, 4.0]] * len(texts)))
    assert embed.sentence_transformer(model)(["a", "b"]).tolist() == [[0.6, 0.8]] * 2
    with pytest.raises(MissingExtra, match="sentence-transformers"):
        embed.sentence_transformer("all-MiniLM-L6-v2")


@pytest.mark.parametrize(
    "vectors",
    [[[1.0, 0.0]], [[1.0, np.nan], [1.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]], [[1.0], [1.0, 2.0]]],
)
def test_bad_vectors_are_refused(vectors):
    with pytest.raises(OutputError):
        embed.unit_vectors(vectors, 2)


Reply = Callable[[dict[str, Any], int], tuple[int, Any]]


@contextmanager
def serving(reply: Reply) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server on loopback; `reply` gets a request's body and how many came before."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, said = reply(body, len(asked))
            asked.append(body | {"key": self.headers["authorization"], "path": self.path})
            sent = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def lengths(body: dict[str, Any], _: int = 0) -> tuple[int, Any]:
    """Vectors (length, 1), sent in the wrong order."""
    rows = [{"index": at, "embedding": [len(text), 1.0]} for at, text in enumerate(body["input"])]
    return 200, {"data": rows[::-1]}


@pytest.fixture
def opened(monkeypatch) -> Iterator[Callable[..., Any]]:
    monkeypatch.setattr("anharmonic.llm.embed.server.BACKOFF", 0.001)
    monkeypatch.setenv("ANHARMONIC_LLM_KEY", KEY)
    made = []

    def make(url: str, **settings: Any) -> Any:
        made.append(embed.endpoint(url, "small", **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_server_is_asked_in_batches_and_read_in_order(opened):
    with serving(lengths) as (url, asked):
        found = opened(url, together=2)(["a", "bb", "ccc"])
    assert found[:, 0] / found[:, 1] == pytest.approx([1, 2, 3])
    assert [each["input"] for each in asked] == [["a", "bb"], ["ccc"]]
    assert {(each["model"], each["key"], each["path"]) for each in asked} == {
        ("small", f"Bearer {KEY}", "/v1/embeddings")
    }


@pytest.mark.parametrize("bad", [(500, {}), (429, {"error": "slow down"}), (200, b"{"), (200, {})])
def test_a_server_that_stumbles_is_asked_again(opened, bad):
    with serving(lambda body, turn: bad if turn < 2 else lengths(body)) as (url, asked):
        assert opened(url)(["a"]).shape == (1, 2)
    assert len(asked) == 3


def test_a_server_that_never_answers_well_is_named_without_its_key(opened):
    with (
        serving(lambda body, turn: (500, {"error": f"no {KEY}"})) as (url, asked),
        pytest.raises(RemoteError) as problem,
    ):
        opened(url, retries=2)(["a"])
    assert len(asked) == 3
    assert KEY not in str(problem.value)
    assert "500" in str(problem.value)


@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_cannot_get_better_is_not_tried_again(opened, status):
    with (
        serving(lambda body, turn: (status, {"error": {"message": "no"}})) as (url, asked),
        pytest.raises(RemoteError, match=str(status)),
    ):
        opened(url)(["a"])
    assert len(asked) == 1


def test_a_size_that_changes_midway_is_refused(opened):
    def growing(body: dict[str, Any], turn: int) -> tuple[int, Any]:
        return 200, {"data": [{"index": 0, "embedding": [1.0] * (turn + 2)}]}

    with serving(growing) as (url, _):
        ask = opened(url)
        assert ask(["a"]).shape == (1, 2)
        with pytest.raises(OutputError, match="one size"):
            ask(["b"])
