"""What a monitor says: alarms, and what it found in a batch of rows."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np

from anharmonic._core import tables
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import SettingsError

__all__ = ["DIRECTION_WORDS", "Alarm", "Key", "Observation", "direction_word", "points_per_alarm"]

DIRECTION_WORDS = {"up": "rose", "down": "fell", "spread": "spread otherwise"}
"""What a watched value did, by the direction of its alarm: the one table of these words."""


def direction_word(direction: str) -> str:
    """What a watched value did; a detector of somebody else's does not say which way.

    >>> direction_word("up"), direction_word("either")
    ('rose', 'changed')
    """
    return DIRECTION_WORDS.get(direction, "changed")


class Key(NamedTuple):
    """What evidence is about.

    Parameters
    ----------
    watched
        The name of what is watched, such as "gamma".
    segment
        The segment of the traffic, None for all of it.
    direction
        "up", "down" or "spread" (its distance from the middle); "either" for inputs and classes,
        and with a detector that does not say.

    Examples
    --------
    >>> str(Key("gamma", "north", "up"))
    'gamma up in north'
    """

    watched: str
    segment: str | None
    direction: str

    def __str__(self) -> str:
        where = "" if self.segment is None else f" in {self.segment}"
        return f"{self.watched} {self.direction}{where}"


@dataclass(frozen=True)
class Alarm:
    """Evidence that reached its line.

    Parameters
    ----------
    watched, segment, direction
        What the evidence is about: see `Key`.
    at
        The row, counted from the stream's first, that raised the alarm.
    since
        The row since which it seems to be so.
    log_evidence, threshold
        The logarithm of the evidence, and of the line that it reached.
    remark
        What else to know: that no rate of false alarms is promised, what the cause looks like.
    carriers
        What carries the evidence and how large it is, in words, the most first.

    Examples
    --------
    >>> print(Alarm("gamma", None, "up", at=426, since=387, log_evidence=11.9, threshold=11.5))
    gamma rose: seen at row 426, since about 387
    >>> print(Alarm("inputs", None, "either", 90, 41, 11.9, 11.5, carriers=("age rose",)))
    inputs changed: seen at row 90, since about 41: age rose
    """

    watched: str
    segment: str | None
    direction: str
    at: int
    since: int
    log_evidence: float
    threshold: float
    remark: str = ""
    carriers: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return Key(self.watched, self.segment, self.direction)

    @property
    def change(self) -> str:
        """What the watched value did: "rose", "fell" or "changed"."""
        return direction_word(self.direction)

    def plain(self) -> dict[str, object]:
        """As plain values, ready for JSON."""
        return asdict(self) | {"carriers": list(self.carriers)}

    def __str__(self) -> str:
        where = "" if self.segment is None else f" in {self.segment}"
        when = f"seen at row {self.at:,}, since about {self.since:,}"
        what = ": " + "; ".join(self.carriers) if self.carriers else ""
        remark = f" ({self.remark})" if self.remark else ""
        return f"{self.watched} {self.change}{where}: {when}{what}{remark}"


@dataclass(frozen=True, repr=False)
class Observation:
    """What a monitor found in a batch of rows.

    Parameters
    ----------
    rows : (n,)
        Their numbers in the stream.
    scores : (n,) each
        The values of each thing watched, NaN where a row was not scored.
    evidence
        Log evidence after the last row, for each `Key`.
    alarms
        Those that these rows raised.
    trace : (n,) each
        Log evidence after each row, for the keys of all traffic (segment None).
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
        alarms = f"{len(self.alarms)} alarms" if self.alarms else "quiet"
        return f"<observation: {alarms}, {self.scored:,} of {len(self):,} rows scored>"

    def _repr_html_(self) -> str:
        cells: dict[str, object] = {"rows": f"{len(self):,}", "scored": f"{self.scored:,}"}
        for name, values in self.scores.items():
            finite = values[np.isfinite(values)]
            cells[f"mean {name}"] = f"{finite.mean():.4g}" if len(finite) else "–"
        cells |= {f"log evidence, {key}": f"{log:.3g}" for key, log in self.evidence.items()}
        cells["alarms"] = "; ".join(str(alarm) for alarm in self.alarms) or "none"
        return tables.facts(cells)


def points_per_alarm(text: str | float) -> float:
    """How many points one false alarm is allowed among.

    >>> points_per_alarm("1 per 100,000"), points_per_alarm(5000)
    (100000.0, 5000.0)
    """
    if isinstance(text, str):
        match = re.fullmatch(r"\s*([\d.]+)\s*(?:per|in)\s*([\d_,.]+)\s*", text)
        if not match:
            raise SettingsError(f'false_alarms {text!r}: say "1 per 100000", or 100000')
        alarms, points = (float(re.sub("[_,]", "", number)) for number in match.groups())
        rate = points / alarms if alarms else 0.0
    else:
        rate = float(text)
    if not rate >= 1:
        raise SettingsError(f"false_alarms {text!r}: one alarm takes at least one point")
    return rate
