"""Which of this package's requirements are installed, and whether their versions fit.

Everything is read from the metadata that pip reads, so that this cannot disagree with it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Final, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

__all__ = ["DEVELOPMENT", "PURPOSES", "Extra", "Package", "core", "extras", "python_fits"]

PROJECT: Final = "anharmonic"
State = Literal["ready", "in part", "does not fit", "not installed"]

PURPOSES: Final = {
    "all": "everything below",
    "card": "model cards: anharmonic card",
    "catboost": "CatBoost models",
    "gguf": "language models from a .gguf file",
    "images": "image classifiers and folders of images",
    "lightgbm": "LightGBM models",
    "lightning": "logging gamma while Lightning trains",
    "llm": "language models: anharmonic llm score, search, serve",
    "minilm": "the sentence embedder of anharmonic llm",
    "mlflow": "MLflow models, and logging to MLflow",
    "monitor": "river's detectors beside the monitor's own",
    "onnx": "ONNX models",
    "plots": "pictures: PNG and SVG also need a browser",
    "postgres": "anharmonic serve with PostgreSQL",
    "ray": "--engine ray: more than one machine",
    "remote": "models behind a v2 server's URL",
    "report": "pages: report, and --html, --report and --out page.html elsewhere",
    "sentences": "embedders of sentence-transformers",
    "service": "anharmonic serve: the monitor over HTTP, with a live page",
    "sklearn": "scikit-learn models, pandas frames, demo, suspects",
    "spade": "SPADE of many points, quickly",
    "stores": "data in object stores that pyarrow does not know itself",
    "torch": "torch models, gradients, GPUs, training",
    "transformers": "language models of transformers on this machine",
    "xgboost": "XGBoost models",
}
"""What each extra is for, in a line."""

DEVELOPMENT: Final = frozenset({"docs", "release", "studies", "test"})
"""Extras for work on this package itself."""

STAND_INS: Final = {
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml"),
    "xgboost": ("xgboost-cpu",),
}
"""Distributions that hold the same modules under another name."""


@dataclass(frozen=True)
class Package:
    """A requirement, and what is installed of it.

    Parameters
    ----------
    name
        As pip knows it.
    needed
        Versions that fit, such as ">=2.0".
    installed
        The version that is there, or None.
    """

    name: str
    needed: str
    installed: str | None

    @property
    def fits(self) -> bool:
        """Whether it is there, in a version that fits."""
        if self.installed is None:
            return False
        return SpecifierSet(self.needed).contains(self.installed, prereleases=True)


@dataclass(frozen=True)
class Extra:
    """An optional part: its name, what it is for, and its packages."""

    name: str
    purpose: str
    packages: tuple[Package, ...]

    @property
    def state(self) -> State:
        """Whether it can be used, and if not, why."""
        present = [package for package in self.packages if package.installed is not None]
        if any(not package.fits for package in present):
            return "does not fit"
        if len(present) == len(self.packages):
            return "ready"
        return "in part" if present else "not installed"

    @property
    def command(self) -> str:
        """What installs or repairs it."""
        return f"pip install --upgrade '{PROJECT}[{self.name}]'"


def core() -> tuple[Package, ...]:
    """What every use needs.

    >>> all(package.fits for package in core())
    True
    """
    return _packages(_requirements(), None)


def extras() -> dict[str, Extra]:
    """Every extra by its name, but those for work on this package itself.

    >>> sorted(package.name for package in extras()["report"].packages)
    ['jinja2', 'kaleido', 'plotly']
    """
    names = metadata.metadata(PROJECT).get_all("Provides-Extra") or []
    requirements = _requirements()
    return {
        name: Extra(name, PURPOSES.get(name, ""), _packages(requirements, name))
        for name in sorted(names)
        if name not in DEVELOPMENT
    }


def python_fits() -> tuple[str, str, bool]:
    """The version of Python, those that fit, and whether it does."""
    version = ".".join(str(number) for number in sys.version_info[:3])
    needed = metadata.metadata(PROJECT)["Requires-Python"]
    return version, needed, SpecifierSet(needed).contains(version)


def _requirements() -> list[Requirement]:
    return [Requirement(line) for line in metadata.requires(PROJECT) or []]


def _packages(requirements: list[Requirement], extra: str | None) -> tuple[Package, ...]:
    """The packages of one extra, or without one those of the core; extras of extras opened."""
    environment = {"extra": extra or ""}
    packages: dict[str, Package] = {}
    for requirement in requirements:
        if not _belongs(requirement, environment):
            continue
        if requirement.name == PROJECT:
            for name in sorted(requirement.extras):
                packages |= {inner.name: inner for inner in _packages(requirements, name)}
        else:
            packages[requirement.name] = _package(requirement)
    return tuple(packages.values())


def _belongs(requirement: Requirement, environment: Mapping[str, str]) -> bool:
    """Whether this extra, and nothing else, asks for it."""
    if requirement.marker is None:
        return not environment["extra"]
    asked = requirement.marker.evaluate(dict(environment))
    return asked and not (environment["extra"] and requirement.marker.evaluate({"extra": ""}))


def _package(requirement: Requirement) -> Package:
    needed = str(requirement.specifier)
    for name in (requirement.name, *STAND_INS.get(requirement.name, ())):
        try:
            return Package(name, needed, metadata.version(name))
        except metadata.PackageNotFoundError:
            continue
    return Package(requirement.name, needed, None)
