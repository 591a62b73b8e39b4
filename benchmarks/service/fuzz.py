"""Requests that the OpenAPI document allows and many that it does not: none may end in a 5xx."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

__all__ = ["fuzzed"]


def fuzzed(url: str, examples: int, seed: int = 0) -> tuple[int, list[str]]:
    """How many requests were made of the service at `url`, and those it failed on."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis.errors import Unsatisfiable

    schema: Any = schemathesis.openapi.from_url(f"{url}/openapi.json")
    count, errors = 0, []
    quiet = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    for found in schema.get_all_operations():
        operation = found.ok()
        # One without parameters cannot be asked wrongly; hypothesis would search long for a way.
        open_to_wrong = bool(operation.body) or any(operation.iter_parameters())
        for mode in modes if open_to_wrong else modes[:1]:

            def ask(case: Any) -> None:
                nonlocal count
                answer = case.call(base_url=url, timeout=20)
                count += 1
                if answer.status_code >= 500:
                    errors.append(f"{case.method} {case.path}: {answer.status_code} {case.body!r}")

            cases = operation.as_strategy(generation_mode=mode)
            with suppress(Unsatisfiable):  # Any text is a good path, for one.
                seeded(seed)(quiet(given(case=cases)(ask)))()
    return count, errors
