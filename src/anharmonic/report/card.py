"""Scores in a Hugging Face model card: metadata for machines, a section for people.

Everything happens in the file; nothing is sent anywhere.
"""

from __future__ import annotations

import html
import math
import os
import re
import shlex
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from anharmonic._core.estimate import Estimate
from anharmonic._core.files import write_text_whole
from anharmonic._core.settings import DRAWN
from anharmonic.auditing.result import Audit
from anharmonic.errors import InputError, MissingExtra
from anharmonic.measures.over_data.metric import DataSettings
from anharmonic.measures.over_data.suspicion import SUSPICION
from anharmonic.measures.remeasure import arguments_of
from anharmonic.report.frontmatter import read_key, with_key
from anharmonic.scores import Scores

if TYPE_CHECKING:
    from huggingface_hub import ModelCard

__all__ = ["add_audit_to_card", "add_to_card"]

TOOL = "anharmonic"
START = f"<!-- {TOOL}: start. What stands between these marks is replaced by the next run. -->"
END = f"<!-- {TOOL}: end -->"
AUDITED = (START.replace(f"{TOOL}:", f"{TOOL} audit:"), f"<!-- {TOOL} audit: end -->")
KEPT = (
    *("kind", "reduction", "radius", *DRAWN, "weights_options", "referenced", "reference_rows"),
    "fingerprint",
)
"""Settings that go into the metadata."""
SPHERES = (
    "Gamma is the distance between a prediction and the mean of the predictions on a small",
    "sphere around the point: 0 where every prediction is the average of its neighbours, more",
    "where the model bends, jumps or memorises. It needs no labels. ± is one standard error;",
    "noise alone would make a model of gamma 0 read the third column. Compare only at equal",
    "radius, output and data.",
)
"""What gamma on spheres means, for a reader of the card."""

Yaml = dict[str, object]
"""A mapping in the card's metadata, which people write and may get wrong."""


