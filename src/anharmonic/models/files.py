"""Models kept in files, and names of Python objects: opened here, adapted elsewhere."""

from __future__ import annotations

import importlib
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from anharmonic._core.extras import needs
from anharmonic.errors import MissingExtra, ModelError, NotAModel, UntrustedFile, first_line

__all__ = ["ACCEPTED", "PICKLES", "is_attribute", "load", "load_attribute"]

ACCEPTED: Final = (
    "a function on arrays; a fitted scikit-learn, XGBoost, LightGBM or CatBoost model; a torch "
    "module; an ONNX session; http(s)://HOST/v2/models/NAME; models:/NAME/VERSION (MLflow); "
    "package.module:attribute; a file .onnx or .skops; with trust .joblib, .pkl, .ubj or .json "
    "(XGBoost), .txt (LightGBM), .cbm (CatBoost)"
)
PICKLES: Final = (".joblib", ".pkl", ".pickle", ".skops")
"""Files that name the modules of what they hold."""
NATIVE: Final = {".ubj": "XGBoost", ".json": "XGBoost", ".txt": "LightGBM", ".cbm": "CatBoost"}
"""Whose readers, in C++, damaged files have crashed: what crashes may also be made to run code."""
ATTRIBUTE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def load(path: Path, trust: bool) -> object:
    """Read the model in a file; one whose reading would run code only with `trust`."""
    if not path.is_file():
        raise NotAModel(f"There is no file {path}: check the path. Accepted: {ACCEPTED}.")
    ending = path.suffix.lower()
    read = READERS.get(ending)
    if read is None:
        raise NotAModel(f"{path} is no model file by its name. Accepted: {ACCEPTED}.")
    if ending in NATIVE and not trust:
        raise UntrustedFile(
            f"{path} is read by {NATIVE[ending]}'s own code, which a damaged file can crash and a "
            "hostile one might make do anything: if you made it or trust who did, say so with "
            "trust=True (--trust), or save the model as .onnx."
        )
    try:
        return read(path, trust)
    except ModelError:
        raise
    except ModuleNotFoundError as error:
        raise NotAModel(
            f"{path} needs {error.name}, which is not installed: install what the model was saved "
            "with."
        ) from error
    except Exception as error:  # every format fails on garbage in its own way
        raise NotAModel(
            f"{path} cannot be read as a {path.suffix} model ({first_line(error)}): save the "
            f"model again. Accepted: {ACCEPTED}."
        ) from error


def is_attribute(name: str) -> bool:
    """Whether a text is written as `package.module:attribute`."""
    return ATTRIBUTE.fullmatch(name) is not None


def load_attribute(name: str) -> object | None:
    """The object that `package.module:attribute` names; None if the text is no such name.

    >>> load_attribute("math:tau")
    6.283185307179586
    """
    if not is_attribute(name):
        return None
    module, _, attribute = name.partition(":")
    try:
        value: object = importlib.import_module(module)
    except Exception as error:  # importing runs the module, which may raise anything
        raise NotAModel(
            f"{name}: importing {module} failed ({type(error).__name__}: {error}). Check the name, "
            "and that the module can be imported from here."
        ) from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise NotAModel(f"{name}: {module} has no {attribute}. Check the name.")
        value = getattr(value, part)
    return value


def _read_pickle(path: Path, trust: bool) -> object:
    if not trust:
        raise UntrustedFile(
            f"{path} is a pickle, and opening a pickle runs whatever code it contains: if you made "
            "it or trust who did, say so with trust=True (--trust), or save the model as .skops "
            "or .onnx."
        )
    try:
        import joblib
    except ImportError as error:
        if path.suffix.lower() == ".joblib":
            raise MissingExtra("joblib", "sklearn") from error
        with path.open("rb") as file:
            return pickle.load(file)
    return joblib.load(path)


def _read_skops(path: Path, trust: bool) -> object:
    skops = needs("skops.io", "sklearn")
    unknown = skops.get_untrusted_types(file=path)
    if unknown and not trust:
        raise UntrustedFile(
            f"{path} contains types that may run code when opened: {', '.join(unknown)}. If you "
            "made it or trust who did, say so with trust=True (--trust)."
        )
    model: object = skops.load(path, trusted=unknown)
    return model


def _read_onnx(path: Path, trust: bool) -> object:
    from anharmonic.models.onnx import Graph

    graph = Graph(path)
    _ = graph.session  # opened here, so that a damaged file is refused as one
    return graph


def _read_xgboost(path: Path, trust: bool) -> object:
    booster: object = needs("xgboost", "xgboost").Booster(model_file=str(path))
    return booster


def _read_lightgbm(path: Path, trust: bool) -> object:
    booster: object = needs("lightgbm", "lightgbm").Booster(model_file=str(path))
    return booster


def _read_catboost(path: Path, trust: bool) -> object:
    model: object = needs("catboost", "catboost").CatBoost().load_model(str(path))
    return model


Reader = Callable[[Path, bool], object]

READERS: Final[Mapping[str, Reader]] = {
    ".onnx": _read_onnx,
    ".skops": _read_skops,
    ".joblib": _read_pickle,
    ".pkl": _read_pickle,
    ".pickle": _read_pickle,
    ".ubj": _read_xgboost,
    ".json": _read_xgboost,
    ".txt": _read_lightgbm,
    ".cbm": _read_catboost,
}
