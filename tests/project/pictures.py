"""Pictures of pages in the docs, taken from the real thing: `python -m tests.project.pictures`.

Each file keeps, as a text of its own, the words that stand in the picture, without numbers.
`test_pictures.py` makes the pages again and looks whether they begin with these words, so that no
picture stays of a page that is no more; how far down they reach depends on fonts.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
WIDTH, SHRUNK = 1080, 0.8
DRAWN = "html[data-drawn=all]"

WORDS = """(height) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const words = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest("svg, script, style")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const place = range.getBoundingClientRect();
    if (height !== null && place.bottom >= height) break;
    if (place.width) words.push(node.data);
  }
  return words.join(" ");
}"""
"""A page's words down to a height, or all; those in drawings depend on fonts, and are left out."""


class Picture(NamedTuple):
    """A page, how much of it is shown, and what is there once it is drawn."""

    write: Callable[[Path], Path]
    height: int
    ready: str = "body"


def write_report(folder: Path) -> Path:
    """Four models of breast cancer, compared with their accuracy beside gamma."""
    rows, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    models: dict[str, Any] = {
        "linear": make_pipeline(StandardScaler(), LogisticRegression()),
        "boosted": HistGradientBoostingClassifier(random_state=0),
        "forest": RandomForestClassifier(random_state=0),
        "tree": DecisionTreeClassifier(random_state=0),
    }
    for model in models.values():
        model.fit(rows[:400], labels[:400])
    compared = ah.compare(models, rows[400:], reference=rows[:400], labels=labels[400:])
    title = "Four models of breast cancer"
    return ah.report.write(folder / "report.html", compared, points=rows[400:], title=title)


def write_audit(folder: Path) -> Path:
    """A tree that memorised its customers, met by a town that it never saw."""
    random = np.random.default_rng(0)
    customers = pd.DataFrame(
        {
            "age": random.integers(18, 80, 900),
            "income": random.lognormal(10, 0.5, 900).round(),
            "town": random.choice(["Ulm", "Bonn", "Kiel"], 900),
        }
    )
    chance = 1 / (1 + np.exp((customers["age"] - 45) / 8))
    left = np.where(random.random(900) < chance, "left", "stayed")
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough"
    )
    tree = make_pipeline(encoder, DecisionTreeClassifier(random_state=0))
    train, new = customers[:600], customers[600:].copy()
    tree.fit(train, left[:600])
    new.iloc[:40, 2] = "Rom"
    audit = ah.audit(tree, new, reference=train, reference_labels=left[:600], seed=0)
    return ah.report.write_audit(folder / "audit.html", audit, title="A tree and its customers")


PICTURES = {
    "page": Picture(write_report, 1340, DRAWN),
    "report": Picture(write_report, 1900, DRAWN),
    "audit": Picture(write_audit, 1250),
}


def take(browser: Any, picture: Picture, folder: Path) -> tuple[bytes, str, str]:
    """The upper part of a page as a picture, the words in it, and all words of the page."""
    size = {"width": WIDTH, "height": picture.height}
    view = browser.new_page(viewport=size, device_scale_factor=SHRUNK, color_scheme="light")
    try:
        view.goto(picture.write(folder).as_uri())
        view.wait_for_selector(picture.ready, state="attached")
        shown, every = (
            without_numbers(view.evaluate(WORDS, height)) for height in (picture.height, None)
        )
        return view.screenshot(), shown, every
    finally:
        view.close()


def without_numbers(words: str) -> str:
    """Words with every number as #: versions of libraries move last digits, and days pass."""
    return re.sub(r"\s+", " ", re.sub(r"\d[\d.,\u2009-]*\d|\d", "#", words)).strip()


def kept_words(name: str) -> str:
    """The words that stood on the page when its picture was taken."""
    with Image.open(FOLDER / f"{name}.png") as image:
        return str(image.info["words"])


def main() -> int:
    """Take all pictures anew."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, picture in PICTURES.items():
            pixels, words, _ = take(browser, picture, Path(folder))
            text = PngInfo()
            text.add_itxt("words", words)
            path = FOLDER / f"{name}.png"
            Image.open(BytesIO(pixels)).convert("RGB").save(path, pnginfo=text, optimize=True)
            print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
