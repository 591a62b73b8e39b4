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
    """Above `flag` an answer is marked, above `withhold` it is kept back; None for never.

    An answer without a gamma is passed on, and marked as unscored.

    >>> Policy(flag=0.2, withhold=0.5).verdict(Estimate(0.3, 0.02))
    'flagged'
    """

    flag: float | None = None
    withhold: float | None = None

    def __post_init__(self) -> None:
        if any(each is not None and not each >= 0 for each in (self.flag, self.withhold)):
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
    whole = json.loads(content)
    choices = [
        {
            "index": at,
            "message": {"role": "assistant", "content": None, "refusal": why},
            "finish_reason": "content_filter",
        }
        for at in range(len(whole["choices"]))
    ]
    return json.dumps({**whole, "choices": choices}).encode()
