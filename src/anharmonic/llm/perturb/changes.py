"""The ball of a language model: small changes of a prompt, each one function of (prompt, rng).

`named(…)` finds one by name; packages add their own under the entry point group
`anharmonic.perturbations`. "resample" changes nothing and asks again with a temperature above 0.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import NamedTuple

import numpy as np

from anharmonic._core.randomness import generator
from anharmonic._core.streams import LanguageStream
from anharmonic._core.text_changes import case, draw_count, insert_at, typos, whitespace
from anharmonic.errors import SettingsError

__all__ = [
    "KINDS",
    "PAPER",
    "Change",
    "Kind",
    "Perturbed",
    "case",
    "control",
    "control_nul",
    "named",
    "names",
    "perturbed",
    "resample",
    "settled",
    "typos",
    "unicode",
    "whitespace",
    "zero_width",
]

Change = Callable[[str, np.random.Generator], str]
Kind = str | Change | Sequence[str | Change]
"""One perturbation by name or as a function; "a+b" or several: they take turns."""

GROUP = "anharmonic.perturbations"
ZERO_WIDTH = ("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff")

PAPER = "control"
"""What the paper does."""


class Perturbed(NamedTuple):
    """A prompt to ask instead of the original, and whether to sample its answer."""

    prompt: str
    resampled: bool = False


def control(prompt: str, rng: np.random.Generator) -> str:
    """The paper's: a space and 1 to 3 control characters at the end (ASCII 1–31, no NUL)."""
    return _appended(prompt, [chr(code) for code in rng.integers(1, 32, draw_count(rng))])


def control_nul(prompt: str, rng: np.random.Generator) -> str:
    """The paper's to the letter: ASCII 0–31, the NUL that many servers refuse included."""
    return _appended(prompt, [chr(code) for code in rng.integers(0, 32, draw_count(rng))])


def unicode(prompt: str, rng: np.random.Generator) -> str:
    """A space and 1 to 3 printable characters of any script at the end."""
    return _appended(prompt, [_draw_printable(rng) for _ in range(draw_count(rng))])


def zero_width(prompt: str, rng: np.random.Generator) -> str:
    """1 to 3 characters without width, anywhere."""
    return insert_at(prompt, rng, list(range(len(prompt) + 1)), ZERO_WIDTH)


def resample(prompt: str, rng: np.random.Generator) -> str:
    """The prompt as it is: the rival, which only asks again at a temperature above 0."""
    return prompt


KINDS: dict[str, Change] = {
    change.__name__: change
    for change in (
        *(control, control_nul, unicode, whitespace, zero_width),
        *(typos, case, resample),
    )
}


def names() -> list[str]:
    """Every perturbation there is, those of other packages included."""
    return [*KINDS, *sorted(entry_points(group=GROUP).names - set(KINDS))]


def named(kind: Kind) -> list[Change]:
    """The functions a kind stands for, in the order in which they take turns.

    Parameters
    ----------
    kind
        A name, several with + between them, a function, or a list of names and functions.

    Examples
    --------
    >>> [change.__name__ for change in named("control+typos")]
    ['control', 'typos']
    """
    if callable(kind):
        return [kind]
    parts = kind.split("+") if isinstance(kind, str) else list(kind)
    if not parts:
        raise SettingsError(f"no perturbation at all: choose from {', '.join(names())}")
    return [_look_up(part.strip()) if isinstance(part, str) else part for part in parts]


def settled(kind: Kind, samples: bool) -> Kind:
    """What "auto" stands for: asking again did better in the study, where there is sampling.

    Parameters
    ----------
    kind
        "auto", or anything `named` takes, which stays as it is.
    samples
        Whether the client heeds a temperature.

    Examples
    --------
    >>> settled("auto", samples=True), settled("auto", samples=False), settled("case", True)
    ('resample', 'control', 'case')
    """
    return (resample.__name__ if samples else PAPER) if kind == "auto" else kind


def perturbed(prompt: str, changes: Sequence[Change], seed: int, turn: int) -> Perturbed:
    """One perturbed prompt. It depends on prompt, seed and turn alone, not on the file around it.

    Parameters
    ----------
    prompt
        The original.
    changes
        Perturbations that take turns.
    seed, turn
        Which of its perturbed prompts.

    Examples
    --------
    >>> perturbed("who?", [case], seed=0, turn=0) == perturbed("who?", [case], seed=0, turn=0)
    True
    """
    change = changes[turn % len(changes)]
    word = int.from_bytes(hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()[:8])
    return Perturbed(
        change(prompt, generator(seed, LanguageStream.PERTURBATION, word, turn)), change is resample
    )


def _look_up(name: str) -> Change:
    if name in KINDS:
        return KINDS[name]
    for entry in entry_points(group=GROUP, name=name):
        change: Change = entry.load()
        return change
    raise SettingsError(f"no perturbation {name!r}: choose from {', '.join(names())}")


def _appended(prompt: str, characters: list[str]) -> str:
    return f"{prompt} {''.join(characters)}"


def _draw_printable(rng: np.random.Generator) -> str:
    """A letter, number, punctuation mark or symbol of the basic plane, by rejection."""
    while True:
        character = chr(int(rng.integers(0x21, 0x10000)))
        if unicodedata.category(character)[0] in "LNPS":
            return character
