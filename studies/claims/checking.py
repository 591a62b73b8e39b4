"""Whether a row says what its page says: numbers, commands, and how sure they are."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from studies.claims.rows import VERDICTS, Claim

__all__ = ["missing_numbers", "problems", "unknown_command"]

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
NAMES = re.compile(
    r"`[^`]*`|eqs?\. \d+|PGD-\d+|ResNet-\d+|(?:GBDT|MLP)-\d|r = [\d.]+|[A-Za-z]+-10\b|\d+×PGD-\d+|"
    r"\b1/λ|100·x|P99|p99|Lite\d|[MSLP]\d\d\b|MNIST|CIFAR-10|SmolLM2|2r/\(πH\)"
)
"""What looks like a number and is a name, a setting or code."""
FIGURE = r"[-+−]?\d[\d,]*(?:\.\d+)?%?"
WHOLE = re.compile(rf"{FIGURE} ± {FIGURE}|{FIGURE} \[{FIGURE}, {FIGURE}\]")
"""A figure with its error or its interval."""


def missing_numbers(claim: Claim, text: str) -> list[str]:
    """Numbers, and figures with their errors, that a row gives and its page does not."""
    stated = NUMBER.findall(NAMES.sub(" ", claim.found))
    plain_text = " ".join(text.split())
    on_page = {_plain(number) for number in NUMBER.findall(plain_text)}
    allowed = {_plain(number) for number in claim.numbers_elsewhere}
    absent = [number for number in stated if _plain(number) not in on_page | allowed]
    return absent + [
        whole for whole in WHOLE.findall(claim.found) if not _stands(whole, plain_text)
    ]


def _stands(whole: str, text: str) -> bool:
    """Whether a figure stands on the page with its error, a share of 100 perhaps written as one."""
    return whole in text or whole.replace("%", "") in text


def _plain(number: str) -> str:
    return number.strip(",").lstrip("+")


def unknown_command(command: str, root: Path) -> str | None:
    """What is wrong with a command; None where it can be run."""
    words = command.split()
    if words[0] == "pytest":
        return None if (root / words[1]).exists() else f"{words[1]} is not there"
    if words[:2] == ["python", "-m"]:
        return None if find_spec(words[2]) else f"no module {words[2]}"
    if words[:2] == ["anharmonic", "reproduce"]:
        from studies.command import STUDIES

        return None if words[2] in {*STUDIES, "images"} else f"no study {words[2]}"
    return f"{words[0]} is no command that is known here"


def problems(claim: Claim, text: str, made: bool) -> list[str]:
    """All that is wrong with a row whose page has this text; `made` if it says how it was made."""
    found = []
    if claim.verdict not in VERDICTS:
        found.append(f"no verdict {claim.verdict!r}")
    if not claim.found or not claim.page:
        found.append("it is silent")
        return found
    if claim.verdict == "left out" and not claim.needs:
        found.append("it does not say what it would need")
    if not made and not claim.command and not claim.page.startswith("tests/"):
        found.append("no command makes it again")
    found += [f"{number} is not on {claim.page}" for number in missing_numbers(claim, text)]
    sure = any(mark in claim.found for mark in ("±", "[", " to ", "–", "to rounding"))
    if NUMBER.findall(NAMES.sub(" ", claim.found)) and not sure and not claim.certainty:
        found.append("a figure without an interval, and no word why")
    return found
