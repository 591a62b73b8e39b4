"""A model watched in production, without labels: streaming scores, alarms with a stated rate.

`Monitor` reads a stream and keeps the evidence of a change; `RankEvidence` is its detector, for
any stream of numbers, `Evidence` that of 0.1.0; `river` makes detectors of river's, which a monitor
takes in their place.
"""

from anharmonic.monitor.alarms import Alarm, Key, Observation
from anharmonic.monitor.channels import Detector, river
from anharmonic.monitor.culprits import Culprits
from anharmonic.monitor.describing import ColumnDrift
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.monitor import Monitor
from anharmonic.monitor.performance_watch import Labelled
from anharmonic.monitor.rank_evidence import RankEvidence
from anharmonic.monitor.replaying import Replay, replay
from anharmonic.monitor.windows import Windows

__all__ = [
    "Alarm",
    "ColumnDrift",
    "Culprits",
    "Detector",
    "Evidence",
    "Key",
    "Labelled",
    "Monitor",
    "Observation",
    "RankEvidence",
    "Replay",
    "Windows",
    "replay",
    "river",
]
