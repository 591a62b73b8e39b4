"""Differences to the record that are meant, each with the defect or the word it mends."""

from __future__ import annotations

import re

__all__ = ["EXPECTED", "reason_for"]

EXPECTED = {
    r"settings › (codes|region|cells|volume|output|classes|bounds): new": (
        "all measures record the same facts; some of them lacked these"
    ),
    r"settings › grid: gone": "baselines called the cells of a grid its rounding",
    r"^ › (call|command) (compare|report)": (
        "the sample of a reference has a random stream of its own (code 0.8)"
    ),
    r"^ › call sweep|^ › command sweep": "the same, where a reference is sampled",
    r"^ › call replay › repr": "a dataclass's own repr shows the typed settings",
    r"^ › command (gamma table|clever table|search table|replay page|report)": (
        "“per point”, not “a point”"
    ),
    r"^ › call plot distribution": "its words name the measure and its own fragile end",
    r"^ › command search › json": "the same facts in the settings of each search",
    r"^ › (call|command) (monitor|replay)": (
        "inputs and predictions are watched too, by ranks, under one promise per row"
    ),
    r"relative: new": "gamma in units of the outputs' spread stands beside the raw one",
    r"^ › call .* › html": "the same, in notebooks",
    r"reading: new": "every mean says which one it is, and where another verb gives another",
    r"repr: .*of the outputs' spread": "gamma beside the outputs' spread, in every text",
    r"^ › call gate|^ › command (check|gamma).*(verdicts|out:)": "the same, on the screen",
    r"^ › call search table": (
        'a step of radius="auto" is a tenth of the nearest-neighbour distance; it was a whole one, '
        "which flipped nearly every decision of any model"
    ),
    r"^ › (call|command) search .*(repr|flipped_rows|curve)": (
        "a search says which rows flip, and how far from where they stand"
    ),
    r"^ › (call|command) explain": (
        "an explanation is walked on to the reference rows that support the answer"
    ),
    r"^ › call plot (search|worst points)": "paper and lines in colours that a page knows",
    r"^ › command spade page": "how to read it stands on top",
    r"^ › (call|command) compare": "means beside the outputs' spread, and both places in the text",
}


def reason_for(difference: str) -> str | None:
    """Why a difference is meant; None where nobody said so."""
    return next((why for where, why in EXPECTED.items() if re.search(where, difference)), None)
