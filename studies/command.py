"""`python -m studies`, or `anharmonic reproduce`: the paper's tables and figures again."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from anharmonic.cli import run
from anharmonic.cli.groups import Json
from anharmonic.cli.output_files import claim
from anharmonic.cli.show import plain, printable, tell
from studies.page import Page, Section, prose

__all__ = ["STUDIES", "main", "reproduce"]


class Study(NamedTuple):
    """Where a study lives, what it shows, and the data it must be given."""

    place: str
    help: str
    data: str | None = None


DIGITS = "A folder of MNIST's idx files, and perhaps of a real run's results."

STUDIES = {
    "functions": Study("functions:known_functions", "Balls and functions with known answers."),
    "wine": Study(
        "splits:wine_splits", "The four Wine models over 20 splits: a minute on two cores."
    ),
    "grid": Study("grid:grid_size", "Gamma of the Wine models on ever finer grids."),
    "boundary": Study("boundary:boundary_length", "Gamma of labels is the length of the boundary."),
    "radius": Study(
        "radius:radius_dependence", "Gamma against the radius: when is the order steady?"
    ),
    "overfitting": Study(
        "overfitting.study:overfitting",
        "Gamma against the true generalisation gap: 12 data sets, some minutes on two cores.",
    ),
    "gamma-over-data": Study(
        "over_data.study:over_data",
        "Gamma over the data on 29 sets in two halves: overfitting, wrong labels, wrong answers.",
        "Measurements, as python -m studies.over_data.results makes them.",
    ),
    "tables": Study(
        "tables.study:mixed_tables",
        "Mixed tables: overfitting, and decisions that change when measured again.",
        "Measurements, as python -m studies.tables.results makes them.",
    ),
    "explainable": Study(
        "explainable.study:explainable",
        "Gamma against what explanations are worth: local lines, LIME, Shapley values.",
        "Measurements, as python -m studies.explainable.results makes them.",
    ),
    "standards": Study(
        "standards:standards_page",
        "Affine, convex, biharmonic and harmonic: which ranks models by how much they overfit?",
        "Measurements, as python -m studies.standards makes them.",
    ),
    "fraud": Study(
        "fraud:fraud",
        "Rare positives whose labels come late: what can be known before they come?",
        "Measurements, as python -m studies.fraud makes them.",
    ),
    "dimension": Study(
        "dimension:dimension",
        "Adversarial weakness against the dimension: digits at four sizes.",
        "Measurements, as python -m studies.dimension makes them.",
    ),
    "images-further": Study(
        "images.further.study:further_images",
        "Images, further: groups of classes, drift, maps, size, colour, adversarial inputs.",
        "A folder with images/ and images-further/ of kept measurements.",
    ),
    "dirichlet": Study(
        "dirichlet:minimal_interpolation", "Relax a boundary to a harmonic function."
    ),
    "spade": Study(
        "spade.study:spade_tables",
        "SPADE of networks of different robustness: reduced, some minutes on two cores.",
        data=DIGITS,
    ),
    "spade-training": Study(
        "spade_training.study:spade_training",
        "PGD training guided by SPADE, and a gamma penalty: reduced, some minutes on two cores.",
        data=DIGITS,
    ),
    "spade-clever": Study(
        "spade_clever:spade_clever",
        "CLEVER at the samples SPADE calls fragile, and at others: some minutes on two cores.",
        data=DIGITS,
    ),
    "spade-clever-networks": Study(
        "spade_cifar.clever:spade_clever_networks",
        "The same on other networks: MLP, CNN and a distilled CNN.",
        "A folder with spade-clever-networks.json, made by python -m studies.spade_cifar.clever.",
    ),
    "spade-theory": Study(
        "spade_theory.study:spade_theory",
        "SPADE's theorems and remarks, held against what networks for digits do.",
        "A folder with spade-theory.json, as python -m studies.spade_theory.measuring makes it.",
    ),
    "spade-cifar": Study(
        "spade.study:spade_cifar_tables",
        "SPADE of networks for CIFAR-10: a reduced run's measurements, and what a whole one needs.",
        "A folder with spade-cifar.json, as python -m studies.spade_cifar.results makes it.",
    ),
    "electricity": Study(
        "electricity:electricity",
        "A real stream that drifts, watched without labels: two minutes on two cores.",
        "The electricity market's table as CSV, with the label in the column class.",
    ),
    "llm-further": Study(
        "llm.further.study:further_answers",
        "Answers, further: ensembles, kinds of characters, likelihoods, made sets, ascents.",
        "A folder with llm/ and llm-further/ of kept scores.",
    ),
    "llm": Study(
        "llm.study:language",
        "Which answers of a language model to trust: a reduced run, or all from saved answers.",
        "A folder of scores, or with webquestions.jsonl, truthfulqa.csv and any answers.jsonl.gz.",
    ),
}

IMAGES = Study(
    "images.study:image_stability",
    "Which decisions about images last: from saved measurements, or on 20 photos in minutes.",
)

Seed = Annotated[int, typer.Option(min=0, help="Of all that is random.")]
Out = Annotated[Path | None, typer.Option(help="Write the page as Markdown into this folder.")]

reproduce = typer.Typer(
    no_args_is_help=True, help="Measure the paper's tables and figures again, with errors."
)


def _command(name: str, study: Study) -> Callable[..., None]:
    if study.data is None:

        def run(seed: Seed = 0, out: Out = None, as_json: Json = False) -> None:
            _run(name, study, seed, out, as_json)

        return run

    def run_on(
        data: Path,
        seed: Seed = 0,
        out: Out = None,
        as_json: Json = False,
    ) -> None:
        _run(name, study, seed, out, as_json, data)

    # Typer reads annotations where this function's own names are out of sight.
    run_on.__annotations__["data"] = Annotated[Path, typer.Option(exists=True, help=study.data)]
    return run_on


def _run(
    name: str,
    study: Study,
    seed: int,
    out: Path | None,
    as_json: bool,
    data: Path | None = None,
    model: str | None = None,
) -> None:
    claim(None if out is None else out / f"{name}.md", ())
    module, function = study.place.split(":")
    made = getattr(import_module(f"studies.{module}"), function)
    given = {"data": data, "model": model}
    needed = {name: each for name, each in given.items() if each is not None}
    with Console(stderr=True).status(f"{name} …") as status:
        page: Page = made(seed=seed, tell=lambda line: status.update(printable(line)), **needed)
    if out is not None:
        tell(f"written: {page.write(out)}")
    if as_json:
        print(json.dumps(plain(page.plain())))
    else:
        _show(page)


for _name, _study in STUDIES.items():
    reproduce.command(_name, help=_study.help)(_command(_name, _study))


@reproduce.command("images", help=IMAGES.help)
def images(
    data: Annotated[
        Path, typer.Option(exists=True, help="A folder of measurements (.npz), or of photos.")
    ],
    model: Annotated[
        str | None,
        typer.Option(help="For photos: a transformers folder or id, .onnx; EfficientNet-Lite0."),
    ] = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    _run("images", IMAGES, seed, out, as_json, data, model)


def main() -> None:
    """Run one study; an expected error is one line and exit code 1."""
    run(reproduce)


def _show(page: Page) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{printable(page.title)}[/]\n")
    console.print(f"The paper says: {printable(prose(page.claim))}\n", style="dim")
    for section in page.sections:
        if section.tabular:
            console.print(_table(section))
    for line in page.verdict:
        console.print(f"• {printable(prose(line))}")
    console.print(f"{page.queries:,} queries, seed {page.seed}", style="dim")


def _table(section: Section) -> Table:
    headings, cells = section.table()
    table = Table(title=printable(section.title))
    for heading in headings:
        words = heading in ("case", "paper", "remark")
        table.add_column(heading, justify="left" if words else "right")
    for line in cells:
        table.add_row(*(printable(cell) for cell in line))
    return table
