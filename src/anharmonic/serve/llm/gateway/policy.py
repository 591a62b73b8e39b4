"""What becomes of an answer whose gamma is large: passed on with a mark, or withheld."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from anharmonic._core.estimate import Estimate
from anharmonic.errors import SettingsError

__all__ = ["Policy", "Verdict", "withheld"]

Verdict = Literal["passed", "flagged", "withheld", "unscored"]


@dataclass(frozen=True)
class Policy:
    """What becomes of an answer by its gamma; one without is forwarded and marked as unscored.

    Parameters
    ----------
    flag
        The gamma above which an answer is marked; None for never.
    withhold
        The gamma above which a refusal is sent instead; None for never.

    Examples
    --------
    >>> Policy(flag=0.2, withhold=0.5).verdict(Estimate(0.3, 0.02))
    'flagged'
    """

    flag: float | None = None
    withhold: float | None = None

    def __post_init__(self) -> None:
        if any(limit is not None and not limit >= 0 for limit in (self.flag, self.withhold)):
            raise SettingsError("a policy's limits are gammas, from 0 on")

    def __bool__(self) -> bool:
        return self.flag is not None or self.withhold is not None

    def verdict(self, gamma: Estimate | None) -> Verdict:
        if gamma is None or not gamma.value >= 0:
            return "unscored"
        if self.withhold is not None and gamma.value > self.withhold:
            return "withheld"
        return "flagged" if self.flag is not None and gamma.value > self.flag else "passed"


def withheld(content: bytes, gamma: Estimate, policy: Policy) -> bytes:
    """The chat completion as a refusal, in the words that clients of OpenAI know."""
    why = f"withheld by the gateway: gamma {gamma} is above {policy.withhold:g}"
    completion = json.loads(content)
    choices = [
        {
            "index": number,
            "message": {"role": "assistant", "content": None, "refusal": why},
            "finish_reason": "content_filter",
        }
        for number in range(len(completion["choices"]))
    ]
    return json.dumps({**completion, "choices": choices}).encode()
