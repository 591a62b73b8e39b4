"""Neighbours of rows in tables of any kind: categories, whole numbers, dates, gaps, texts."""

from anharmonic.regions.tables.cells import TableCells
from anharmonic.regions.tables.kinds import KINDS, Kinds, TextChange
from anharmonic.regions.tables.neighbourhood import TableNeighbourhood
from anharmonic.regions.tables.settling import table_neighbourhood

__all__ = [
    "KINDS",
    "Kinds",
    "TableCells",
    "TableNeighbourhood",
    "TextChange",
    "table_neighbourhood",
]
