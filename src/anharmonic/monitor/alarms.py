"""What a monitor says: alarms, and what it made of some rows."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core import tables
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import SettingsError

__all__ = ["Alarm", "Key", "Observation", "points_per_alarm"]


class Key(NamedTuple):
    """What evidence is about: what is watched, in which segment (None: all), which way."""

    watched: str
    segment: str | None
    direction: str

    def __str__(self) -> str:
        where = "" if self.segment is None else f" in {self.segment}"
        return f"{self.watched} {self.direction}{where}"


@dataclass(frozen=True)
class Alarm:
    """Evidence that reached its line: at which row, and since which row it seems to be so."""

    watched: str
    segment: str | None
    direction: str
    at: int
    since: int
    log_evidence: float
    threshold: float
    remark: str = ""
    """What else to know: that no rate of false alarms is promised, what the cause looks like."""

    @property
    def key(self) -> Key:
        return Key(self.watched, self.segment, self.direction)

    def plain(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        way = {"up": "rose", "down": "fell"}.get(self.direction, "changed")
        where = "" if self.segment is None else f" in {self.segment}"
        seen = f"seen at row {self.at:,}, since about {self.since:,}"
        return f"{self.watched} {way}{where}: {seen}" + (f" ({self.remark})" if self.remark else "")


@dataclass(frozen=True, repr=False)
class Observation:
    """What a monitor made of some rows.

    - `rows` (n,): their numbers in the stream.
    - `scores`: for each thing watched its values (n,), NaN where a row was not scored.
    - `evidence`: log evidence after the last row, for each `Key`.
    - `alarms`: those that these rows raised.
    - `trace`: log evidence (n,) after each row, for the keys of all traffic (segment None).
    """

    rows: Integers
    scores: dict[str, Floats]
    evidence: dict[Key, float]
    alarms: tuple[Alarm, ...] = ()
    trace: dict[Key, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def alarm(self) -> bool:
        """Whether these rows raised any."""
        return bool(self.alarms)

    @property
    def scored(self) -> int:
        """Rows that have a value of everything that is watched."""
        return int(np.isfinite(np.stack([*self.scores.values()])).all(axis=0).sum())

    def __repr__(self) -> str:
        raised = f"{len(self.alarms)} alarms" if self.alarms else "quiet"
        return f"<observation: {raised}, {self.scored:,} of {len(self):,} rows scored>"

    def _repr_html_(self) -> str:
        cells: dict[str, object] = {"rows": f"{len(self):,}", "scored": f"{self.scored:,}"}
        for name, values in self.scores.items():
            known = values[np.isfinite(values)]
            cells[f"mean {name}"] = f"{known.mean():.4g}" if len(known) else "–"
        cells |= {f"log evidence, {key}": f"{each:.3g}" for key, each in self.evidence.items()}
        cells["alarms"] = "; ".join(str(each) for each in self.alarms) or "none"
        return tables.facts(cells)


def points_per_alarm(text: str | float) -> float:
    """How many points one false alarm is allowed among.

    >>> points_per_alarm("1 per 100,000"), points_per_alarm(5000)
    (100000.0, 5000.0)
    """
    if isinstance(text, str):
        found = re.fullmatch(r"\s*([\d.]+)\s*(?:per|in)\s*([\d_,.]+)\s*", text)
        if not found:
            raise SettingsError(f'false_alarms {text!r}: say "1 per 100000", or 100000')
        often, among = (float(re.sub("[_,]", "", each)) for each in found.groups())
        rate = among / often if often else 0.0
    else:
        rate = float(text)
    if not rate >= 1:
        raise SettingsError(f"false_alarms {text!r}: one alarm takes at least one point")
    return rate
