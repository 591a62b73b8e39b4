"""What makes neighbours, and runs of their directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from anharmonic._core.protocols import Ball, Floats

if TYPE_CHECKING:
    from anharmonic.measures.setup.table_rows import TableRows

__all__ = ["Neighbourhood", "Segment"]


class Neighbourhood(Protocol):
    """How neighbours are made: in which directions, how far, within which bounds."""

    @property
    def ball(self) -> Ball: ...

    @property
    def radius(self) -> float: ...

    @property
    def units(self) -> Floats: ...

    @property
    def limits(self) -> tuple[Floats, Floats] | None: ...

    @property
    def pairs_alike(self) -> bool:
        """Whether bounds shorten both of a pair where they shorten one, as a mean needs."""

    @property
    def seed(self) -> int: ...

    @property
    def table(self) -> TableRows | None:
        """How rows move that are not all numbers."""

    @property
    def zeros_stay(self) -> bool:
        """Whether zeros do not move, as in a sparse matrix."""


class Segment(NamedTuple):
    """A run of one turn's directions."""

    turn: int
    start: int
    stop: int
