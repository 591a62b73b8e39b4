"""How a table's rows move, in a file: the reference's coded rows, and what the codes mean."""

from __future__ import annotations

import base64
import io
import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anharmonic._core.protocols import Array
from anharmonic.errors import SettingsError
from anharmonic.regions.tables.coding import Coding, ColumnCode
from anharmonic.regions.tables.dates import Calendar
from anharmonic.regions.tables.donors import Donors, Site
from anharmonic.regions.tables.kinds import ColumnKind
from anharmonic.regions.tables.neighbourhood import LAW, TableNeighbourhood
from anharmonic.regions.tables.pairs import PairsSeen
from anharmonic.regions.tables.stored_cells import (
    level_fact,
    level_from,
    missing_fact,
    missing_from,
)

__all__ = [
    "coding_facts",
    "coding_from",
    "law_arrays",
    "law_as_text",
    "law_facts",
    "law_from",
    "law_from_text",
]

ARRAYS = ("units", "low", "high", "site_shares", "reaches", "gaps")


def law_arrays(law: TableNeighbourhood) -> dict[str, Array]:
    """The reference's coded rows, (rows, columns), and what was learnt of them."""
    arrays = {f"law.{name}": np.asarray(getattr(law, name), dtype=np.float64) for name in ARRAYS}
    return {**arrays, "law.reference": law.donors.reference, **_pairs_arrays(law.pairs)}


def _pairs_arrays(pairs: PairsSeen) -> dict[str, Array]:
    """Which values stand side by side: counted in more rows than the file has."""
    seen = np.zeros((0, 0), dtype=bool) if pairs.seen is None else pairs.seen
    return {
        "law.pairs.first": pairs.first,
        "law.pairs.ordered": pairs.ordered,
        "law.pairs.edges": np.concatenate([*pairs.edges, np.empty(0)]),
        "law.pairs.counts": np.array([len(edges) for edges in pairs.edges], dtype=np.int64),
        "law.pairs.seen": np.packbits(seen, axis=1),
    }


def _pairs_from(arrays: Mapping[str, Array]) -> PairsSeen:
    edges = np.split(arrays["law.pairs.edges"], np.cumsum(arrays["law.pairs.counts"])[:-1])
    packed = arrays["law.pairs.seen"]
    seen = np.unpackbits(packed, axis=1, count=len(packed)).astype(bool) if len(packed) else None
    first, ordered = arrays["law.pairs.first"], arrays["law.pairs.ordered"]
    return PairsSeen(first, tuple(edges), ordered, seen)


def law_facts(law: TableNeighbourhood) -> dict[str, object]:
    """What these numbers mean, ready for JSON."""
    if any(kind.kind == "own" for kind in law.kinds):
        raise SettingsError("kinds= with a function cannot be saved: name a kind, or hold it still")
    return {
        "version": LAW,
        "kinds": [list(kind[:3]) for kind in law.kinds],
        "orders": [list(kind.order) for kind in law.kinds],
        "sites": [[list(site.columns), site.movement] for site in law.sites],
        "number_share": law.number_share,
        "nearest": law.nearest,
        "fingerprint": law.fingerprint,
        "codes": coding_facts(law.coding),
    }


def law_from(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> TableNeighbourhood:
    """The law that `law_facts` and `law_arrays` describe; said where it was another one then."""
    if facts.get("version", 1) != LAW:
        warnings.warn(
            "the file was written by another version of anharmonic, in which neighbours in tables "
            "were drawn otherwise: scores are not quite comparable, so fit or plan anew",
            stacklevel=2,
        )
    # A file of an earlier version holds no orders.
    orders = facts.get("orders", [()] * len(facts["kinds"]))
    kinds = tuple(
        ColumnKind(name, kind, group, order=tuple(order))
        for (name, kind, group), order in zip(facts["kinds"], orders, strict=True)
    )
    sites = tuple(Site(tuple(columns), movement) for columns, movement in facts["sites"])
    reference, learnt = arrays["law.reference"], {name: arrays[f"law.{name}"] for name in ARRAYS}
    return TableNeighbourhood(
        kinds=kinds,
        coding=coding_from(facts["codes"], kinds),
        donors=Donors(kinds, learnt["units"], sites, reference),
        pairs=_pairs_from(arrays),
        number_share=facts["number_share"],
        nearest=facts["nearest"],
        fingerprint=facts["fingerprint"],
        **{**learnt, "gaps": learnt["gaps"] > 0},
    )


def coding_facts(coding: Coding | None) -> list[dict[str, object]] | None:
    """How columns are coded, ready for JSON."""
    if coding is None:
        return None
    return [_code_facts(code) for code in coding.columns]


def _code_facts(code: ColumnCode) -> dict[str, object]:
    facts: dict[str, object] = {
        "levels": [level_fact(code.kind.name, level) for level in code.levels],
        "listed": code.by_level,
        "missing": missing_fact(code.missing),
    }
    return facts if code.calendar is None else facts | code.calendar._asdict()


def coding_from(
    facts: Sequence[Mapping[str, Any]] | None, kinds: Sequence[ColumnKind]
) -> Coding | None:
    """The coding that `coding_facts` describes."""
    if facts is None:
        return None
    return Coding(tuple(map(_code_from, kinds, facts)))


def _code_from(kind: ColumnKind, facts: Mapping[str, Any]) -> ColumnCode:
    # A file of an earlier version names no unit of time for what is no date, and no missing cell.
    dated = facts.get("stamp")
    return ColumnCode(
        kind,
        levels=tuple(map(level_from, facts["levels"])),
        by_level=facts["listed"],
        calendar=Calendar(facts["origin"], facts["unit"], dated) if dated else None,
        missing=missing_from(facts.get("missing")),
    )


def law_as_text(law: TableNeighbourhood) -> str:
    """All of it as one text, for a file that keeps facts beside its rows."""
    held = io.BytesIO()
    np.savez_compressed(held, **law_arrays(law))
    arrays = base64.b64encode(held.getvalue()).decode()
    return json.dumps({"facts": law_facts(law), "arrays": arrays})


def law_from_text(text: str) -> TableNeighbourhood:
    """What `law_as_text` wrote."""
    saved = json.loads(text)
    with np.load(io.BytesIO(base64.b64decode(saved["arrays"])), allow_pickle=False) as arrays:
        return law_from(saved["facts"], dict(arrays))
