"""From templates to HTML files that need nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from anharmonic.errors import MissingExtra
from anharmonic.report.figures import Section

__all__ = ["filled", "rendered"]

HERE = Path(__file__).parent


def filled(template: str, about: dict[str, Any], *folders: Path, extra: str = "report") -> str:
    """A template, of this folder or others, with what it is about; `page.css` is always there.

    Everything put in is escaped, and nothing may be missing.
    """
    try:
        import jinja2
    except ImportError as problem:
        raise MissingExtra("jinja2", extra) from problem
    room = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, HERE]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return room.get_template(template).render(**about)


def rendered(template: str, pictures: list[Section], **about: Any) -> str:
    """A page from its template, with the style, the script and everything the pictures need."""
    figures = _figures(pictures)
    return filled(
        template,
        about
        | {
            "pictures": pictures,
            "figures": figures,
            "plotly": _plotly(),
            # Scripts without this word do not run, whatever a name may smuggle in.
            "nonce": hashlib.sha256(figures.encode()).hexdigest()[:32],
            "today": datetime.now(UTC).strftime("%Y-%m-%d"),
        },
    )


def _figures(pictures: list[Section]) -> str:
    """The figures as JSON that cannot end the script element it stands in."""
    each = [
        f'"{panel.place}":{panel.figure.to_json()}' for part in pictures for panel in part.panels
    ]
    whole = "{" + ",".join(each) + "}"
    return whole.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _plotly() -> str:
    """plotly.js from the installed package, packed: 2 MB instead of 5."""
    from plotly.offline import get_plotlyjs

    packed = gzip.compress(get_plotlyjs().encode(), 9, mtime=0)
    return base64.b64encode(packed).decode()
