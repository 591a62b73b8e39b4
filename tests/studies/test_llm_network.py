"""The network of the language study against the implementation everybody uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anharmonic.errors import NotAModel
from studies.llm.generation import Batches, answer_groups, generate
from studies.llm.network import Network, opened, read_network

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")
transformers = pytest.importorskip("transformers")

HEADS, KEPT, WIDTH, WORDS = 6, 2, 48, 50
END = 2


@pytest.fixture(scope="module")
def llama() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=KEPT,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        tie_word_embeddings=True,
        initializer_range=0.3,
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def network(llama: Any, tmp_path_factory: pytest.TempPathFactory) -> Network:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    _write(llama, path)
    return read_network(opened(path))


NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _write(llama: Any, path: Path, architecture: str = "llama") -> None:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(2)
    writer.add_embedding_length(WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEPT)
    writer.add_rope_freq_base(500.0)
    writer.add_layer_norm_rms_eps(llama.config.rms_norm_eps)
    weights = {name: value.detach().numpy() for name, value in llama.state_dict().items()}
    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    for layer in range(2):
        for theirs, ours in NAMES.items():
            weight = weights[f"model.layers.{layer}.{theirs}.weight"]
            if ours in ("attn_q", "attn_k"):
                weight = _neighbours(weight, HEADS if ours == "attn_q" else KEPT)
            writer.add_tensor(f"blk.{layer}.{ours}.weight", np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _neighbours(weight: Any, heads: int) -> Any:
    """GGUF keeps the two halves of a rotary pair side by side."""
    rows, columns = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


def test_the_logits_are_those_of_transformers(llama: Any, network: Network) -> None:
    tokens = torch.tensor([[5, 9, 30, 4, 4, 17]])
    length = tokens.shape[1]
    with torch.inference_mode():
        expected = llama(tokens).logits[0, -1]
        found = network(
            tokens,
            torch.arange(length)[None],
            torch.ones(1, length, length, dtype=torch.bool).tril(),
            network.empty_past(1, length),
        )
    assert torch.allclose(found[0], expected, atol=1e-4)
    assert float(expected.std()) > 0.1


def test_prompts_of_different_lengths_are_answered_as_if_alone(
    llama: Any, network: Network
) -> None:
    prompts = [[5, 9, 30], [4], [11, 12, 13, 14, 15, 16, 17, 18]]
    with torch.inference_mode():
        together = generate(network, prompts, END, new=6)
        for prompt, answer in zip(prompts, together, strict=True):
            tokens = list(prompt)
            for _ in range(6):
                tokens.append(int(llama(torch.tensor([tokens])).logits[0, -1].argmax()))
            stop = answer.index(END) if END in answer else 6
            assert answer[:stop] == tokens[len(prompt) :][:stop]


def test_sampling_follows_the_probabilities_and_the_seed(llama: Any, network: Network) -> None:
    prompts = [[5, 9, 30]] * 4000
    with torch.inference_mode():
        first = [row[0] for row in generate(network, prompts, END, 2.0, new=1, seed=1)]
        again = [row[0] for row in generate(network, prompts, END, 2.0, new=1, seed=1)]
        expected = (llama(torch.tensor([[5, 9, 30]])).logits[0, -1] / 2).softmax(-1)
    assert first == again
    share = np.bincount(first, minlength=WORDS) / 4000
    likely = expected.numpy()
    assert np.all(np.abs(share - likely) <= 5 * np.sqrt(likely * (1 - likely) / 4000) + 1e-3)


class Spelled:
    """A vocabulary of numbers written out."""

    end = END

    def question(self, prompt: str) -> list[int]:
        return [int(word) for word in prompt.split()]

    def text(self, tokens: list[int]) -> str:
        return " ".join(map(str, tokens))


def test_groups_come_back_in_their_order_and_time_cuts_them_off(network: Network) -> None:
    vocabulary: Any = Spelled()
    asked = ["5 9 30", "4", "5 9 30", "7 7"]
    groups = [{"name": "cold", "temperature": 0.0, "prompts": asked}] * 2
    done = list(answer_groups(network, vocabulary, groups, Batches(rows=2)))
    assert [group["name"] for group in done] == ["cold", "cold"]
    answers = done[0]["answers"]
    assert answers[0] == answers[2] != answers[1]
    assert answers == done[1]["answers"]
    assert list(answer_groups(network, vocabulary, groups, Batches(seconds=-1.0))) == []


def test_another_architecture_is_refused(llama: Any, tmp_path: Path) -> None:
    _write(llama, tmp_path / "other.gguf", "gpt2")
    with pytest.raises(NotAModel, match="llama"):
        read_network(opened(tmp_path / "other.gguf"))
