"""What is new in a text, for pages that highlight it; everything in it made visible."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from anharmonic._core.printable import visible

__all__ = ["Part", "differences"]


class Part(NamedTuple):
    """A piece of a text, and whether it is new."""

    text: str
    changed: bool


def differences(before: str, after: str, words: bool = False) -> list[Part]:
    r"""The later text in pieces, by characters or by words.

    >>> differences("why?", "why? \x07")
    [Part(text='why?', changed=False), Part(text=' ␇', changed=True)]
    """
    old, new = (_pieces(before, words), _pieces(after, words))
    parts = []
    for kind, _, _, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if first < last:
            parts.append(Part(visible("".join(new[first:last]), lines=True), kind != "equal"))
    return parts


def _pieces(text: str, words: bool) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text) if words else list(text)
