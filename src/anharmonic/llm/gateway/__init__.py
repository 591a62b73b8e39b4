"""A gateway: OpenAI's protocol in and out, unchanged, and gamma on the side."""

from anharmonic.llm.gateway.allowance import Allowance
from anharmonic.llm.gateway.application import Gateway
from anharmonic.llm.gateway.entrance import LOOPBACK, Entrance
from anharmonic.llm.gateway.policy import Policy
from anharmonic.llm.gateway.scorefile import ScoreFile

__all__ = ["LOOPBACK", "Allowance", "Entrance", "Gateway", "Policy", "ScoreFile"]
