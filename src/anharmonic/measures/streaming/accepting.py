"""Measures that take a source in place of points."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from anharmonic._core.protocols import Map
from anharmonic.errors import SettingsError
from anharmonic.measures.streaming.on_sample import Preparing
from anharmonic.measures.streaming.running import stream
from anharmonic.measures.streaming.stored import StoredScores
from anharmonic.sources import Source

__all__ = ["takes_source"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result", covariant=True)


class OverSources(Protocol[Parameters, Result]):
    """A measure of points in memory that measures sources too."""

    @overload
    def __call__(
        self, model: object, points: Source, *args: Parameters.args, **named: Parameters.kwargs
    ) -> StoredScores: ...
    @overload
    def __call__(
        self, model: object, points: object, *args: Parameters.args, **named: Parameters.kwargs
    ) -> Result: ...


def takes_source(
    preparing: Callable[[Callable[..., Any]], Preparing],
    *,
    numbers: bool = False,
    without: tuple[str, ...] = (),
) -> Callable[
    [Callable[Concatenate[object, object, Parameters], Result]], OverSources[Parameters, Result]
]:
    """A decorator: a measure of points in memory that takes a `sources.Source` too.

    Parameters
    ----------
    preparing
        From the measure to what makes, of a setup and the measure's arguments, a measure of rows.
    numbers
        Whether only numbers move.
    without
        Arguments that need all rows at once: refused for a source.

    The measure's signature has `engine`, `out` and `fresh`, which it leaves to this.
    """

    def decorate(
        measure: Callable[Concatenate[object, object, Parameters], Result],
    ) -> OverSources[Parameters, Result]:
        signature = inspect.signature(measure)
        hands_on = "map" in signature.parameters

        @wraps(measure)
        def over_sources(*args: Any, **named: Any) -> Any:
            points = args[1] if len(args) > 1 else named.get("points")
            if isinstance(points, Source):
                return _stream(over_sources, signature.bind(*args, **named).arguments)
            if named.pop("out", None) is not None or named.pop("fresh", False):
                raise SettingsError(
                    "out= and fresh= are for sources (ah.sources.files): save this with .save"
                )
            engine = named.pop("engine", None)
            if engine is not None:
                if not hands_on:
                    raise SettingsError(
                        "engine= is for sources here: give the rows as ah.sources.files(…)"
                    )
                named["map"] = engine
            return measure(*args, **named)

        def _stream(decorated: Callable[..., Any], bound: Mapping[str, Any]) -> StoredScores:
            arguments = {**bound}
            arguments |= arguments.pop("setup", {}) | arguments.pop("arguments", {})
            for name in (*without, "resume", "checkpoint"):
                if arguments.pop(name, None) is not None:
                    raise SettingsError(_instead(name))
            model, source = arguments.pop("model"), arguments.pop("points")
            engine, map = arguments.pop("engine", None), arguments.pop("map", None)
            running = {
                name: arguments.pop(name)
                for name in ("out", "fresh", "progress")
                if name in arguments
            }
            return stream(
                model,
                source,
                preparing(decorated),
                arguments,
                engine=engine or map or _in_order,
                numbers=numbers,
                **running,
            )

        # So that a frame can be scored by what scores a source: see `scorer`.
        setattr(over_sources, "preparing", preparing)  # noqa: B010
        return over_sources

    return decorate


_in_order: Map = map


def _instead(name: str) -> str:
    reasons = {
        "resume": "a source's run goes on by itself when it is started again with the same out=",
        "checkpoint": "a source's run keeps what is finished in the folder out=",
        "budget": "a budget is spent where the error is largest, which takes all rows at once: "
        "give rotations= or tolerance=",
        "guide": "a guide has a number for each of the points in memory",
        "count": "give sample= to the source instead",
    }
    return f"{name}= is not for sources: {reasons.get(name, 'it takes all rows at once')}"
