"""A Llama network read from a GGUF file, in float32 so that answers do not depend on kernels much.

A runner such as llama.cpp answers one question well; this answers thousands at once on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anharmonic.errors import MissingExtra, NotAModel

if TYPE_CHECKING:
    from gguf import GGUFReader
    from torch import Tensor

__all__ = ["Network", "Past", "opened", "read_network"]


@dataclass
class Past:
    """Keys and values of what was read so far, one pair a layer: (B, heads, width, size)."""

    keys: list[Tensor]
    values: list[Tensor]
    length: int = 0


@dataclass(frozen=True)
class Network:
    """Weights by their names in the file, and the sizes that shape them."""

    weights: dict[str, Tensor]
    layers: int
    heads: int
    kept_heads: int
    size: int
    base: float
    epsilon: float

    def empty_past(self, rows: int, width: int) -> Past:
        """Room for `width` tokens of `rows` texts."""
        table = self.weights["token_embd.weight"]

        def room() -> list[Tensor]:
            shape = (rows, self.kept_heads, width, self.size)
            return [table.new_zeros(shape) for _ in range(self.layers)]

        return Past(room(), room())

    def __call__(self, tokens: Tensor, places: Tensor, seen: Tensor, past: Past) -> Tensor:
        """Logits (B, V) after the last of `tokens` (B, T), which are added to `past`.

        places: each token's place in its own text (B, T).
        seen: which of all tokens so far each may look at (B, T, length so far).
        """
        from torch.nn.functional import embedding, linear, silu

        turn = self._turn(places)
        hidden = embedding(tokens, self.weights["token_embd.weight"])
        for layer in range(self.layers):
            named = _Layer(self.weights, f"blk.{layer}.")
            hidden = hidden + self._attention(
                named, layer, self._normed(hidden, named["attn_norm"]), turn, seen, past
            )
            flat = self._normed(hidden, named["ffn_norm"])
            gate = silu(linear(flat, named["ffn_gate"])) * linear(flat, named["ffn_up"])
            hidden = hidden + linear(gate, named["ffn_down"])
        past.length += tokens.shape[1]
        last = self._normed(hidden[:, -1], self.weights["output_norm.weight"])
        return linear(last, self.weights.get("output.weight", self.weights["token_embd.weight"]))

    def _attention(
        self, named: _Layer, layer: int, hidden: Tensor, turn: Tensor, seen: Tensor, past: Past
    ) -> Tensor:
        from torch.nn.functional import linear, scaled_dot_product_attention

        rows, length, _ = hidden.shape
        group = self.heads // self.kept_heads
        query = _turned(linear(hidden, named["attn_q"]).view(rows, length, -1, self.size), turn)
        key = _turned(linear(hidden, named["attn_k"]).view(rows, length, -1, self.size), turn)
        value = linear(hidden, named["attn_v"]).view(rows, length, -1, self.size)
        end = past.length + length
        past.keys[layer][:, :, past.length : end] = key.transpose(1, 2)
        past.values[layer][:, :, past.length : end] = value.transpose(1, 2)
        # The heads that share a key are laid out as further queries of it: no key is copied.
        shared = query.view(rows, length, self.kept_heads, group, self.size).permute(0, 2, 3, 1, 4)
        mixed = scaled_dot_product_attention(
            shared.reshape(rows, self.kept_heads, group * length, self.size),
            past.keys[layer][:, :, :end],
            past.values[layer][:, :, :end],
            attn_mask=seen.repeat(1, group, 1)[:, None],
        )
        apart = mixed.view(rows, self.kept_heads, group, length, self.size)
        return linear(apart.permute(0, 3, 1, 2, 4).reshape(rows, length, -1), named["attn_output"])

    def _turn(self, places: Tensor) -> Tensor:
        """Rotary position: one complex number a pair of entries (B, T, 1, size / 2)."""
        import torch

        exponents = torch.arange(0, self.size, 2, device=places.device) / self.size
        angles = places[..., None].float() * self.base**-exponents
        return torch.polar(torch.ones_like(angles), angles)[:, :, None]

    def _normed(self, hidden: Tensor, weight: Tensor) -> Tensor:
        from torch.nn.functional import rms_norm

        return rms_norm(hidden, (hidden.shape[-1],), weight, self.epsilon)


@dataclass(frozen=True)
class _Layer:
    weights: dict[str, Tensor]
    prefix: str

    def __getitem__(self, name: str) -> Tensor:
        return self.weights[f"{self.prefix}{name}.weight"]


def _turned(heads: Tensor, turn: Tensor) -> Tensor:
    """Neighbouring entries as one complex number, as GGUF orders them, turned by its place."""
    import torch

    pairs = torch.view_as_complex(heads.reshape(*heads.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2)


def opened(path: Path) -> GGUFReader:
    """The file's reader, of the package that defines the format."""
    try:
        from gguf import GGUFReader
    except ImportError:
        raise MissingExtra("gguf", "gguf") from None
    return GGUFReader(path)


def read_network(reader: GGUFReader, device: str = "cpu") -> Network:
    """The network in a GGUF file, its blocks unpacked to float32 on `device`."""

    def field(name: str) -> Any:
        return reader.get_field(name).contents()

    if field("general.architecture") != "llama":
        raise NotAModel("only GGUF files of the llama architecture can be read here: use a runner")
    heads = field("llama.attention.head_count")
    return Network(
        weights=dict(_weights(reader, device)),
        layers=field("llama.block_count"),
        heads=heads,
        kept_heads=field("llama.attention.head_count_kv"),
        size=field("llama.embedding_length") // heads,
        base=field("llama.rope.freq_base"),
        epsilon=field("llama.attention.layer_norm_rms_epsilon"),
    )


def _weights(reader: GGUFReader, device: str) -> Iterator[tuple[str, Tensor]]:
    import numpy as np
    import torch
    from gguf import dequantize

    for tensor in reader.tensors:
        plain = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        yield tensor.name, torch.from_numpy(plain).to(device)
