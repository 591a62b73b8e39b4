"""Scores in a Hugging Face model card: metadata for machines, a section for people.

Everything happens in the file; nothing is sent anywhere.
"""

from __future__ import annotations

import html
import math
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anharmonic._core.estimate import Estimate
from anharmonic._core.files import whole_file
from anharmonic.errors import InputError, MissingExtra
from anharmonic.measures.remeasure import arguments_of
from anharmonic.report.frontmatter import read_key, with_key
from anharmonic.scores import Scores

__all__ = ["add_to_card"]

TOOL = "anharmonic"
START = f"<!-- {TOOL}: start. What stands between these marks is replaced by the next run. -->"
END = f"<!-- {TOOL}: end -->"
SECTION = re.compile(rf"<!-- {TOOL}: start.*?-->.*?<!-- {TOOL}: end -->", re.S)
KEPT = ("kind", "reduction", "radius", "ball", "directions", "rotations", "seed", "fingerprint")


def add_to_card(
    card: Any,
    scores: Mapping[str, Scores],
    *,
    model: str | None = None,
    task: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> str:
    """Put scores, by the name of their data set, into a model card; gives the card's new text.

    `card` is the path of a card, which is rewritten (or left as it is, when `out` names another
    file) and made where there is none; or a `huggingface_hub.ModelCard`, which is updated. What
    an earlier run put in is replaced; everything else is kept. `model` names the model in
    the metadata and `task` its task, as "tabular-classification".
    """
    if not scores:
        raise InputError("there are no scores to put into the card: give NAME=SCORES")
    for dataset, each in scores.items():
        if not each.complete:
            raise InputError(f"the scores of {dataset} are unfinished: go on with --resume first")
    is_path = isinstance(card, str | os.PathLike)
    text = _read(Path(card)) if is_path else str(card.content)
    entries = read_key(text, "model-index") or []
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise InputError("the card's model-index is no list of models: mend it first")
    first = next(iter(scores.values()))
    named = model or next((str(each["name"]) for each in entries if "name" in each), None)
    name = named or first.settings.model or "model"
    changed = _with_section(text or f"# {html.escape(name, quote=False)}\n", scores)
    changed = with_key(changed, "model-index", _index(entries, name, task, scores))
    if is_path:
        with whole_file(out or card) as temporary:
            Path(temporary).write_bytes(changed.encode())
    else:
        card.content = changed
    return changed


def _read(path: Path) -> str:
    # As bytes: reading as text would turn every line's ending into the same.
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else ""
    except (UnicodeDecodeError, OSError) as problem:
        raise InputError(f"{path} cannot be read as a card ({problem}): give a .md file") from None


def _index(
    entries: list[dict[str, Any]], name: str, task: str | None, scores: Mapping[str, Scores]
) -> list[dict[str, Any]]:
    """The model index with our results in place of those an earlier run put in."""
    kept = [{**each, "results": _others(each.get("results") or [])} for each in entries]
    mine = next((each for each in kept if each.get("name") == name), None)
    known = [result for each in kept for result in each["results"]]
    ours = _results(name, task or _task(known, scores), scores)
    if mine is None:
        return [*kept, {"name": name, "results": ours}]
    mine["results"] = [*mine["results"], *ours]
    return kept


def _others(results: list[Any]) -> list[Any]:
    """Results without the metrics we put in; those that held nothing else are dropped."""
    kept = []
    for result in results:
        metrics = result.get("metrics") if isinstance(result, dict) else None
        foreign = [each for each in metrics or [] if not _is_ours(each)]
        if metrics is None or foreign == metrics:
            kept.append(result)
        elif foreign:
            kept.append({**result, "metrics": foreign})
    return kept


def _is_ours(metric: Any) -> bool:
    arguments = metric.get("args") if isinstance(metric, dict) else None
    return isinstance(arguments, dict) and arguments.get("tool") == TOOL


def _task(results: list[Any], scores: Mapping[str, Scores]) -> str:
    """The task that is named in the card already, or the plainest that fits."""
    for result in results:
        if isinstance(result, dict) and isinstance(result.get("task"), dict):
            return str(result["task"].get("type"))
    kinds = {each.settings.kind for each in scores.values()}
    return "tabular-regression" if kinds == {"value"} else "tabular-classification"


def _results(name: str, task: str, scores: Mapping[str, Scores]) -> list[Any]:
    try:
        from huggingface_hub import EvalResult
        from huggingface_hub.repocard_data import eval_results_to_model_index
    except ImportError as error:
        raise MissingExtra("huggingface_hub", "card") from error
    found = [
        EvalResult(
            task_type=task,
            dataset_type=dataset,
            dataset_name=dataset,
            metric_type=each.metric,
            metric_value=each.mean,
            metric_name=f"mean {each.metric}",
            metric_config=f"radius {each.settings.radius:.4g}",
            metric_args={
                "tool": TOOL,
                **({"error": each.error} if math.isfinite(each.error) else {}),
                "points": len(each),
                "queries": each.queries,
                **each.settings.chosen(KEPT),
            },
        )
        for dataset, each in scores.items()
    ]
    results: list[Any] = eval_results_to_model_index(name, found)[0]["results"]
    return results


def _with_section(text: str, scores: Mapping[str, Scores]) -> str:
    """The text with its section replaced, or put at the end."""
    ending = "\r\n" if "\r\n" in text else "\n"
    section = "\n".join((START, *_section(scores), END)).replace("\n", ending)
    if SECTION.search(text):
        return SECTION.sub(lambda _: section, text, count=1)
    if START in text or END in text:
        raise InputError("the card has one of our two marks and not the other: remove it")
    gap = "" if text.endswith(("\n\n", "\r\n\r\n")) else ending * (1 if text.endswith("\n") else 2)
    return text + gap + section + ending


def _section(scores: Mapping[str, Scores]) -> list[str]:
    heads = ("data set", "mean gamma", "noise alone", "points", "queries", "radius", "output")
    rows = [_row(dataset, each) for dataset, each in scores.items()]
    return [
        "## How far from harmonic",
        "",
        "| " + " | ".join(heads) + " |",
        "|---|" + "---:|" * (len(heads) - 2) + "---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        "Gamma is the distance between a prediction and the mean of the predictions on a small",
        "sphere around the point: 0 where every prediction is the average of its neighbours, more",
        "where the model bends, jumps or memorises. It needs no labels. ± is one standard error;",
        "noise alone would make a model of gamma 0 read the third column. Compare only at equal",
        "radius, output and data.",
        "",
        "To measure it again:",
        "",
        "```",
        *(_command(dataset, each) for dataset, each in scores.items()),
        "```",
    ]


def _row(dataset: str, scores: Scores) -> tuple[str, ...]:
    known = scores.settings
    return (
        html.escape(" ".join(dataset.split()), quote=False).replace("|", "\\|"),
        str(Estimate(scores.mean, scores.error)),
        f"{scores.floor:.2g}",
        f"{len(scores):,}",
        f"{scores.queries:,}",
        f"{known.radius:.4g}",
        str(known.plain().get("kind", "–")),
    )


def _command(dataset: str, scores: Scores) -> str:
    known = arguments_of(scores)
    options: dict[str, object] = {
        "radius": known.get("radius"),
        "ball": known.get("ball"),
        "directions": known.get("directions"),
        "rotations": known.get("rotations"),
        "seed": known.get("seed"),
        "output": known.get("output"),
        "out": re.sub(r"[^\w.-]+", "-", dataset) + ".parquet",
    }
    if all(unit == 1 for unit in scores.settings.scale):
        options["scale"] = "raw"
    given = [(name, str(value)) for name, value in options.items() if value is not None]
    written = (f"--{name} {shlex.quote(value)}" for name, value in given)
    return " ".join(("anharmonic gamma --model MODEL --data DATA", *written))
