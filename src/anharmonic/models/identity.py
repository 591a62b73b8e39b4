"""A hash of what a model is: its file, its code, its weights.

It is the same in another process and on another machine, as a pickle need not be: sets come in the
order of their hashes, the same text twice is written once or twice, tensors are written with their
addresses. So what a pickle would hold is walked here, part by part.
"""

from __future__ import annotations

import copyreg
import hashlib
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from anharmonic.models.named import NamedModel

__all__ = ["identity"]

PLAIN = (type(None), bool, int, float, complex, str, type(Ellipsis))
PIECE = 1 << 24
INSTALLED = ("site-packages", "dist-packages")


def identity(thing: object) -> str | None:
    """A hash that is the same for the same content; None where that cannot be told.

    Parameters
    ----------
    thing
        A model, or any argument of a measure.

    >>> identity(lambda x: x + 1) == identity(lambda x: x + 1) != identity(lambda x: x + 2)
    True
    """
    try:
        return _Walk().digest(thing).hex()
    except Exception:  # anybody's objects refuse to be looked at in ways of their own
        return None


class _Walk:
    """One look at a model; what was met before is not walked again."""

    def __init__(self) -> None:
        self.met: dict[int, bytes] = {}
        # What is met must not be replaced by something else at the same address.
        self.alive: list[object] = []

    def digest(self, thing: object) -> bytes:
        """A hash of anything."""
        if isinstance(thing, PLAIN):
            return _hash(type(thing).__name__, repr(thing))
        if id(thing) not in self.met:
            self.alive.append(thing)
            # What leads back to itself is known by the way to it.
            self.met[id(thing)] = _hash("met", str(len(self.met)))
            self.met[id(thing)] = self._of(thing)
        return self.met[id(thing)]

    def _of(self, thing: object) -> bytes:
        if isinstance(thing, NamedModel):
            return self._of_named(thing)
        if isinstance(thing, PurePath):
            return self._of_path(Path(thing))
        if isinstance(thing, bytes | bytearray):
            return _hash("bytes", thing)
        if isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
            return _hash("array", str(thing.dtype), str(thing.shape), _bytes_of(thing))
        if is_torch_array(thing):
            return self._of_tensor(thing)
        if isinstance(thing, list | tuple | np.ndarray):
            return _hash(type(thing).__name__, *map(self.digest, list(thing)))
        if isinstance(thing, set | frozenset):
            return _hash("set", *sorted(map(self.digest, thing)))
        if type(thing) is dict:
            return _hash(
                "dict", *map(self.digest, [part for pair in thing.items() for part in pair])
            )
        if isinstance(thing, CodeType):
            constants = map(self.digest, thing.co_consts)
            return _hash("code", thing.co_code, repr(thing.co_names), *constants)
        if isinstance(thing, FunctionType):
            return self._of_function(thing)
        if isinstance(thing, ModuleType | BuiltinFunctionType):
            return _hash("name", repr(getattr(thing, "__module__", "")), thing.__name__)
        return self._of_class(thing) if isinstance(thing, type) else self._of_object(thing)

    def _of_named(self, named: NamedModel) -> bytes:
        path = Path(named.source)
        held = self._of_path(path) if path.exists() else self.digest(named.model)
        return _hash("named", held, self.digest(named.output))

    def _of_path(self, path: Path) -> bytes:
        """What a file holds, or the files of a folder; a name of nothing is a name."""
        if path.is_file():
            facts = path.stat()
            return _of_file(path, facts.st_size, facts.st_mtime_ns)
        inside = sorted(part for part in path.rglob("*") if part.is_file())
        names = (_hash(str(part.relative_to(path)), self._of_path(part)) for part in inside)
        return _hash("folder", *names) if inside else _hash("path", str(path))

    def _of_tensor(self, tensor: Any) -> bytes:
        import torch

        whole = tensor.detach().cpu().contiguous()
        # Of any precision, those that numpy has not among them.
        numbers = whole.reshape(-1).view(torch.uint8).numpy() if whole.numel() else b""
        return _hash("tensor", str(whole.dtype), str(tuple(whole.shape)), numbers)

    def _of_function(self, function: FunctionType) -> bytes:
        cells = [_content(cell) for cell in function.__closure__ or ()]
        known = function.__globals__
        # Libraries are known by their versions: only the user's own code is followed.
        used = sorted(_names_in(function.__code__)) if _is_users(function) else []
        parts = [
            function.__code__,
            function.__defaults__,
            function.__kwdefaults__,
            *cells,
            *(known[name] for name in used if name in known),
        ]
        return _hash("function", *map(self.digest, parts))

    def _of_class(self, kind: type) -> bytes:
        name = _hash("class", kind.__module__, kind.__qualname__)
        if not _is_users(kind):
            return name
        methods = [
            getattr(value, "__func__", getattr(value, "fget", None) or value)
            for _, value in sorted(vars(kind).items())
        ]
        own = [method for method in methods if isinstance(method, FunctionType)]
        return _hash("class", name, *map(self.digest, [*kind.__bases__, *own]))

    def _of_object(self, thing: object) -> bytes:
        """What a pickle of an object would hold; its class where it does not say."""
        try:
            reduced = _reduced(thing)
        except Exception:  # sessions and locks refuse in ways of their own
            return _hash("object", self.digest(type(thing)))
        if isinstance(reduced, str):
            wrapped = getattr(thing, "__wrapped__", None)
            return _hash(
                "name", str(getattr(thing, "__module__", "")), reduced, self.digest(wrapped)
            )
        function, arguments, *rest = reduced
        state, listed, paired = (*rest, None, None, None)[:3]
        parts = [function, arguments, state, list(listed or ()), list(paired or ())]
        return _hash("object", *map(self.digest, parts))


@lru_cache(64)
def _of_file(path: Path, size: int, written: int) -> bytes:
    """A file's content; of gigabytes it takes seconds, and they are asked for twice."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.digest()


def _reduced(thing: object) -> Any:
    reduce: Callable[[Any], Any] | None = copyreg.dispatch_table.get(type(thing))
    return thing.__reduce_ex__(4) if reduce is None else reduce(thing)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _names_in(code: CodeType) -> set[str]:
    """Names that code may look up among its module's, that of functions in it too."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _is_users(thing: Any) -> bool:
    """Whether code is the user's own, and not a library's."""
    name = str(getattr(thing, "__module__", "") or "")
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names or root == "anharmonic":
        return False
    file = str(getattr(sys.modules.get(root), "__file__", None) or "")
    return not any(part in file for part in INSTALLED)


def _bytes_of(array: Any) -> Any:
    """An array's bytes, without a copy where it has any."""
    whole = np.ascontiguousarray(array).reshape(-1)
    return whole.view(np.uint8) if whole.nbytes else b""


def _hash(*parts: Any) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        # So that no part can be taken for the end of another.
        digest.update(f"{len(content)}:".encode())
        digest.update(content)
    return digest.digest()
