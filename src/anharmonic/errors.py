"""What can go wrong, and what to do about it.

    AnharmonicError
    ├── InputError            what was handed over cannot be measured
    │   ├── PointsError         the data: empty, not finite, constant, wrong shape
    │   ├── SettingsError       an argument: radius, ball, budget, output, …
    │   ├── Disconnected        a graph is in parts, and joining them was declined
    │   └── NotConverged        an eigenvalue is not known well enough to be shown
    └── ModelError            the model, or what it answered; `.partial` keeps what was done
        ├── NotAModel           this object or file is no model we know
        ├── MissingExtra        the library that reads it is not installed
        ├── UntrustedFile       reading it would run code; say that you trust it
        ├── OutputError         wrong number of rows, NaN, text instead of numbers
        ├── NoGradient          gradients were asked for and the model has none to give
        ├── NoisyModel          two identical calls differ, and noise was refused
        ├── DeviceFull          a call needs more memory than the device has
        ├── RemoteError         a server timed out, failed or answered nonsense
        ├── TrainingStopped     the loss is no number any more; the last good checkpoint is kept
        └── MeasurementStopped  the model itself raised

Every message ends with the next step. `except ah.AnharmonicError` catches them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AnharmonicError",
    "DeviceFull",
    "Disconnected",
    "InputError",
    "MeasurementStopped",
    "MissingExtra",
    "ModelError",
    "NoGradient",
    "NoisyModel",
    "NotAModel",
    "NotConverged",
    "OutputError",
    "PointsError",
    "RemoteError",
    "SettingsError",
    "TrainingStopped",
    "UntrustedFile",
]


class AnharmonicError(Exception):
    """Anything this package raises on purpose."""


class InputError(AnharmonicError, ValueError):
    """What was handed over cannot be measured."""


class PointsError(InputError):
    """The data cannot be measured as it is."""


class SettingsError(InputError):
    """An argument has no meaning here."""


class Disconnected(InputError):
    """A graph of neighbours is in parts, and joining them was declined."""


class NotConverged(InputError, ArithmeticError):
    """An eigenvalue is not known well enough to be shown."""


class ModelError(AnharmonicError):
    """The model, or what it answered; raised midway, `partial` holds the scores made so far."""

    partial: Any = None


class NotAModel(ModelError, TypeError):
    """The object or file is no model we recognise."""


class MissingExtra(ModelError, ImportError):
    """A library is needed that the core install does not bring.

    Parameters
    ----------
    library
        As pip knows it.
    extra
        Of this package, that installs it.
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(library, extra)

    def __str__(self) -> str:
        library, extra = self.args
        return f"{library} is needed here and is not installed: pip install 'anharmonic[{extra}]'"


class UntrustedFile(ModelError, PermissionError):
    """Reading the file would run code it contains."""


class OutputError(ModelError, ValueError):
    """The model's answer cannot be used; `rows` are those it gave no number at or near."""

    rows: Sequence[int] = ()


class NoGradient(ModelError, TypeError):
    """Gradients were asked for and the model has none to give."""


class NoisyModel(ModelError):
    """The model gives different outputs for identical points."""


class DeviceFull(ModelError, MemoryError):
    """The device has too little memory for a call; smaller calls are tried before this is seen."""


class RemoteError(ModelError, ConnectionError):
    """A model server did not answer as it should."""


class TrainingStopped(ModelError, ArithmeticError):
    """The loss became NaN or infinite at `step`; `checkpoint` is the last file before it."""

    step: int = 0
    checkpoint: Any = None


class MeasurementStopped(ModelError, RuntimeError):
    """The model raised an exception of its own. Give `partial` back as `resume=` to go on.

    Parameters
    ----------
    happened
        What stopped the measurement.
    advice
        The next step.
    """

    def __init__(self, happened: str, advice: str = "mend it, or give it other points") -> None:
        super().__init__(happened, advice)

    def __str__(self) -> str:
        return ": ".join(self.args)

    @classmethod
    def because(
        cls, problem: BaseException, rows: Sequence[int] = (), hint: str = ""
    ) -> MeasurementStopped:
        """The model's own exception, in words, the rows of the call it was raised in, a hint."""
        where = f" (in a call about rows {listed(rows, 10)})" if len(rows) else ""
        more = f". {hint}" if hint else ""
        return cls(f"the model raised {type(problem).__name__}: {problem}{where}{more}")


def first_line(problem: BaseException) -> str:
    """What an error of somebody else's says, its first line or its kind."""
    return (str(problem).splitlines() or [type(problem).__name__])[0]


def listed(rows: Sequence[object], most: int = 5) -> str:
    """Name a few rows or columns.

    >>> listed([3, 8, 12, 20], most=2)
    '3, 8 … (4 in all)'
    """
    shown = ", ".join(str(row) for row in rows[:most])
    return shown if len(rows) <= most else f"{shown} … ({len(rows)} in all)"
