"""A labelled reference in a file: what performance is learnt from, to which it is fitted again.

The same rows, labels and seed fit the same estimator, so that no tree is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from anharmonic._core.protocols import Array, Model
from anharmonic.monitor.performance_watch import PerformanceWatch, fit_tracker
from anharmonic.monitor.storing_ranks import columns_arrays, columns_facts, columns_from

__all__ = ["judge_arrays", "judge_facts", "judge_from"]


def judge_arrays(judge: PerformanceWatch) -> dict[str, Array]:
    """Outputs, labels by number, and coded rows."""
    outputs, labels, codes = judge.reference
    numbers = labels
    if judge.tracker.estimator.classes:
        place = {name: number for number, name in enumerate(judge.tracker.estimator.classes)}
        numbers = np.array([place[label] for label in labels.tolist()])
    return {
        "judge.outputs": outputs,
        "judge.labels": numbers,
        "judge.codes": codes,
        **columns_arrays("judge.columns", judge.inputs),
    }


def judge_facts(judge: PerformanceWatch) -> dict[str, object]:
    """What these numbers mean, ready for JSON."""
    return {
        **columns_facts(judge.inputs),
        "window": judge.tracker.window,
        "memory": judge.memory,
        "advancing": judge.advancing,
    }


def judge_from(
    facts: Mapping[str, Any], arrays: Mapping[str, Array], model: Model, seed: int
) -> PerformanceWatch:
    """What `judge_facts` and `judge_arrays` describe, fitted again."""
    inputs = columns_from("judge.columns", facts, arrays)
    outputs, labels = arrays["judge.outputs"], arrays["judge.labels"]
    if outputs.ndim > 1 and model.classes:
        labels = np.array(model.classes)[labels]
    codes = arrays["judge.codes"]
    # Earlier files did not say which dates nobody had declared.
    dates = [kind.name for kind in inputs.kinds if kind.kind == "date"]
    advancing, memory = tuple(facts.get("advancing", dates)), facts["memory"]
    made = (advancing, facts["window"], memory, seed)
    tracker = fit_tracker(model, inputs, outputs, labels, codes, *made)
    return PerformanceWatch(tracker, inputs, model, (outputs, labels, codes), advancing, memory)
