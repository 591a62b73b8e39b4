"""Programs of .ci as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
CI = ROOT / ".ci"


def program(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A program of .ci as a module, by its path without the ending."""
    path = CI / f"{name}.py"
    monkeypatch.syspath_prepend(path.parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module
