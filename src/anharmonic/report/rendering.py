"""Templates to pages: everything that is put in is escaped, and nothing may be missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anharmonic.errors import MissingExtra

__all__ = ["rendered"]

HERE = Path(__file__).parent


def rendered(template: str, about: dict[str, Any], *folders: Path, extra: str = "report") -> str:
    """A template, of this folder or others, with what it is about; `page.css` is always there."""
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
