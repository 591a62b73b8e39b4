"""Models on this machine: a real, tiny Hugging Face pipeline; a GGUF file that is none."""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import MissingExtra, NotAModel
from anharmonic.llm import Parameters, Request, as_client
from anharmonic.llm.clients import Endpoint, Function, LocalServer, Pipeline
from anharmonic.llm.clients.local import idle_processors
from tests.llm.servers import words


@pytest.fixture(scope="module")
def pipeline():
    """Two layers of random weights over the alphabet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from tokenizers import Tokenizer, models, pre_tokenizers
        from transformers import (
            GPT2Config,
            GPT2LMHeadModel,
            PreTrainedTokenizerFast,
            TextGenerationPipeline,
        )
    torch.manual_seed(0)
    letters = ["<pad>", *"abcdefghijklmnopqrstuvwxyz ?"]
    inner = Tokenizer(models.WordLevel({each: at for at, each in enumerate(letters)}, "<pad>"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<pad>", padding_side="left"
    )
    config = GPT2Config(
        vocab_size=len(letters), n_embd=16, n_layer=2, n_head=2, n_positions=128,
        bos_token_id=None, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config).eval()
    return TextGenerationPipeline(model=model, tokenizer=tokenizer)


@pytest.fixture(autouse=True)
def only_our_warnings():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="transformers")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


def test_a_pipeline_answers(pipeline):
    client = as_client(pipeline)
    assert isinstance(client, Pipeline)
    requests = [
        Request("why a?", Parameters(max_tokens=6)),
        Request("no", Parameters(max_tokens=3)),
    ]
    long, short = client.answers(requests)
    assert long.text != short.text
    assert client.answers(requests)[0] == long
    sampled = [Request("why a?", Parameters(1.0, 12), seed=seed) for seed in (1, 2, 1)]
    one, two, again = client.answers(sampled)
    assert one == again != two


def test_gamma_of_a_pipeline(pipeline):
    found = ah.llm.gamma(
        pipeline,
        ["why a?", "who b?"],
        embed=words,
        count=3,
        perturb="typos",
        parameters=Parameters(max_tokens=8),
    )
    assert np.isfinite(found.values).all()
    assert found.scores0.values.tolist() == [0, 0]


def test_a_file_that_is_no_model(tmp_path):
    pytest.importorskip("xllamacpp")
    with pytest.raises(NotAModel, match="no file"):
        as_client(tmp_path / "none.gguf")
    (tmp_path / "junk.gguf").write_text("junk")
    with pytest.raises(NotAModel, match="is it a GGUF model"):
        as_client(tmp_path / "junk.gguf")


def test_a_missing_runner_names_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match="gguf"):
        LocalServer(tmp_path / "m.gguf")


@pytest.mark.parametrize(("load", "threads"), [(0.1, 3), (1.9, 2), (3.0, 1), (17.5, 1)])
def test_only_idle_processors_compute_an_answer(monkeypatch, load, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert idle_processors() == threads
    monkeypatch.delattr(os, "getloadavg")
    assert idle_processors() == 1


@pytest.mark.skipif("ANHARMONIC_GGUF" not in os.environ, reason="no ANHARMONIC_GGUF file given")
def test_a_gguf_file_answers():
    with as_client(os.environ["ANHARMONIC_GGUF"]) as client:
        (found,) = client.answers([Request("Say yes.", Parameters(max_tokens=4))])
        assert found.text
        assert found.answer_tokens <= 4


def test_what_a_text_stands_for(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert isinstance(as_client("os.path:basename"), Function)
    assert as_client(str.upper).concurrency == 1  # it may not bear more
    with pytest.raises(NotAModel, match="module:function"):
        as_client("os.path:nothing")
    with pytest.raises(NotAModel, match="no function"):
        as_client("os:sep")
    assert isinstance(as_client("llama3:8b", url="http://127.0.0.1:11434/v1"), Endpoint)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    monkeypatch.setenv("ANHARMONIC_LLM_KEY", "k")
    assert as_client("m").name == "m@http://127.0.0.1:8000/v1"
