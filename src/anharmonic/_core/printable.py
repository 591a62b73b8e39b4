"""Text as people may read it: what does not print is shown, and nothing moves the cursor."""

from __future__ import annotations

__all__ = ["shortened", "visible"]


def visible(text: str, lines: bool = False) -> str:
    r"""Control characters as pictures, other characters without a shape by their number.

    `lines` keeps line ends, for places that show several.

    >>> visible("a\x00b\x1b[31m\u200b\u202e")
    'a␀b␛[31m⟨U+200B⟩⟨U+202E⟩'
    """
    return "".join(_shown(character, lines) for character in text)


def shortened(text: str, most: int) -> str:
    """The beginning of a text on one line, made visible."""
    shown = visible(text[: most + 1])
    return shown if len(text) <= most else f"{shown[:most]}…"


def _shown(character: str, lines: bool) -> str:
    if character.isprintable() or (lines and character == "\n"):
        return character
    code = ord(character)
    if code < 32:
        return chr(0x2400 + code)  # Unicode's control pictures
    return "␡" if code == 127 else f"⟨U+{code:04X}⟩"
