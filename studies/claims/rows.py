"""The papers' claims, row by row, as the TOML files beside this one hold them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from anharmonic.errors import InputError

__all__ = ["PAPERS", "VERDICTS", "Claim", "Written", "read_claims", "written"]

PAPERS = {
    "main": "Harmonic Machine Learning Models are Robust",
    "supplement": "Its supplement",
    "language": "Harmonic LLMs are Trustworthy (arXiv 2404.19708)",
    "spade": "SPADE (Cheng et al., 2021)",
}
VERDICTS = {
    "holds": "measured here, and so",
    "in part": "so under conditions that are said, or only some of it",
    "corrected": "measured, and otherwise; what is so stands beside it",
    "not found": "measured, and not seen",
    "provided": "a procedure or a use, not a claim: it is there, and the test or page shows it",
    "left out": "not measured, with what it would need",
}
HERE = Path(__file__).parent
HEADER = re.compile(r"Written by `([^`]+)` \(seed (\d+), ([\d,]+) model queries\)")


@dataclass(frozen=True)
class Claim:
    """One row.

    Parameters
    ----------
    id, paper, place, says
        Which claim, and what the paper says.
    verdict, found
        One of `VERDICTS`, and what was found, in figures that stand on `page`.
    page, also
        Where they stand: below docs/, or a test; and a second place.
    command
        What makes them again, where the page does not say so itself.
    certainty
        Why there is no interval beside a figure that needs one: "exact", "count", or in words.
    needs
        What a row that is left out would need.
    numbers_elsewhere
        Numbers in `found` that are names or sizes and not figures of the page.
    """

    id: str
    paper: str
    place: str
    says: str
    verdict: str = ""
    found: str = ""
    page: str = ""
    also: str = ""
    command: str = ""
    certainty: str = ""
    needs: str = ""
    numbers_elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """What a page says of how it was made."""

    command: str
    seed: str
    queries: str


def read_claims(folder: Path = HERE) -> list[Claim]:
    """All rows, in the order of the papers."""
    known = {field.name for field in fields(Claim)}
    claims = []
    for paper in PAPERS:
        for name, row in tomllib.loads((folder / f"{paper}.toml").read_text("utf-8")).items():
            if unknown := row.keys() - known:
                raise InputError(f"{paper}.toml: {name} has unknown fields {sorted(unknown)}")
            row["numbers_elsewhere"] = tuple(row.get("numbers_elsewhere", ()))
            claims.append(Claim(id=name, paper=paper, **row))
    return claims


def written(pages: Mapping[str, str]) -> dict[str, Written]:
    """Command, seed and price of every page that says so, by its name."""
    found = {}
    for name, text in pages.items():
        if header := HEADER.search(" ".join(text.split())):
            found[name] = Written(*header.groups())
    return found
