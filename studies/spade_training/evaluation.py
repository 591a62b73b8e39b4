"""Count what a stack of networks gets right under each attack, and keep the counts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic.training import Attack
from anharmonic.training.attacks import decided
from studies.mnist import Digits
from studies.page import Tell
from studies.spade_training.arms import ATTACKED, TABLE_3, Plan

__all__ = ["evaluate", "keep"]

ROWS_A_CALL = 24_000


def _attacks(plan: Plan, small: bool) -> dict[str, Attack]:
    """Attacks by name, the strongest last: steps of 0.01 as in the paper."""
    few, many = plan.few, plan.many
    smaller = {
        f"PGD-{few}, 0.1": Attack(0.1, steps=few, step=0.01),
        f"PGD-{few}, 0.2": Attack(0.2, steps=few, step=0.01),
    }
    return (smaller if small else {}) | {
        f"PGD-{few}": Attack(0.4, steps=few, step=0.01),
        f"PGD-{many}": Attack(0.4, steps=many, step=0.01),
    }


def evaluate(
    found: dict[str, Any],
    stack: Any,
    names: list[tuple[str, int]],
    test: Digits,
    plan: Plan,
    out: Path | None,
    seconds: float | None,
    tell: Tell,
) -> None:
    """Count hits of every network under every attack; restarts in half of the seconds."""
    clean = _kept(stack, test, None)
    _note(found, names, "clean", clean)
    # Table 3 has no small attacks, and no gamma.
    table = {arm for arm, _ in names} == set(TABLE_3)
    attacks = _attacks(plan, small=not table)
    for name, attack in attacks.items():
        tell(f"attacking: {name}")
        begun = time.perf_counter()
        _note(found, names, name, clean & _kept(stack, test, attack))
        keep(found, out)
    count = plan.restarted
    if seconds is not None:
        fit = plan.tested * seconds / (2 * plan.restarts * (time.perf_counter() - begun))
        count = int(np.clip(fit, min(200, count), count))
    few, kept = test.first(count), clean[:, :count]
    strongest, attack = attacks.popitem()
    # Only Table 3 has restarts.
    for turn in range(plan.restarts if names[0][0] in ATTACKED else 0):
        tell(f"attacking {count:,} images: restart {turn + 1} of {plan.restarts}")
        kept = kept & _kept(stack, few, attack, turn + 1)
        _note(found, names, f"{plan.restarts}×{strongest}", kept)
        keep(found, out)
    if not table:
        _gammas(found, stack, names, test, plan)
    keep(found, out)


def _kept(stack: Any, test: Digits, attack: Attack | None, turn: int = 0) -> Any:
    """Whether each network gets each image right, (networks, images)."""
    import torch

    device = next(iter(stack.parameters())).device
    images = torch.from_numpy(test.images[:, None]).to(device)
    labels = torch.from_numpy(test.labels).to(device)
    each = max(1, ROWS_A_CALL // stack.copies)
    parts = []
    for begin in range(0, len(images), each):
        few = images[begin : begin + each].repeat(stack.copies, 1, 1, 1)
        truth = labels[begin : begin + each].repeat(stack.copies)
        rows = np.tile(np.arange(begin, begin + len(truth) // stack.copies), stack.copies)
        moved = few if attack is None else attack(stack, few, truth, rows, turn)
        right = (decided(stack, moved) == truth).reshape(stack.copies, -1)
        parts.append(right.cpu().numpy())
    return np.concatenate(parts, axis=1)


def _gammas(
    found: dict[str, Any], stack: Any, names: list[tuple[str, int]], test: Digits, plan: Plan
) -> None:
    """Gamma of each network's logits at test images, at the radius of the penalty."""
    from anharmonic.measures.gamma.measure import gamma

    images = test.images[: plan.gamma_points, None]
    for (arm, _), module in zip(names, stack.separate(), strict=True):
        scores = gamma(
            module,
            images,
            radius=plan.penalty_radius,
            ball="random pairs",
            directions=16,
            output="logit",
            scale=None,
            noise="ignore",
        )
        found["arms"][arm].setdefault("gamma", []).append(scores.mean)


def _note(found: dict[str, Any], names: list[tuple[str, int]], attack: str, kept: Any) -> None:
    for arm in dict.fromkeys(arm for arm, _ in names):
        rows = [at for at, (name, _) in enumerate(names) if name == arm]
        found["arms"][arm]["hits"][attack] = {
            "hits": kept[rows].sum(axis=1).tolist(),
            "count": kept.shape[1],
        }


def keep(found: dict[str, Any], out: Path | None) -> None:
    """Write what was found so far."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        with whole_file(out / "results.json") as temporary:
            Path(temporary).write_text(json.dumps(found), encoding="utf-8")
