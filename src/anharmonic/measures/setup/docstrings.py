"""Docstrings of measures that share arguments: each says what all of its parameters mean.

What `**setup` and `**arguments` stand for is written down once, and put into the docstring of every
measure that takes them, so that `help`, notebooks and the API reference show it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping

__all__ = ["documented", "parameter_entries"]

SECTION = re.compile(r"^Parameters\n-+\n(?P<body>.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", re.M | re.S)
"""From numpydoc's heading to the next one or the end."""


def parameter_entries(docstring: str) -> dict[str, str]:
    """The entries of a numpydoc `Parameters` section by name; one may stand for several names.

    >>> list(parameter_entries(inspect.getdoc(documented)))
    ['measure', 'added', 'entries']
    """
    section = SECTION.search(docstring)
    blocks = re.split(r"\n(?=\S)", section["body"].strip()) if section else []
    return {
        name.strip().lstrip("*"): block.rstrip()
        for block in blocks
        for name in block.partition("\n")[0].partition(" : ")[0].split(",")
    }


def documented(
    measure: Callable[..., object], added: Collection[str], entries: Mapping[str, str]
) -> str | None:
    """The measure's docstring with entries for the parameters that were added to its signature.

    Parameters
    ----------
    measure
        Its docstring may say in an entry of its `**` argument what is special about them; that
        becomes a paragraph.
    added
        Names of parameters that stand in the place of `**`.
    entries
        What they mean, by name.
    """
    docstring = inspect.getdoc(measure)
    section = SECTION.search(docstring or "")
    if docstring is None or section is None:
        return docstring
    own = parameter_entries(docstring)
    missing = dict.fromkeys(
        _alone(name, entries[name]) for name in added if name not in own and name in entries
    )
    opened = next(
        (
            parameter.name
            for parameter in inspect.signature(measure).parameters.values()
            if parameter.kind is inspect.Parameter.VAR_KEYWORD
        ),
        "",
    )
    special = inspect.cleandoc(own.get(opened, "").partition("\n")[2])
    kept = [block for name, block in own.items() if name != opened]
    before, after = docstring[: section.start()], docstring[section.end() :]
    body = "\n".join(dict.fromkeys([*kept, *missing]))
    paragraph = f"{special}\n\n" if special else ""
    return f"{before}{paragraph}Parameters\n----------\n{body}\n\n{after}".rstrip() + "\n"


def _alone(name: str, entry: str) -> str:
    """An entry under one of its names only: the others may be documented, or not taken."""
    head, _, body = entry.partition("\n")
    _, colon, kind = head.partition(" : ")
    return f"{name}{colon}{kind}\n{body}"
