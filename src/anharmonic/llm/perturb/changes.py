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
SPACES = (" ", "\t", "\n", "\u00a0", "\u2009")
ZERO_WIDTH = ("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff")
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
MOST = 3
"""Characters that a perturbation changes at the most."""

PAPER = "control"
"""What the paper does."""


class Perturbed(NamedTuple):
    """A prompt to ask instead of the original, and whether to sample its answer."""

    prompt: str
    resampled: bool = False


def control(prompt: str, rng: np.random.Generator) -> str:
    """The paper's: a space and 1 to 3 control characters at the end (ASCII 1–31, no NUL)."""
    return _appended(prompt, [chr(code) for code in rng.integers(1, 32, _draw_count(rng))])


def control_nul(prompt: str, rng: np.random.Generator) -> str:
    """The paper's to the letter: ASCII 0–31, the NUL that many servers refuse included."""
    return _appended(prompt, [chr(code) for code in rng.integers(0, 32, _draw_count(rng))])


def unicode(prompt: str, rng: np.random.Generator) -> str:
    """A space and 1 to 3 printable characters of any script at the end."""
    return _appended(prompt, [_draw_printable(rng) for _ in range(_draw_count(rng))])


def whitespace(prompt: str, rng: np.random.Generator) -> str:
    """1 to 3 further white spaces, beside those that are there or at the end."""
    gaps = [place for place, letter in enumerate(prompt) if letter.isspace()] + [len(prompt)]
    return _inserted(prompt, rng, gaps, SPACES)


def zero_width(prompt: str, rng: np.random.Generator) -> str:
    """1 to 3 characters without width, anywhere."""
    return _inserted(prompt, rng, list(range(len(prompt) + 1)), ZERO_WIDTH)


def case(prompt: str, rng: np.random.Generator) -> str:
    """1 to 3 letters in the other case."""
    # Some letters become two in the other case (ß, SS): they stay.
    places = [place for place, letter in enumerate(prompt) if len(letter.swapcase()) == 1]
    places = [place for place in places if prompt[place].swapcase() != prompt[place]]
    if not places:
        return prompt
    chosen = set(rng.choice(places, min(_draw_count(rng), len(places)), replace=False).tolist())
    return "".join(
        letter.swapcase() if place in chosen else letter for place, letter in enumerate(prompt)
    )


def typos(prompt: str, rng: np.random.Generator) -> str:
    """1 to 3 slips of the finger: a letter swapped, dropped, doubled, or the key beside it."""
    for _ in range(_draw_count(rng)):
        places = [place for place, letter in enumerate(prompt) if letter.isalpha()]
        if places:
            prompt = _slipped(prompt, int(rng.choice(places)), rng)
    return prompt


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


def _draw_count(rng: np.random.Generator) -> int:
    return int(rng.integers(1, MOST + 1))


def _appended(prompt: str, characters: list[str]) -> str:
    return f"{prompt} {''.join(characters)}"


def _draw_printable(rng: np.random.Generator) -> str:
    """A letter, number, punctuation mark or symbol of the basic plane, by rejection."""
    while True:
        character = chr(int(rng.integers(0x21, 0x10000)))
        if unicodedata.category(character)[0] in "LNPS":
            return character


def _inserted(
    prompt: str, rng: np.random.Generator, places: list[int], characters: Sequence[str]
) -> str:
    # From the end, so that the places before stay what they were.
    for place in sorted(rng.choice(places, _draw_count(rng)).tolist(), reverse=True):
        prompt = prompt[:place] + str(rng.choice(characters)) + prompt[place:]
    return prompt


def _slipped(prompt: str, place: int, rng: np.random.Generator) -> str:
    """One slip at a letter; one that cannot be made there becomes the key beside it."""
    letter, before, after = prompt[place], prompt[:place], prompt[place + 1 :]
    slip = int(rng.integers(4))
    if slip == 0 and after[:1].isalpha() and after[0] != letter:
        return before + after[0] + letter + after[1:]
    if slip == 1 and len(prompt) > 1:
        return before + after
    if slip == 2:
        return before + letter + letter + after
    return before + _beside(letter, rng) + after


def _beside(letter: str, rng: np.random.Generator) -> str:
    """The key left or right of a letter, in its case; a letter no keyboard row has is doubled."""
    for row in KEYBOARD:
        key = row.find(letter.lower())
        if key >= 0:
            neighbours = [row[other] for other in (key - 1, key + 1) if 0 <= other < len(row)]
            chosen = str(rng.choice(neighbours))
            return chosen.upper() if letter.isupper() else chosen
    return letter * 2
