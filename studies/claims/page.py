"""The page "Claim by claim", written from the rows: `python -m studies.claims`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from anharmonic._core.files import whole_file
from studies.claims.rows import PAPERS, VERDICTS, Claim, Written, read_claims, written

__all__ = ["ROOT", "claims_page", "read_pages", "write"]

ROOT = Path(__file__).parents[2]
INTRODUCTION = (
    "Written by `python -m studies.claims` from `studies/claims/*.toml`; "
    "`tests/studies/test_claims.py` looks up every number on the page that the row points to, "
    "and every command.\n"
    "The papers were gone through row by row: {total} claims, definitions, tables, figures and "
    "uses, one line each.\n\n{counts}\n\n"
    "Figures are ours; what the papers say stands in the second column.\n"
    "Errors are one standard error, brackets 95% intervals; where there is neither, it is an exact "
    "answer or a count, or the line says why."
)


def read_pages(root: Path = ROOT) -> dict[str, str]:
    """Every documentation page by its path below docs/."""
    docs = root / "docs"
    return {
        path.relative_to(docs).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(docs.rglob("*.md"))
        if path.name != "claims.md"
    }


def claims_page(claims: Sequence[Claim], pages: dict[str, str]) -> str:
    """All of it as Markdown."""
    made = written(pages)
    tally = Counter(claim.verdict for claim in claims)
    counts = "\n".join(
        f"- **{verdict}** ({tally[verdict]}): {text}." for verdict, text in VERDICTS.items()
    )
    parts = ["# Claim by claim", INTRODUCTION.format(total=len(claims), counts=counts)]
    for paper, title in PAPERS.items():
        rows = [_row(claim, made) for claim in claims if claim.paper == paper]
        head = "| row | the paper | verdict | found | where, and how again |\n|---|---|---|---|---|"
        parts.append(f"## {title}\n\n{head}\n" + "\n".join(rows))
    parts.append(_commands(claims, made))
    return "\n\n".join(parts) + "\n"


def _row(claim: Claim, made: dict[str, Written]) -> str:
    says = f"{claim.says} ({claim.place})"
    found = claim.found
    if claim.certainty and claim.certainty not in ("exact", "count"):
        found += f" ({claim.certainty[0].upper()}{claim.certainty[1:]}.)"
    if claim.needs:
        found += f" It would need {claim.needs}."
    places = [_place(page) for page in (claim.page, claim.also) if page]
    if claim.command:
        places.append(f"`{claim.command}`")
    return _cells(claim.id, says, f"**{claim.verdict}**", found, ", ".join(places))


def _place(page: str) -> str:
    if page.startswith("tests/"):
        return f"`pytest {page}`"
    name = page.removeprefix("reproduce/")
    inside = name if page.startswith("reproduce/") else f"../{page}"
    return f"[{Path(name).stem}]({inside})"


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _commands(claims: Sequence[Claim], made: dict[str, Written]) -> str:
    """Command, seed and price of every page that a row points to."""
    used = dict.fromkeys(
        page for claim in claims for page in (claim.page, claim.also) if page in made
    )
    lines = [
        _cells(_place(page), f"`{made[page].command}`", made[page].seed, made[page].queries)
        for page in used
    ]
    text = "A page that was made from kept measurements says what these cost, and how to make them."
    head = "| page | command | seed | model queries |\n|---|---|---|--:|"
    return f"## How the pages are made\n\n{text}\n\n{head}\n" + "\n".join(lines)


def write(root: Path = ROOT) -> Path:
    """Write the page into docs/reproduce."""
    path = root / "docs" / "reproduce" / "claims.md"
    with whole_file(path) as temporary:
        Path(temporary).write_text(claims_page(read_claims(), read_pages(root)), encoding="utf-8")
    return path
