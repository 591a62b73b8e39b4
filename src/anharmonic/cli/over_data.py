"""What commands over data share: `--ball data`, and options that mean nothing there."""

from __future__ import annotations

from typing import Annotated

import typer

from anharmonic.errors import SettingsError

__all__ = ["SPHERES_ALONE", "Weights", "measures_rows"]

Weights = Annotated[
    str,
    typer.Option(help="What makes other rows neighbours: auto, forest, neighbours or boosted."),
]
SPHERES_ALONE = (
    *("radius", "directions", "rotations", "scale", "bounds", "budget", "tolerance", "noise"),
    *("resume", "keep", "sweeping", "searching", "threads", "processes"),
    *("stream", "key", "sample", "fresh", "engine", "address", "actors", "gpus"),
)
"""Options of a sphere, or of a run so long that it is kept on the way."""


def measures_rows(context: typer.Context, ball: str | None) -> bool:
    """Whether a ball is "data", or that with the name of weights behind it.

    If so, whatever was typed and means nothing there is refused, before any work.

    Parameters
    ----------
    context
        The command's own, which knows what was typed.
    ball
        What `--ball` says.
    """
    if ball is None or ball.split(" ")[0] != "data":
        return False
    from anharmonic.measures.over_data.weights import chosen_weights

    chosen_weights(ball.removeprefix("data").strip() or "auto")
    refuse_typed(context, f"--ball {ball}", SPHERES_ALONE)
    return True


def refuse_typed(context: typer.Context, where: str, names: tuple[str, ...]) -> None:
    """Refuse options that were typed, in one line that names them all."""
    typed = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names and _is_typed(context, parameter.name)
    ]
    if typed:
        raise SettingsError(
            f"{', '.join(typed)}: nothing moves with {where}, and the model is asked once per "
            f"row: leave {'it' if len(typed) == 1 else 'them'} out"
        )


def _is_typed(context: typer.Context, name: str | None) -> bool:
    source = None if name is None else context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
