"""What `fix` gives: proposals, each with what it changes on rows that had no part in it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from anharmonic._core import tables
from anharmonic._core.frames import as_table
from anharmonic._core.protocols import Array, Integers
from anharmonic.fixes.gains import Contrast, Gain
from anharmonic.performance.result import Interval

__all__ = ["KINDS", "Fixes", "Kind", "Proposal"]

Kind = Literal["label", "look", "region", "capacity", "smooth"]
KINDS: Mapping[Kind, str] = {
    "label": "rows of the pool to label next",
    "look": "training rows to look at",
    "region": "a region that lacks data",
    "capacity": "another capacity or penalty",
    "smooth": "smoothing",
}
"""Every kind of proposal, in words."""
UNKNOWN = Gain(math.nan, math.nan, Interval(math.nan, math.nan, math.nan), 0)
"""What is written of a proposal whose gain was not measured, where a number is needed."""


@dataclass(frozen=True, eq=False, repr=False)
class Proposal:
    """Something that would make the model better, and what it changes on held-out rows.

    Parameters
    ----------
    kind
        One of `KINDS`.
    helps
        Whether its interval says so; only then it is proposed.
    sentence
        What it is, what was measured, against what, and what to do next.
    gain
        On held-out rows, in the unit of `unit`; None where what it brings was not measured, as
        of a model that cannot be fitted anew.
    unit
        What the gain is a difference of.
    rows
        The rows it is about, those that matter most first: of the pool for "label", of the
        reference for "look" and "region".
    settings
        Parameters to set, for "capacity" and "smooth".
    evidence
        Further measurements by name.
    queries, refits
        What finding and measuring it cost.
    """

    kind: Kind
    helps: bool
    sentence: str
    gain: Gain | None
    unit: str
    rows: Integers | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    evidence: Mapping[str, object] = field(default_factory=dict)
    queries: int = 0
    refits: int = 0

    @property
    def verdict(self) -> str:
        """Whether it helps, in a few words."""
        if self.gain is None:
            return "not measured"
        return "helps" if self.helps else "not shown to help"

    def plain(self) -> dict[str, object]:
        """As plain values, ready for JSON; what is not known is None."""
        gain = self.gain
        return {
            "kind": self.kind,
            "helps": self.helps,
            "sentence": self.sentence,
            "unit": self.unit,
            "before": None if gain is None else _plain_value(gain.before),
            "after": None if gain is None else _plain_value(gain.after),
            "gain": None if gain is None else _plain(gain.interval._asdict()),
            "held_out_rows": None if gain is None else gain.rows,
            "rows": None if self.rows is None else self.rows.tolist(),
            "settings": _plain(self.settings),
            "evidence": _plain(self.evidence),
            "queries": self.queries,
            "refits": self.refits,
        }

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.sentence}>"


def _write_rows(path: Path, rows: Integers, source: object) -> None:
    """Row numbers, those that matter most first, with the cells of a table beside them."""
    columns: dict[str, Array] = {"row": rows}
    table = None if source is None else as_table(source)
    if table is not None:
        some = table[rows.tolist()]
        columns |= {name: some[name].to_arrow() for name in some.columns if name != "row"}
    tables.write_for_people(pa.table(columns), path)


def _plain(values: Mapping[str, object]) -> dict[str, object]:
    return {str(name): _plain_value(value) for name, value in values.items()}


def _plain_value(value: object) -> object:
    """A value as JSON has them: numbers that are none, as of too few rows, are None."""
    if isinstance(value, Gain | Contrast):
        named = value._asdict()
        return _plain({**named, **named.pop("interval")._asdict()})
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, list | tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


@dataclass(frozen=True, eq=False, repr=False)
class Fixes:
    """What was tried, what helps, and what could not be tried.

    Parameters
    ----------
    tried
        Every proposal that was measured, whether or not it helps.
    left_out
        Kinds that could not be tried, and why.
    error_rate
        The chance that any of those that say they help does not.
    model
        Its name.
    metric
        What scores are.
    notes
        What to know of all of it, such as held-out rows that were left out.
    first_queries, first_refits
        What fitting and asking the model on held-out rows cost, before any proposal.
    """

    tried: Sequence[Proposal]
    left_out: Mapping[Kind, str]
    error_rate: float
    model: str
    metric: str
    notes: Sequence[str] = ()
    first_queries: int = 0
    first_refits: int = 0

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Those that help, by their intervals."""
        return tuple(proposal for proposal in self.tried if proposal.helps)

    @property
    def queries(self) -> int:
        """Of the model in all, its copies that were fitted anew among them."""
        return self.first_queries + sum(proposal.queries for proposal in self.tried)

    @property
    def refits(self) -> int:
        """How often it was fitted anew, in all."""
        return self.first_refits + sum(proposal.refits for proposal in self.tried)

    def __len__(self) -> int:
        return len(self.proposals)

    def __iter__(self) -> Iterator[Proposal]:
        return iter(self.proposals)

    def __getitem__(self, kind: Kind) -> Proposal:
        for proposal in self.tried:
            if proposal.kind == kind:
                return proposal
        why = self.left_out.get(kind, f"there is no such kind: {', '.join(KINDS)}")
        raise KeyError(f"{kind} was not tried: {why}")

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line per proposal that was tried, as the first installed of pandas, polars, pyarrow.

        Parameters
        ----------
        backend
            Which of them instead.
        """
        gains = [proposal.gain or UNKNOWN for proposal in self.tried]
        columns = {
            "kind": np.array([proposal.kind for proposal in self.tried]),
            "helps": np.array([proposal.helps for proposal in self.tried]),
            "unit": np.array([proposal.unit for proposal in self.tried]),
            "before": np.array([gain.before for gain in gains]),
            "after": np.array([gain.after for gain in gains]),
            "gain": np.array([gain.interval.value for gain in gains]),
            "gain_low": np.array([gain.interval.low for gain in gains]),
            "gain_high": np.array([gain.interval.high for gain in gains]),
            "held_out_rows": np.array([gain.rows for gain in gains]),
            "queries": np.array([proposal.queries for proposal in self.tried]),
            "sentence": np.array([proposal.sentence for proposal in self.tried]),
        }
        return tables.frame(tables.arrow(columns, {"holds": "proposals"}), backend)

    def summary(self) -> dict[str, object]:
        """As plain values, ready for JSON."""
        return {
            "model": self.model,
            "metric": self.metric,
            "error_rate": self.error_rate,
            "queries": self.queries,
            "refits": self.refits,
            "tried": [proposal.plain() for proposal in self.tried],
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        pool: object = None,
        reference: object = None,
    ) -> Path:
        """Write `fixes.json`, and `label.csv` and `look.csv` where there are rows to label or see.

        Parameters
        ----------
        folder
            Made if it is not there.
        pool, reference
            The tables that rows were chosen from: then their cells stand beside the row numbers.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.summary(), indent=1, allow_nan=False)
        (target / "fixes.json").write_text(text + "\n")
        for kind, table in (("label", pool), ("look", reference)):
            for proposal in self.tried:
                if proposal.kind == kind and proposal.rows is not None:
                    _write_rows(target / f"{kind}.csv", proposal.rows, table)
        return target

    def __repr__(self) -> str:
        said = [f"  {head}: {sentence}" for head, sentence in self.lines()]
        return "\n".join(
            [
                f"<fixes of {self.model}: {len(self)} of {len(self.tried)} proposals help; chance "
                f"that any of them does not: at most {self.error_rate:.0%}; {self.queries:,} "
                f"queries, {self.refits:,} refits>",
                *said,
            ]
        )

    def lines(self) -> list[tuple[str, str]]:
        """A verdict and a sentence for every kind, those that help first, and the notes."""
        by_help = sorted(self.tried, key=lambda proposal: not proposal.helps)
        return [
            *((proposal.verdict, proposal.sentence) for proposal in by_help),
            *(("not tried", f"{KINDS[kind]}: {why}") for kind, why in self.left_out.items()),
            *(("note", note) for note in self.notes),
        ]

    def _repr_html_(self) -> str:
        cells: dict[str, object] = {}
        for proposal in self.tried:
            cells[KINDS[proposal.kind]] = f"{proposal.verdict}: {proposal.sentence}"
        cells |= {KINDS[kind]: f"not tried: {why}" for kind, why in self.left_out.items()}
        if self.notes:
            cells["notes"] = " ".join(self.notes)
        return tables.facts(cells)
