"""From templates to HTML files that need nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from anharmonic.errors import MissingExtra
from anharmonic.plots.style import PAGE_COLOURS
from anharmonic.report.figures import Section

if TYPE_CHECKING:
    import jinja2

__all__ = ["BASE_STYLE", "environment", "filled", "rendered"]

HERE = Path(__file__).parent
BASE_STYLE = HERE / "base.css"
"""The style that every page shares, for one that links to it instead of holding it."""


def environment(*folders: Path, extra: str = "report") -> jinja2.Environment:
    """Templates of these folders, and `base.html` and the others of this one.

    Everything put in is escaped, and nothing may be missing.

    Parameters
    ----------
    folders
        Where else templates are; a name is looked for here first.
    extra
        What to install where jinja2 is missing.
    """
    try:
        import jinja2
    except ImportError as problem:
        raise MissingExtra("jinja2", extra) from problem
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, HERE]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def filled(
    template: str, values: Mapping[str, object], *folders: Path, extra: str = "report"
) -> str:
    """A template of these folders or this one, with values for what it names."""
    return environment(*folders, extra=extra).get_template(template).render(values)


def rendered(template: str, pictures: list[Section], **values: object) -> str:
    """A page from its template, with the style, the script and everything the pictures need."""
    figures = _figures(pictures)
    return filled(
        template,
        values
        | {
            "pictures": pictures,
            "figures": figures,
            "colours": json.dumps({colour.lower(): name for name, colour in PAGE_COLOURS.items()}),
            "plotly": _plotly(),
            # Scripts without this word do not run, whatever a name may smuggle in.
            "nonce": hashlib.sha256(figures.encode()).hexdigest()[:32],
            "today": datetime.now(UTC).strftime("%Y-%m-%d"),
        },
    )


def _figures(pictures: list[Section]) -> str:
    """The figures as JSON that cannot end the script element it stands in."""
    entries = [
        f'"{panel.place}":{panel.figure.to_json()}'
        for section in pictures
        for panel in section.panels
    ]
    whole = "{" + ",".join(entries) + "}"
    return whole.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _plotly() -> str:
    """plotly.js from the installed package, packed: 2 MB instead of 5."""
    from plotly.offline import get_plotlyjs

    # No time stamp: the same plotly gives the same page.
    packed = gzip.compress(get_plotlyjs().encode(), 9, mtime=0)
    return base64.b64encode(packed).decode()
