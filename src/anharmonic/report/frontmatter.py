"""One key of a card's YAML front matter, replaced while every other byte stays as it was."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

from anharmonic.errors import InputError, MissingExtra

__all__ = ["read_key", "with_key"]

FRONT = re.compile(r"\A(\ufeff?\s*---[ \t]*\r?\n)(.*?)(^---[ \t]*(?:\r?\n|\Z))", re.S | re.M)


def read_key(text: str, key: str) -> Any:
    r"""The value of a top-level key, None where there is none.

    >>> read_key("---\nlicense: mit\n---\n# Title\n", "license")
    'mit'
    """
    front = FRONT.match(text)
    return None if front is None else _parsed(front[2]).get(key)


def with_key(text: str, key: str, value: object) -> str:
    r"""The same text with a top-level key set to `value`; front matter is made where none is.

    >>> print(with_key("---\nlicense: mit  # really\n---\n# Title", "tags", ["a"]))
    ---
    license: mit  # really
    tags:
    - a
    ---
    # Title
    """
    from huggingface_hub.utils import yaml_dump

    ending = "\r\n" if "\r\n" in text else "\n"
    written = yaml_dump({key: value}, sort_keys=False).replace("\n", ending)
    front = FRONT.match(text)
    if front is None:
        mark, body = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
        return f"{mark}---{ending}{written}---{ending}{body}"
    opening, block, closing = front.groups()
    start, end = _span(block, key)
    if start == len(block) and block and not block.endswith("\n"):
        written = ending + written
    changed = block[:start] + written + block[end:]
    return f"{opening}{changed}{closing}{text[front.end() :]}"


def _span(block: str, key: str) -> tuple[int, int]:
    """From where to where a key and its value stand; the end of the block where it is new."""
    root = _yaml().compose(block, Loader=_yaml().SafeLoader)
    if root is None:
        return len(block), len(block)
    if root.flow_style:
        raise InputError("the card's metadata stand in braces: write them one key per line")
    for name, value in root.value:
        if name.value == key:
            start = name.start_mark.index
            return start, start + len(_own_lines(block[start : value.end_mark.index]))
    return len(block), len(block)


def _own_lines(text: str) -> str:
    """A value's text without the blank lines and comments after it, which YAML counts in."""
    lines = text.splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
        lines.pop()
    return "".join(lines)


def _parsed(block: str) -> dict[str, Any]:
    try:
        metadata = _yaml().safe_load(block)
    except _yaml().YAMLError as problem:
        reason = str(problem).replace("\n", " ")
        raise InputError(f"the card's metadata are no YAML ({reason}): mend them first") from None
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise InputError("the card's metadata are no list of keys: mend them first")
    return metadata


def _yaml() -> ModuleType:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("huggingface_hub", "card") from error
    module: ModuleType = yaml
    return module
