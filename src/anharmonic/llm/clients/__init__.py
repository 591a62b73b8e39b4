"""Who answers: a server, a file, a pipeline or a function, all behind one method."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

from anharmonic.errors import NotAModel, SettingsError
from anharmonic.llm.clients.endpoint import Endpoint, key_variable
from anharmonic.llm.clients.local import Function, LocalServer, Pipeline
from anharmonic.llm.types import Client

__all__ = [
    "Endpoint",
    "Function",
    "LocalServer",
    "Pipeline",
    "as_client",
    "borrowed",
    "imported",
    "is_function",
    "samples",
]


def as_client(
    source: object,
    *,
    url: str | None = None,
    key: str | None = None,
    concurrency: int | None = None,
    timeout: float = 60.0,
    retries: int = 5,
    threads: int | None = None,
) -> Client:
    """The client that `source` stands for.

    Parameters
    ----------
    source
        A client or a function from text to text; "module:function"; a .gguf file, run on this
        machine; "hf:NAME" or a Hugging Face pipeline; any other text is a model's name at `url`,
        or at OPENAI_BASE_URL, or at OpenAI.
    url
        An OpenAI-compatible server's address, such as http://localhost:8000/v1.
    key
        The name of the environment variable that holds the server's key.
    concurrency
        Calls at once: if not given, 8 to a server, 1 to a function, which may not bear more.
    timeout
        Seconds for one answer.
    retries
        How often a failed call is tried again.
    threads
        For a .gguf file: how many compute an answer, as many as there are idle processors if
        not given.

    Examples
    --------
    >>> as_client(str.upper, concurrency=2).name
    'builtins:str.upper'
    """
    if not isinstance(source, str | os.PathLike):
        return _wrapped(source, concurrency)
    text = os.fspath(source)
    if text.endswith(".gguf"):
        longest = max(timeout, 600.0)
        return LocalServer(text, parallel=concurrency or 1, threads=threads, timeout=longest)
    if text.startswith("hf:"):
        return Pipeline(text.removeprefix("hf:"))
    address = url or os.environ.get("OPENAI_BASE_URL")
    if is_function(text, url):
        return Function(imported(text), name=text, concurrency=concurrency or 1)
    address = address or "https://api.openai.com/v1"
    if url is None and not os.environ.get(key_variable(address, key)):
        raise SettingsError(
            f"{text} is taken for a model at {_host(address)}, but the environment variable "
            f"{key_variable(address, key)} holds no key: set it, or give the server's address"
        )
    return Endpoint(
        address, text, key=key, concurrency=concurrency or 8, timeout=timeout, retries=retries
    )


@contextmanager
def borrowed(source: object) -> Iterator[Client]:
    """The client that `source` stands for, closed at the end if it was made here."""
    client = as_client(source)
    try:
        yield client
    finally:
        if client is not source:
            getattr(client, "close", lambda: None)()


def samples(client: Client) -> bool:
    """Whether a client heeds a temperature; a function of the prompt alone cannot."""
    return bool(getattr(client, "samples", True))


def is_function(text: str, url: str | None) -> bool:
    """Whether a text that names a model is taken for "module:function"."""
    elsewhere = url or os.environ.get("OPENAI_BASE_URL")
    known = text.endswith(".gguf") or text.startswith("hf:")
    return elsewhere is None and not known and ":" in text and "/" not in text


def imported(text: str) -> Callable[..., Any]:
    """The function that "module:function" names."""
    module, _, name = text.partition(":")
    try:
        target: Any = import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError, ValueError) as problem:
        raise NotAModel(f"{text} cannot be imported ({problem}): write module:function") from None
    if not callable(target):
        raise NotAModel(f"{text} is no function: write module:function")
    return target  # type: ignore[no-any-return]


def _wrapped(source: object, concurrency: int | None) -> Client:
    """An object as a client, by the attributes it has."""
    if hasattr(source, "answers") and hasattr(source, "name"):
        return cast(Client, source)
    if hasattr(source, "tokenizer") and hasattr(source, "model"):
        return Pipeline(source)
    if callable(source):
        return Function(source, concurrency=concurrency or 1)
    raise NotAModel(
        f"{type(source).__name__} answers nothing: give a function, a client, a pipeline, "
        "a .gguf file or a model's name with its server's address"
    )


def _host(address: str) -> str:
    return address.split("@")[-1]