def add_to_card(
    card: str | os.PathLike[str] | ModelCard,
    scores: Mapping[str, Scores],
    *,
    model: str | None = None,
    task: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> str:
    """Put scores into a model card and return the card's new text.

    What an earlier run put in is replaced; everything else is kept.

    Parameters
    ----------
    card
        The path of a card, which is rewritten (or left as it is, when `out` names another file)
        and made where there is none; or a `huggingface_hub.ModelCard`, which is updated.
    scores
        By the name of their data set.
    model
        The model's name in the metadata; the card's own, or the scores', if not told.
    task
        Such as "tabular-classification".
    out
        Where the card is written, if not to its own path.
    """
    if not scores:
        raise InputError("there are no scores to put into the card: give NAME=SCORES")
    for dataset, measured in scores.items():
        if not measured.complete:
            raise InputError(f"the scores of {dataset} are unfinished: go on with --resume first")
    text = _read(Path(card)) if isinstance(card, str | os.PathLike) else str(card.content)
    entries = read_key(text, "model-index") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("the card's model-index is no list of models: mend it first")
    first = next(iter(scores.values()))
    named = (str(entry["name"]) for entry in entries if "name" in entry)
    name = model or next(named, None) or first.settings.model or "model"
    titled = text or f"# {html.escape(name, quote=False)}\n"
    changed = _with_section(titled, _section(scores), (START, END))
    changed = with_key(changed, "model-index", _index(entries, name, task, scores))
    if isinstance(card, str | os.PathLike):
        write_text_whole(out or card, changed)
    else:
        card.content = changed
    return changed


def add_audit_to_card(
    card: str | os.PathLike[str],
    audit: Audit,
    *,
    out: str | os.PathLike[str] | None = None,
) -> str:
    """Put an audit's findings into a model card as a section and return the card's new text.

    What an earlier audit put in is replaced; everything else is kept.

    Parameters
    ----------
    card
        The path of a card, which is rewritten, and made where there is none.
    audit
        From `audit`.
    out
        Where the card is written, if not to its own path.
    """
    text = _read(Path(card))
    name = html.escape(audit.model, quote=False)
    changed = _with_section(text or f"# {name}\n", _audited(audit), AUDITED)
    write_text_whole(out or card, changed)
    return changed


def _audited(audit: Audit) -> list[str]:
    """What an audit says, for a reader of the card."""
    rows = [
        f"| {finding.severity} | {_cell(finding.name)} | {_cell(finding.what)} "
        f"{_cell(finding.comparison)} | {_cell(finding.next_step)} |"
        for finding in audit.findings
    ]
    table = ["| severity | finding | what | next |", "|---|---|---|---|", *rows, ""] if rows else []
    done = [result.title for result in audit.checks if not result.skipped]
    return [
        "## Audit",
        "",
        _cell(audit.headline),
        "",
        *table,
        *textwrap.wrap(f"Checked: {', '.join(done)}. {audit.promise}", 90),
        f"{audit.queries:,} queries.",
    ]


def _cell(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|")


def _read(path: Path) -> str:
    # As bytes: reading as text would turn every line's ending into the same.
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else ""
    except (UnicodeDecodeError, OSError) as problem:
        raise InputError(f"{path} cannot be read as a card ({problem}): give a .md file") from None


def _index(
    entries: list[Yaml], name: str, task: str | None, scores: Mapping[str, Scores]
) -> list[Yaml]:
    """The model index with our results in place of those an earlier run put in."""
    others = [_others(cast("Iterable[object]", entry.get("results") or ())) for entry in entries]
    theirs = [result for results in others for result in results]
    ours = _results(name, task or _task(theirs, scores), scores)
    kept = [{**entry, "results": results} for entry, results in zip(entries, others, strict=True)]
    names = [entry.get("name") for entry in entries]
    if name not in names:
        return [*kept, {"name": name, "results": ours}]
    at = names.index(name)
    kept[at]["results"] = [*others[at], *ours]
    return kept


def _others(results: Iterable[object]) -> list[object]:
    """Results without the metrics we put in; those that held nothing else are dropped."""
    kept: list[object] = []
    for result in results:
        metrics = result.get("metrics") if isinstance(result, dict) else None
        foreign = [metric for metric in metrics or [] if not _is_ours(metric)]
        if not isinstance(result, dict) or metrics is None or foreign == metrics:
            kept.append(result)
        elif foreign:
            kept.append({**result, "metrics": foreign})
    return kept


def _is_ours(metric: object) -> bool:
    arguments = metric.get("args") if isinstance(metric, dict) else None
    return isinstance(arguments, dict) and arguments.get("tool") == TOOL


def _task(results: list[object], scores: Mapping[str, Scores]) -> str:
    """The task that is named in the card already, or the plainest that fits."""
    for result in results:
        if isinstance(result, dict) and isinstance(result.get("task"), dict):
            return str(result["task"].get("type"))
    kinds = {measured.settings.kind for measured in scores.values()}
    return "tabular-regression" if kinds == {"value"} else "tabular-classification"


def _results(name: str, task: str, scores: Mapping[str, Scores]) -> list[object]:
    try:
        from huggingface_hub import EvalResult
        from huggingface_hub.repocard_data import eval_results_to_model_index
    except ImportError as error:
        raise MissingExtra("huggingface_hub", "card") from error
    entries = [
        EvalResult(
            task_type=task,
            dataset_type=dataset,
            dataset_name=dataset,
            metric_type=measured.metric,
            metric_value=measured.mean,
            metric_name=f"mean {measured.metric}",
            metric_config=_neighbours(measured),
            metric_args={
                "tool": TOOL,
                **({"error": measured.error} if math.isfinite(measured.error) else {}),
                "points": len(measured),
                "queries": measured.queries,
                **_kept(measured),
            },
        )
        for dataset, measured in scores.items()
    ]
    results: list[object] = eval_results_to_model_index(name, entries)[0]["results"]
    return results


def _with_section(text: str, lines: Iterable[str], marks: tuple[str, str]) -> str:
    """The text with the section between two marks replaced, or put at the end."""
    ending = "\r\n" if "\r\n" in text else "\n"
    section = "\n".join((marks[0], *lines, marks[1])).replace("\n", ending)
    # What follows the first words of a mark may be another version's.
    begun = re.escape(marks[0].partition(" start")[0]) + " start"
    earlier = re.compile(rf"{begun}.*?-->.*?{re.escape(marks[1])}", re.S)
    if earlier.search(text):
        return earlier.sub(lambda _: section, text, count=1)
    if marks[0] in text or marks[1] in text:
        raise InputError("the card has one of our two marks and not the other: remove it")
    # A blank line before the section, which most texts do not end with.
    gap = "" if text.endswith(("\n\n", "\r\n\r\n")) else ending * (1 if text.endswith("\n") else 2)
    return text + gap + section + ending


def _neighbours(scores: Scores) -> str:
    """Where neighbours are: at a radius, or among other rows."""
    settings = scores.settings
    return f"radius {settings.radius:.4g}" if settings.moves else f"ball {settings.ball}"


def _kept(scores: Scores) -> dict[str, object]:
    """The settings that go into the metadata; pairs of names and values become a mapping."""
    kept = scores.settings.chosen(KEPT)
    if "weights_options" in kept:
        kept["weights_options"] = dict(kept["weights_options"])
    return kept


def _section(scores: Mapping[str, Scores]) -> list[str]:
    metrics = dict.fromkeys(measured.metric for measured in scores.values())
    # Rows of several measures stand in tables of their own.
    tables = [
        line
        for metric in metrics
        for line in _table(
            {name: measured for name, measured in scores.items() if measured.metric == metric}
        )
    ]
    return [
        "## How far from harmonic",
        "",
        *tables,
        "To measure it again:",
        "",
        "```",
        *(_command(dataset, measured) for dataset, measured in scores.items()),
        "```",
    ]


def _table(scores: Mapping[str, Scores]) -> list[str]:
    """The scores of one measure, and what they mean."""
    first = next(iter(scores.values()))
    where = "radius" if first.settings.moves else "other rows"
    heads = (
        "data set",
        f"mean {first.metric}",
        "noise alone",
        "points",
        "queries",
        where,
        "output",
    )
    rows = [_row(dataset, measured) for dataset, measured in scores.items()]
    return [
        "| " + " | ".join(heads) + " |",
        "|---|" + "---:|" * (len(heads) - 2) + "---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        *(SPHERES if first.settings.moves else textwrap.wrap(" ".join(_words(first)), 90)),
        "",
    ]


def _words(scores: Scores) -> tuple[str, ...]:
    """What values of a measure over data mean, for a reader of the card."""
    return (*scores.about.reading, "± is one standard error.")


def _row(dataset: str, scores: Scores) -> tuple[str, ...]:
    settings = scores.settings
    return (
        _cell(dataset),
        str(Estimate(scores.mean, scores.error)),
        f"{scores.floor:.2g}",
        f"{len(scores):,}",
        f"{scores.queries:,}",
        f"{settings.radius:.4g}" if settings.moves else settings.ball,
        str(settings.plain().get("kind", "–")),
    )


def _command(dataset: str, scores: Scores) -> str:
    """The line that measures again."""
    if isinstance(scores.settings, DataSettings):
        return _command_over_data(dataset, scores.metric, scores.settings)
    arguments = arguments_of(scores)
    options: dict[str, object] = {name: arguments.get(name) for name in ("radius", *DRAWN)}
    options["output"] = arguments.get("output")
    options["out"] = _file(dataset)
    if all(unit == 1 for unit in scores.settings.scale):
        options["scale"] = "raw"
    texts = {name: str(value) for name, value in options.items() if value is not None}
    written = (f"--{name} {shlex.quote(text)}" for name, text in texts.items())
    return " ".join(("anharmonic gamma --model MODEL --data DATA", *written))


def _command_over_data(dataset: str, metric: str, settings: DataSettings) -> str:
    """The same where other rows take the place of a sphere."""
    if metric == SUSPICION.name:
        words = ["anharmonic suspects MODEL --data DATA", f"--weights {settings.weights}"]
    elif settings.knows("model"):
        words = ["anharmonic gamma MODEL --data DATA", f"--ball {shlex.quote(settings.ball)}"]
    else:
        words = [
            "anharmonic gamma recorded --data DATA --outputs COLUMNS",
            f"--weights {settings.weights}",
        ]
    if settings.referenced:
        words.append("--reference REFERENCE")
    return " ".join([*words, f"--seed {settings.seed}", f"--out {_file(dataset)}"])


def _file(dataset: str) -> str:
    return re.sub(r"[^\w.-]+", "-", dataset) + ".parquet"
