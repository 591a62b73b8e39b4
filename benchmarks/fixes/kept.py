"""Cases that were measured, so that a benchmark goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Kept"]


class Kept:
    """What was measured by case, one case per line of a file, or in memory alone.

    Parameters
    ----------
    path
        A file, which need not be there yet; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.cases: dict[str, Any] = {}
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        for line in lines:
            try:
                case, found = json.loads(line)
            except ValueError:
                # A run that was ended while it wrote leaves half of a line: it is measured again.
                continue
            self.cases[case] = found

    def measured(self, case: str, measure: Callable[[], Any]) -> Any:
        """What is known of a case, or is measured now: plain values, as JSON gives them back."""
        if case not in self.cases:
            text = json.dumps([case, measure()])
            self.cases[case] = json.loads(text)[1]
            if self.path is not None:
                self._append(self.path, text)
        return self.cases[case]

    def _append(self, path: Path, text: str) -> None:
        held = path.read_text() if path.exists() else ""
        with path.open("a") as file:
            file.write(("\n" if held and not held.endswith("\n") else "") + text + "\n")
