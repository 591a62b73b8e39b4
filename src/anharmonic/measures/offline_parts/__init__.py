"""`plan` and `collect` of a source: tables of questions and of answers, cut into parts.

A warehouse answers the questions where the model is, part by part or all at once; whoever planned
them collects. Both run what measures a source: once with a model that writes down what it is
asked, once with a model that reads out the answers.
"""

from anharmonic.measures.offline_parts.collecting import collect_parts
from anharmonic.measures.offline_parts.planning import plan_parts

__all__ = ["collect_parts", "plan_parts"]
