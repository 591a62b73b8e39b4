"""One explained answer as a page to hand on."""

from __future__ import annotations

import os
from pathlib import Path

from anharmonic._core.extras import require
from anharmonic._core.files import write_text_whole
from anharmonic.measures.explain import Explanation
from anharmonic.plots import explanation as drawn
from anharmonic.report.figures import section_of
from anharmonic.report.rendering import rendered
from anharmonic.report.tables import shown
from anharmonic.report.words import WORDS, Headline

__all__ = ["write_explanation"]

LISTED = 12
SETTINGS = ("model", "radius", "scale", "ball", "directions", "steps", "columns", "still", "seed")


def write_explanation(
    path: str | os.PathLike[str],
    explained: Explanation,
    *,
    title: str | None = None,
    command: str | None = None,
) -> Path:
    """Write an explanation as one self-contained HTML file and return its path.

    Parameters
    ----------
    path
        Where it goes; replaced whole or not at all.
    explained
        From `explain`.
    title
        What stands on top; the answer if not told.
    command
        The line that made it, to be shown.
    """
    require("report")
    facts = explained.settings.plain()
    lead, *rest = explained.sentences
    known = explained.contributions is not None
    page = rendered(
        "explained.html",
        title=title or f"Why {explained.label or f'{explained.output:.4g}'}",
        headline=Headline(lead, rest),
        # The headline says already what the picture's own caption does.
        pictures=[section_of("why", [drawn(explained)])._replace(caption="")] if known else [],
        parts=explained.parts(LISTED),
        parts_sentence=explained.parts_sentence,
        total=f"{explained.deviation.value:+.3g}",
        support=explained.support,
        settings=[
            (WORDS.get(name, name), shown(facts[name])) for name in SETTINGS if facts.get(name)
        ]
        + [("queries", f"{explained.queries:,}")],
        command=command,
    )
    return write_text_whole(path, page)
