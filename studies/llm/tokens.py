"""Text to tokens and back, with the vocabulary that a GGUF file carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anharmonic.errors import NotAModel

if TYPE_CHECKING:
    from gguf import GGUFReader

__all__ = ["Vocabulary", "read_vocabulary"]

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What the model's own template puts first when there is no system message."""


@dataclass(frozen=True)
class Vocabulary:
    """A byte-level vocabulary with the chat's special tokens."""

    tokenizer: Any
    end: int

    def question(self, prompt: str) -> list[int]:
        """A chat in which the user has said `prompt` and the assistant is to answer."""
        tokens: list[int] = []
        for role, text in (("system", SYSTEM), ("user", prompt)):
            tokens += [*self._special("<|im_start|>"), *self._plain(f"{role}\n{text}")]
            tokens += [*self._special("<|im_end|>"), *self._plain("\n")]
        return [*tokens, *self._special("<|im_start|>"), *self._plain("assistant\n")]

    def text(self, tokens: list[int]) -> str:
        """What the assistant said, up to its end mark."""
        kept = tokens[: tokens.index(self.end)] if self.end in tokens else tokens
        return str(self.tokenizer.decode(kept, skip_special_tokens=True)).strip()

    def first(self, text: str) -> int:
        """The token that a text begins with."""
        return self._plain(text)[0]

    def _plain(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text).ids)

    def _special(self, name: str) -> tuple[int]:
        return (self.tokenizer.token_to_id(name),)


def read_vocabulary(reader: GGUFReader) -> Vocabulary:
    """The vocabulary of SmolLM2: bytes merged in pairs, digits always apart."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    def field(name: str) -> Any:
        return reader.get_field(f"tokenizer.ggml.{name}").contents()

    if field("pre") != "smollm":
        raise NotAModel("only the vocabulary of SmolLM can be read here: use a runner")
    names = field("tokens")
    merges = [tuple(pair.split(" ")) for pair in field("merges")]
    tokenizer = Tokenizer(models.BPE({name: at for at, name in enumerate(names)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return Vocabulary(tokenizer, field("eos_token_id"))
