"""Commands that are imported when they are called, so that `--help` and TAB are quick."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from anharmonic.errors import SettingsError

__all__ = ["Entry", "lazy_group"]


class Entry(NamedTuple):
    """Where a command is, as module:attribute, and its help in a line.

    The attribute is a function, or a `typer.Typer` of its own.
    """

    place: str
    summary: str

    def load(self, name: str) -> Any:
        """The command itself."""
        module, attribute = self.place.split(":")
        try:
            command = getattr(import_module(module), attribute)
        except ModuleNotFoundError as problem:
            if problem.name == module.partition(".")[0] == "studies":
                raise SettingsError(
                    "the studies are in the repository, not in the package: clone it, install it "
                    "with pip install -e ., and run this again there"
                ) from problem
            raise
        if isinstance(command, typer.Typer):
            return typer.main.get_command(command)
        alone = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        alone.command(name)(command)
        return typer.main.get_command(alone)


def lazy_group(entries: Mapping[str, Entry]) -> type[TyperGroup]:
    """A group of commands known by name and summary alone until one is called.

    A name of two words, as "gamma plan", is called by both.
    """

    class LazyGroup(TyperGroup):
        def list_commands(self, context: Any) -> list[str]:
            return list(entries)

        def get_command(self, context: Any, name: str) -> TyperCommand | None:
            """What is listed: the name and the line of help."""
            entry = entries.get(name)
            return None if entry is None else TyperCommand(name, help=entry.summary)

        def resolve_command(self, context: Any, args: list[str]) -> Any:
            """What is called."""
            if " ".join(args[:2]) in entries:
                args = [" ".join(args[:2]), *args[2:]]
            name, command, rest = super().resolve_command(context, args)
            if name is not None and name in entries:
                command = entries[name].load(name)
            return name, command, rest

    return LazyGroup
