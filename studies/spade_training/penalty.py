"""What a gamma penalty buys, beside plain and PGD training."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic._core.estimate import Estimate
from studies.page import Row, Section
from studies.pictures import Curve, Picture, curves
from studies.spade_training.arms import PENALISED
from studies.spade_training.shares import Names, estimate, gap, shares, unlearnt

__all__ = ["penalty_section", "penalty_verdict"]

COMPARED = (*PENALISED, "PGD 0.2", "PGD 0.3")


def penalty_section(found: dict[str, Any]) -> Section:
    """Accuracies, gamma, and what a step costs."""
    names, arms = Names.of(found["plan"]), found["arms"]
    rows = []
    for arm in COMPARED:
        about = arms[arm]
        made = f"{about['epochs']} epochs"
        for attack in ("clean", f"{names.few}, 0.1", f"{names.few}, 0.2"):
            each = shares(about, attack)
            asked = about["hits"][attack]["count"] * len(each) * names.passes[attack]
            rows.append(Row(f"{arm}: {attack}", estimate(each), queries=asked, remark=made))
        rows.append(Row(f"{arm}: gamma", estimate(about["gamma"]), remark=made))
    for kind, cost in found["costs"].items():
        rows.append(Row(f"{kind}: a step, in plain ones", Estimate(*cost)))
    return Section("A gamma penalty", _words(found), tuple(rows), (_picture(arms, names),))


def _words(found: dict[str, Any]) -> str:
    plan, arms = found["plan"], found["arms"]
    unequal = len({arms[arm]["epochs"] for arm in COMPARED}) > 1
    epochs = """Each kind of training had the same time at most, all its networks as one stack, so
        **epochs are not equal**: PGD's arms stand beside the others, they are not compared at equal
        epochs. """
    return f"""The loss is cross entropy plus a weight times the squared deviation of the logits
        from their mean over one pair of neighbours at distance {plan["penalty_radius"]:g}: two
        more forward passes a step, no attack. Beside it plain training and PGD training
        ({plan["steps"]} steps). {epochs if unequal else ""}Gamma is that of the logits at the same
        distance, at {min(plan["gamma_points"], plan["tested"]):,} test images. Steps are timed on a
        processor, one network, batches of {plan["batch_size"]}, kinds in turns."""


def _picture(arms: dict[str, Any], names: Names) -> Picture:
    attacks = {0.0: "clean", 0.1: f"{names.few}, 0.1", 0.2: f"{names.few}, 0.2", 0.4: names.few}
    lines = []
    for arm in COMPARED:
        found = [estimate(shares(arms[arm], attack)) for attack in attacks.values()]
        values, errors = zip(*found, strict=True)
        lines.append(Curve(arm, list(attacks), values, errors))
    return Picture(
        "penalty",
        f"""Accuracy against the radius of the attack ({names.few}) for plain training, the gamma
        penalty and PGD training.""",
        curves(lines, "radius of the attack", "accuracy, %"),
    )


def penalty_verdict(found: dict[str, Any]) -> list[str]:
    """Each way of training against plain training."""
    names, arms = Names.of(found["plan"]), found["arms"]
    weak = unlearnt(arms, COMPARED)
    lines = [weak] if weak else []
    for arm in () if weak else COMPARED[1:]:
        clean = gap(arms, arm, "plain", "clean")
        small, large = (gap(arms, arm, "plain", f"{names.few}, {at}") for at in (0.1, 0.2))
        lines.append(
            f"{arm} less plain training under {names.few}: at 0.1 {small}; at 0.2 {large}; clean "
            f"{clean}. Gamma {np.mean(arms[arm]['gamma']):.3g} against "
            f"{np.mean(arms['plain']['gamma']):.3g}."
        )
    return lines
