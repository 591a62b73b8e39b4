"""Small changes of a text that leave its meaning: typos, case, white space, words.

Each is one function of (text, rng). `edit_text` takes one of them at random, as a table's text
columns are moved; prompts of language models have further ones (`anharmonic.llm.perturb`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

__all__ = [
    "TextEdit",
    "case",
    "draw_count",
    "drop_word",
    "edit_text",
    "insert_at",
    "swap_words",
    "typos",
    "whitespace",
]

TextEdit = Callable[[str, np.random.Generator], str]
SPACES = (" ", "\t", "\n", "\u00a0", "\u2009")
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
MOST = 3
"""Characters that a change touches at the most."""


def whitespace(text: str, rng: np.random.Generator) -> str:
    """1 to 3 further white spaces, beside those that are there or at the end."""
    gaps = [place for place, letter in enumerate(text) if letter.isspace()] + [len(text)]
    return insert_at(text, rng, gaps, SPACES)


def case(text: str, rng: np.random.Generator) -> str:
    """1 to 3 letters in the other case."""
    # Some letters become two in the other case (ß, SS): they stay.
    places = [place for place, letter in enumerate(text) if len(letter.swapcase()) == 1]
    places = [place for place in places if text[place].swapcase() != text[place]]
    if not places:
        return text
    chosen = set(rng.choice(places, min(draw_count(rng), len(places)), replace=False).tolist())
    return "".join(
        letter.swapcase() if place in chosen else letter for place, letter in enumerate(text)
    )


def typos(text: str, rng: np.random.Generator) -> str:
    """1 to 3 slips of the finger: a letter swapped, dropped, doubled, or the key beside it."""
    for _ in range(draw_count(rng)):
        places = [place for place, letter in enumerate(text) if letter.isalpha()]
        if places:
            text = _slipped(text, int(rng.choice(places)), rng)
    return text


def drop_word(text: str, rng: np.random.Generator) -> str:
    """The text without one of its words; a text of one word stays."""
    words = text.split(" ")
    if len(words) < 2:
        return text
    dropped = int(rng.integers(len(words)))
    return " ".join(word for place, word in enumerate(words) if place != dropped)


def swap_words(text: str, rng: np.random.Generator) -> str:
    """Two words that stand beside each other change places; a text of one word stays."""
    words = text.split(" ")
    if len(words) < 2:
        return text
    place = int(rng.integers(len(words) - 1))
    words[place], words[place + 1] = words[place + 1], words[place]
    return " ".join(words)


EDITS: tuple[TextEdit, ...] = (typos, case, whitespace, drop_word, swap_words)


def edit_text(text: str, rng: np.random.Generator) -> str:
    """One small change of a text, of a kind that is drawn too.

    >>> edit_text("a good film", np.random.default_rng(3))
    'good a film'
    """
    return EDITS[int(rng.integers(len(EDITS)))](text, rng)


def draw_count(rng: np.random.Generator) -> int:
    """How many characters to change: 1 to 3."""
    return int(rng.integers(1, MOST + 1))


def insert_at(
    text: str, rng: np.random.Generator, places: list[int], characters: Sequence[str]
) -> str:
    """1 to 3 characters inserted at some of the places."""
    # From the end, so that the places before stay what they were.
    for place in sorted(rng.choice(places, draw_count(rng)).tolist(), reverse=True):
        text = text[:place] + str(rng.choice(characters)) + text[place:]
    return text


def _slipped(text: str, place: int, rng: np.random.Generator) -> str:
    """One slip at a letter; one that cannot be made there becomes the key beside it."""
    letter, before, after = text[place], text[:place], text[place + 1 :]
    slip = int(rng.integers(4))
    if slip == 0 and after[:1].isalpha() and after[0] != letter:
        return before + after[0] + letter + after[1:]
    if slip == 1 and len(text) > 1:
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
