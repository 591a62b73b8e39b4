"""What mkdocstrings is shown beside the source: signatures and docstrings as they are at run time.

Measures take `**setup` in the source; what it stands for is filled in when they are imported.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from griffe import Alias, Class, Extension, Function, Parameter, ParameterKind, Parameters

KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: ParameterKind.positional_only,
    inspect.Parameter.POSITIONAL_OR_KEYWORD: ParameterKind.positional_or_keyword,
    inspect.Parameter.VAR_POSITIONAL: ParameterKind.var_positional,
    inspect.Parameter.KEYWORD_ONLY: ParameterKind.keyword_only,
    inspect.Parameter.VAR_KEYWORD: ParameterKind.var_keyword,
}


class AsTheyAre(Extension):
    """Signatures that were filled in, and no constructor for protocols."""

    def on_class_members(self, *, cls: Class, **kwargs: Any) -> None:
        """Drop `typing`'s own constructor, which protocols come with."""
        constructor = cls.members.get("__init__")
        if isinstance(constructor, Alias) and constructor.target_path.startswith("typing."):
            del cls.members["__init__"]

    def on_function(self, *, func: Function, **kwargs: Any) -> None:
        """Take the signature and the docstring of the function that users call."""
        called = getattr(import_module(func.module.path), func.name, None)
        if not hasattr(called, "__signature__"):
            return
        signature = inspect.signature(called)
        func.parameters = Parameters(*map(_parameter, signature.parameters.values()))
        if called.__doc__ and func.docstring:
            func.docstring.value = inspect.cleandoc(called.__doc__)


def _parameter(parameter: inspect.Parameter) -> Parameter:
    bare = parameter.default is inspect.Parameter.empty
    named = getattr(parameter.default, "__name__", None)
    default = None if bare else named or repr(parameter.default)
    known = parameter.annotation is not inspect.Parameter.empty
    annotation = _annotation(parameter.annotation) if known else None
    return Parameter(
        parameter.name, annotation=annotation, kind=KINDS[parameter.kind], default=default
    )


def _annotation(annotation: object) -> str:
    """As it is written in the source: without modules' names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    for module in ("typing.", "collections.abc.", "numpy.", "builtins."):
        text = text.replace(module, "")
    return text
