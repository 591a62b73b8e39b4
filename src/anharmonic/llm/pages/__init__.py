"""Pages that people read: one HTML file each, with nothing in it that runs."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from anharmonic._core.files import write_text_whole
from anharmonic.report.rendering import filled

__all__ = ["write_page"]

HERE = Path(__file__).parent


def write_page(path: str | os.PathLike[str], template: str, **values: object) -> Path:
    """Fill a template of this folder and write it, whole or not at all."""
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    page = filled(template, {"today": today, **values}, HERE, extra="llm")
    return write_text_whole(path, page, errors="backslashreplace")
