"""Table 3 of SPADE, with intervals and a control more; and what a gamma penalty buys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from anharmonic.errors import InputError
from studies.mnist import read_mnist
from studies.page import Page, Tell, silent
from studies.spade_training.arms import ATTACKED, PENALISED, REDUCED, TABLE_3, Plan
from studies.spade_training.measuring import measured
from studies.spade_training.nodes import node_scores
from studies.spade_training.penalty import penalty_section, penalty_verdict
from studies.spade_training.table import table_section, table_verdict

__all__ = ["spade_training", "training_page"]

SAVED = "spade-training.json"


def spade_training(data: Path, seed: int = 0, tell: Tell = silent, plan: Plan = REDUCED) -> Page:
    """The page, from a reduced run, or from the real one where `data` holds its results.

    `data` is a folder of the digits; where it holds `spade-training.json`, as `measuring` wrote
    it (results.json), nothing is trained. A run of Table 3 alone, over more seeds, stands in it
    under "table".
    """
    saved = data / SAVED
    if saved.is_file():
        return training_page(_read(saved), "--data docs/reproduce/results")
    digits = read_mnist(data)[0].first(plan.images)
    nodes = node_scores(digits, plan.seeds, seed=seed, tell=tell)
    return training_page(measured(data, nodes, plan=plan, seed=seed, tell=tell), "--data MNIST")


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        missing = [arm for arm in (*ATTACKED, *PENALISED) if arm not in found["arms"]]
        missing += [arm for arm in TABLE_3 if arm not in found.get("table", found)["arms"]]
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{file} is no result of a run: delete it to train again") from problem
    if missing:
        raise InputError(f"{file} lacks {', '.join(missing)}: let the run finish, or delete it")
    return found


def training_page(found: dict[str, Any], needs: str = "") -> Page:
    """What a run found, as a page."""
    table = found.get("table", found)
    return Page(
        name="spade-training",
        title="Training with SPADE's scores, and with gamma",
        claim="""PGD training that gives the images with the largest node scores a larger radius
            is more robust than one that picks radii by chance, and that than one radius for all:
            88.46, 83.09 and 70.23% under 20×PGD-100 (Table 3).""",
        sections=(table_section(table), penalty_section(found)),
        verdict=(*table_verdict(table), *penalty_verdict(found)),
        seed=found["seed"],
        needs=needs,
    )
