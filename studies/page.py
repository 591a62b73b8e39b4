"""A study's page: what the paper says beside what was measured, for a console and for Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anharmonic._core.estimate import Estimate
from anharmonic._core.files import whole_file
from studies.pictures import Picture, write_pictures

__all__ = ["Grid", "Page", "Row", "Section", "Tell", "prose", "silent"]

Tell = Callable[[str], None]
"""Called with a line about what is being done, for those who wait."""

ROUNDING = 1e-13
SENTENCE_END = re.compile(r"[.!?][”)*]* (?=[“(*`\[|]*[A-Z0-9Α-Ω])")
ABBREVIATIONS = {"Fig.", "Figs.", "eq.", "eqs.", "Eq.", "Eqs.", "al.", "cf.", "e.g.", "i.e.", "vs."}
"""Words that end in a point within a sentence."""
COLUMNS = ("case", "paper", "exact answer", "measured", "off by", "queries", "remark")


def silent(message: str) -> None:
    """Nobody is waiting."""


@dataclass(frozen=True)
class Row:
    """One figure: the paper's, the exact answer where mathematics has one, and ours."""

    case: str
    measured: Estimate
    paper: str = ""
    truth: float | None = None
    queries: int = 0
    remark: str = ""

    @property
    def exact(self) -> bool:
        """Whether it agrees with the exact answer up to rounding."""
        if self.truth is None:
            return False
        return abs(self.measured.value - self.truth) <= ROUNDING * max(1.0, abs(self.truth))

    @property
    def off(self) -> float | None:
        """How far from the exact answer, in standard errors."""
        value, error = self.measured
        if self.truth is None or not error > 0:
            return None
        return (value - self.truth) / error

    def cells(self) -> tuple[str, ...]:
        """The row as text, one cell for each of `COLUMNS`."""
        value, error = self.measured
        certain = 0 <= error <= ROUNDING
        shown = str(self.measured)
        if certain:
            shown = f"{value:.4g}" if abs(value) > ROUNDING else "0"
        return (
            self.case,
            self.paper,
            "" if self.truth is None else f"{self.truth:.4g}",
            f"{shown}, exactly" if certain and self.exact else shown,
            self._distance(certain),
            f"{self.queries:,}" if self.queries else "",
            self.remark,
        )

    def _distance(self, certain: bool) -> str:
        if self.truth is None:
            return ""
        if certain:
            gap = self.measured.value - self.truth
            return f"{gap:+.0e}" if self.exact and gap else f"{gap:+.3g}" if gap else "0"
        return "" if self.off is None else f"{self.off:+.1f} errors"


@dataclass(frozen=True)
class Grid:
    """A table with columns of its own: headings, and lines of text as long."""

    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A table with a few words before it, and pictures after it; a grid stands for rows."""

    title: str
    text: str
    rows: tuple[Row, ...] = ()
    pictures: tuple[Picture, ...] = ()
    grid: Grid | None = None
    asked: int = 0

    @property
    def queries(self) -> int:
        """What its rows cost, and what was asked besides."""
        return self.asked + sum(row.queries for row in self.rows)

    @property
    def tabular(self) -> bool:
        """Whether there is a table to show."""
        return bool(self.rows) or self.grid is not None

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and cells, without the columns that nothing stands in."""
        if self.grid is not None:
            return list(self.grid.headings), [list(line) for line in self.grid.lines]
        cells = [row.cells() for row in self.rows]
        used = [at for at in range(len(COLUMNS)) if any(line[at] for line in cells)]
        return [COLUMNS[at] for at in used], [[line[at] for at in used] for line in cells]


@dataclass(frozen=True)
class Page:
    """A study: what the paper says, sections of rows, and a verdict in words."""

    name: str
    title: str
    claim: str
    sections: tuple[Section, ...]
    verdict: tuple[str, ...]
    seed: int
    needs: str = ""
    """What the command must be given besides, such as --data DIR."""

    @property
    def queries(self) -> int:
        return sum(section.queries for section in self.sections)

    def rows(self) -> dict[str, Row]:
        """Every row by "section: case"."""
        return {
            f"{section.title}: {row.case}": row for section in self.sections for row in section.rows
        }

    def plain(self) -> dict[str, Any]:
        """The page as plain data, ready for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "seed": self.seed,
            "paper_says": prose(self.claim),
            "verdict": [prose(line) for line in self.verdict],
            "queries": self.queries,
            "sections": [
                {"title": section.title, "rows": [_plain_row(row) for row in section.rows]}
                | _plain_grid(section.grid)
                for section in self.sections
            ],
        }

    def markdown(self) -> str:
        """The page as it stands in the documentation."""
        asked = " ".join(filter(None, (self.name, f"--seed {self.seed}", self.needs)))
        command = f"anharmonic reproduce {asked} --out docs/reproduce"
        head = [
            f"# {self.title}",
            f"Written by `{command}` (seed {self.seed}, {self.queries:,} model queries). "
            "Errors are one standard error.",
            f"**The paper says.** {self.claim}",
            "**Found.**",
        ]
        found = ["\n".join(_lines(f"- {line}", "  ") for line in self.verdict)]
        parts = [_lines(part) for part in head] + found
        for section in self.sections:
            parts += [f"## {section.title}", _lines(section.text)]
            if section.tabular:
                parts.append(_markdown_table(*section.table()))
            parts += [
                f"![{prose(picture.caption)}](pictures/{self.name}-{picture.name}.svg)\n\n"
                + _lines(f"*{picture.caption}*")
                for picture in section.pictures
            ]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path) -> Path:
        """Write the page, and its pictures beneath it in `pictures/`."""
        drawn = {
            folder / "pictures" / f"{self.name}-{picture.name}.svg": picture
            for section in self.sections
            for picture in section.pictures
        }
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
        write_pictures(drawn)
        path = folder / f"{self.name}.md"
        with whole_file(path) as temporary:
            Path(temporary).write_text(self.markdown(), encoding="utf-8")
        return path


def _plain_row(row: Row) -> dict[str, Any]:
    return {
        "case": row.case,
        "paper": row.paper or None,
        "exact": row.truth,
        "measured": row.measured.value,
        "error": row.measured.error if math.isfinite(row.measured.error) else None,
        "queries": row.queries,
        "remark": row.remark,
    }


def _plain_grid(grid: Grid | None) -> dict[str, Any]:
    if grid is None:
        return {}
    return {"table": [dict(zip(grid.headings, line, strict=True)) for line in grid.lines]}


def prose(text: str) -> str:
    """Text as one line, however it was laid out in the source."""
    return " ".join(text.split())


def _lines(text: str, indent: str = "") -> str:
    """A sentence per line, none of which begins with what Markdown takes for a list."""
    held = re.sub(r" (?=(?:[-+*#>]|\d+[.)]) )", "\u00a0", prose(text))
    lines, begun = [], 0
    for end in SENTENCE_END.finditer(held):
        if held[: end.start() + 1].rsplit(None, 1)[-1].lstrip("(“") not in ABBREVIATIONS:
            lines.append(held[begun : end.end() - 1])
            begun = end.end()
    return f"\n{indent}".join([*lines, held[begun:]])


def _markdown_table(headings: list[str], cells: list[list[str]]) -> str:
    numbers = ("exact answer", "measured", "off by", "queries")
    rule = ["--:" if heading in numbers else "---" for heading in headings]
    shown = [[cell.replace("|", "\\|") for cell in line] for line in (headings, *cells)]
    lines = [shown[0], rule, *shown[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
