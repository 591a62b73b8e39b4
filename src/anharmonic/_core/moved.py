"""Modules that were public in 0.1.0 and have moved: importing one by its old name still works."""

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MOVED", "redirect"]

MOVED = {
    "baselines": "measures.baselines",
    "card": "report.card",
    "spectral": "measures.spectral",
    "stability": "measures.stability",
    "tracking": "report.tracking",
}


class _Redirect:
    """An import finder and loader that answers an old name with the module of the new one."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        old, _, inside = rest.partition(".")
        if package != "anharmonic" or old not in MOVED:
            return None
        new = ".".join(filter(None, (package, MOVED[old], inside)))
        return ModuleSpec(name, self, loader_state=new)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = str(spec.loader_state)
        warnings.warn(
            f"{spec.name} has moved: use ah.{spec.name.partition('.')[2]}, or import {new}",
            DeprecationWarning,
            stacklevel=2,
        )
        module = import_module(new)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # Importing wrote the old name's spec on the module, which has run already.
        module.__spec__ = self._spec


def redirect() -> None:
    """From now on, old names lead to where the modules are."""
    if not any(isinstance(finder, _Redirect) for finder in sys.meta_path):
        sys.meta_path.append(_Redirect())
