"""Commands as they are called: by their words, or all of them by reflection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from typer.main import get_command

from anharmonic.cli import app


def command_named(words: Sequence[str]) -> tuple[Any, list[str]]:
    """The command that some words call, imported, and the words that are left."""
    found, left = get_command(app), list(words)
    while hasattr(found, "resolve_command") and left and not left[0].startswith("-"):
        _, found, left = found.resolve_command(
            found.make_context("x", [], resilient_parsing=True), left
        )
    return found, left


def every_command(group: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Names and commands, those of groups included."""
    group = group or get_command(app)
    context = group.make_context("x", [], resilient_parsing=True)
    for name in group.list_commands(context):
        _, command, _ = group.resolve_command(context, name.split())
        if hasattr(command, "resolve_command"):
            yield from every_command(command, (*words, name))
        else:
            yield " ".join((*words, name)), command
