"""How a table's rows move, in a file: the reference's coded rows, and what the codes mean."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from anharmonic._core.protocols import Array
from anharmonic.errors import SettingsError
from anharmonic.regions.tables.coding import Coding, ColumnCode
from anharmonic.regions.tables.donors import Donors, Site
from anharmonic.regions.tables.kinds import ColumnKind
from anharmonic.regions.tables.neighbourhood import TableNeighbourhood
from anharmonic.regions.tables.pairs import count_pairs

__all__ = ["law_arrays", "law_as_text", "law_facts", "law_from", "law_from_text"]

ARRAYS = ("units", "low", "high", "site_shares", "reaches", "gaps")
PLAIN = (str, int, float, bool)


def law_arrays(law: TableNeighbourhood) -> dict[str, Array]:
    """The reference's coded rows, (rows, columns), and what was learnt of them."""
    arrays = {f"law.{name}": np.asarray(getattr(law, name), dtype=np.float64) for name in ARRAYS}
    return {**arrays, "law.reference": law.donors.reference}


def law_facts(law: TableNeighbourhood) -> dict[str, object]:
    """What these numbers mean, ready for JSON."""
    if any(kind.kind == "own" for kind in law.kinds):
        raise SettingsError("kinds= with a function cannot be saved: name a kind, or hold it still")
    return {
        "kinds": [list(kind[:3]) for kind in law.kinds],
        "sites": [[list(site.columns), site.movement] for site in law.sites],
        "number_share": law.number_share,
        "nearest": law.nearest,
        "fingerprint": law.fingerprint,
        "codes": None
        if law.coding is None
        else [
            {
                "levels": [_plain(level) for level in code.levels],
                "listed": code.listed,
                "origin": code.origin,
                "unit": code.unit,
                "stamp": code.stamp,
            }
            for code in law.coding.columns
        ],
    }


def law_from(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> TableNeighbourhood:
    """The law that `law_facts` and `law_arrays` describe."""
    kinds = tuple(ColumnKind(*kind) for kind in facts["kinds"])
    sites = tuple(Site(tuple(columns), movement) for columns, movement in facts["sites"])
    reference, learnt = arrays["law.reference"], {name: arrays[f"law.{name}"] for name in ARRAYS}
    coding = None
    if facts["codes"] is not None:
        coding = Coding(
            tuple(
                ColumnCode(kind, **{**code, "levels": tuple(code["levels"])})
                for kind, code in zip(kinds, facts["codes"], strict=True)
            )
        )
    return TableNeighbourhood(
        kinds=kinds,
        coding=coding,
        donors=Donors.among(kinds, learnt["units"], sites, reference),
        pairs=count_pairs(kinds, reference),
        number_share=facts["number_share"],
        nearest=facts["nearest"],
        fingerprint=facts["fingerprint"],
        **{**learnt, "gaps": learnt["gaps"] > 0},
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


def _plain(level: object) -> object:
    return level if isinstance(level, PLAIN) else str(level)
