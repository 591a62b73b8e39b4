"""A gateway: OpenAI's protocol in and out, unchanged, and gamma in the background."""

from anharmonic.serve.llm.gateway.allowance import Allowance
from anharmonic.serve.llm.gateway.application import Gateway
from anharmonic.serve.llm.gateway.entrance import LOOPBACK, Entrance
from anharmonic.serve.llm.gateway.policy import Policy
from anharmonic.serve.llm.gateway.scorefile import ScoreFile

__all__ = ["LOOPBACK", "Allowance", "Entrance", "Gateway", "Policy", "ScoreFile"]
