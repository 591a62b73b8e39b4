"""Optional libraries: imported where they are needed, with an error that names the extra."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from anharmonic.errors import MissingExtra

__all__ = ["needs", "require"]

LIBRARIES = {"plots": ("plotly",), "report": ("plotly", "jinja2")}

DISTRIBUTIONS: Final = {
    "PIL": "pillow",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
}
"""What to call a package that is installed by another name than it is imported by."""


def needs(module: str, extra: str) -> ModuleType:
    """Import an optional module; where it is missing, the error names the extra to install.

    Call it for its check alone before a plain import, where the module's types matter.

    Parameters
    ----------
    module
        As it is imported: "httpx", "skops.io".
    extra
        Of this package that installs it: "remote".

    >>> needs("json", "remote").dumps([1])
    '[1]'
    >>> needs("no_such_module", "remote")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    anharmonic.errors.MissingExtra: no_such_module is needed here and is not installed
    """
    try:
        return import_module(module)
    except ImportError as problem:
        library = module.partition(".")[0]
        raise MissingExtra(DISTRIBUTIONS.get(library, library), extra) from problem


def require(extra: str) -> None:
    """Refuse, before any work, what needs an extra that is not installed.

    >>> require("report")
    """
    missing = [library for library in LIBRARIES[extra] if find_spec(library) is None]
    if missing:
        raise MissingExtra(" and ".join(missing), extra)
