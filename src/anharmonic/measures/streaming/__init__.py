"""Measures over sources: rows in files that may be larger than memory, on any engine."""

from anharmonic.measures.streaming.accepting import takes_source
from anharmonic.measures.streaming.calling import called_on_blocks
from anharmonic.measures.streaming.stored import StoredScores

__all__ = ["StoredScores", "called_on_blocks", "takes_source"]
