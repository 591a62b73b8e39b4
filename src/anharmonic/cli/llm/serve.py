"""`anharmonic llm serve`: a gateway that scores what passes."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from anharmonic.cli.address import require_free
from anharmonic.cli.groups import grouped
from anharmonic.cli.llm.groups import GammaOptions
from anharmonic.cli.show import plain, tell
from anharmonic.errors import MissingExtra, SettingsError
from anharmonic.llm.clients import Endpoint
from anharmonic.llm.clients.endpoint import key_variable
from anharmonic.llm.perturb import settled
from anharmonic.llm.recipe import Recipe
from anharmonic.serve.http import ConnectionLimiter, bounded_protocol, open_files
from anharmonic.serve.llm.drift import ChatWatch, quiet_time, way_of_measuring
from anharmonic.serve.llm.gateway import LOOPBACK, Allowance, Entrance, Gateway, Policy, ScoreFile
from anharmonic.serve.llm.scorer import ChatScore, Scorer

__all__ = ["serve_command"]

TOKEN = "ANHARMONIC_GATEWAY_TOKEN"
CONNECTIONS = 1000
STOP_WITHIN = 5
"""Seconds for requests under way when stopped; scoring has a few more of its own."""


@grouped
def serve_command(
    measure: GammaOptions,
    url: Annotated[str, typer.Argument(help="The server behind, such as https://host/v1.")],
    key: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE", help="The environment variable that holds the server's key."
        ),
    ] = None,
    token: Annotated[
        str,
        typer.Option(
            metavar="VARIABLE",
            help="The environment variable that holds the token clients must show.",
        ),
    ] = TOKEN,
    host: Annotated[str, typer.Option(help="Elsewhere than here needs a token.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where it listens; 0: any that is free.")
    ] = 8711,
    path: Annotated[
        list[str] | None, typer.Option(help="A further path to post to, such as /v1/rerank.")
    ] = None,
    share: Annotated[float, typer.Option(min=0, max=1, help="Of the chats that are scored.")] = 0.1,
    budget: Annotated[
        str, typer.Option(help='Scoring calls: "10000 per day", "10000" in all, or none.')
    ] = "10000 per day",
    asked: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Of the budget, what clients may spend by asking for a score."
        ),
    ] = 0.5,
    flag_above: Annotated[
        float | None, typer.Option(help="Mark answers of a larger gamma, in a header.")
    ] = None,
    withhold_above: Annotated[
        float | None, typer.Option(help="Answer with a refusal instead above this gamma.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Append each score here, as JSON.")] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="A run of llm score, or a file of --out, from a quiet time: watch gamma."
        ),
    ] = None,
    false_alarms: Annotated[
        str, typer.Option(help="How many are allowed, among scored chats.")
    ] = "1 per 10000",
    promise: Annotated[
        bool, typer.Option(help="Refuse a reference that can promise no rate of false alarms.")
    ] = True,
    gamma0: Annotated[bool, typer.Option(help="Ask the same prompt again too.")] = False,
    max_concurrency: Annotated[int, typer.Option(min=1, help="Scoring calls at once.")] = 4,
) -> None:
    """Forward chat completions unchanged, and score a share of them on the side.

    Example: anharmonic llm serve https://host/v1 --share 0.1 --out scores.jsonl

    A request with the header x-anharmonic-score: inline waits for its gamma and gets it in the
    header x-anharmonic-gamma; with yes or no it is scored in the background or not at all.
    With --flag-above or --withhold-above the share is scored in line and judged (streams cannot
    be). With --reference an alarm is raised when gamma rises or falls; /anharmonic/status shows it.
    """
    try:
        import uvicorn
    except ImportError as problem:
        raise MissingExtra("uvicorn", "llm") from problem
    entrance = _entrance(host, token, path or [])
    allowance, policy = Allowance.read(budget, asked), Policy(flag_above, withhold_above)
    require_free(port, host)
    count = measure.count
    recipe = Recipe(
        settled(measure.perturb, samples=True),
        count,
        count if gamma0 else 0,
        measure.checked_unit(),
        measure.seed,
    )
    way = way_of_measuring(recipe, measure.embed)
    watch = None
    if reference is not None:
        watch = ChatWatch(quiet_time(reference, way), false_alarms, measure.seed, promise=promise)
    with ExitStack() as resources:
        client = resources.enter_context(
            Endpoint(url, "as asked", key=key, concurrency=max_concurrency)
        )
        file = None if out is None else resources.enter_context(ScoreFile(out))

        def on_score(score: ChatScore) -> None:
            if file is not None:
                file.append(plain({**score.plain(), "way": way}))
            if score.problem is not None:
                tell(f"chat {score.number} was not scored: {score.problem}")
            for alarm in () if watch is None else watch.update(score):
                tell(f"alarm: {alarm} (of the scored chats; this is chat {score.number:,})")

        scorer = Scorer(client, measure.embedder(), recipe, share, on_score)
        gateway = Gateway(
            url,
            scorer,
            watch=watch,
            key=key,
            entrance=entrance,
            allowance=allowance,
            policy=policy,
        )
        tell(f"serving http://{host}:{port}/v1, scoring {share:.0%} of the chats")
        tell(f"scoring makes {_budgeted(allowance)}; clients may ask for {asked:.0%} of that")
        if entrance.token is None and os.environ.get(key_variable(url, key)):
            tell(f"every program on this machine can spend the key: a token in {token} bars them")
        if watch is not None:
            tell(f"watching gamma against {watch.reference:,} of a quiet time")
        uvicorn.run(
            gateway,
            host=host,
            port=port,
            log_level="warning",
            ws="none",
            http=bounded_protocol(ConnectionLimiter(open_files(CONNECTIONS))),
            timeout_graceful_shutdown=STOP_WITHIN,
        )


def _entrance(host: str, variable: str, paths: list[str]) -> Entrance:
    token = os.environ.get(variable, "").strip() or None
    local = host in LOOPBACK or host == "::1"
    if not local and token is None:
        raise SettingsError(
            f"--host {host} lets others in: put a token for them into the variable {variable}"
        )
    return Entrance(token, LOOPBACK if local else None, tuple(paths))


def _budgeted(allowance: Allowance) -> str:
    if allowance.calls is None:
        return "as many calls as it needs"
    return f"at most {allowance.calls:,} calls {'per day' if allowance.daily else 'in all'}"
