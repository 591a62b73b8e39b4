"""A model watched in production, without labels: streaming scores, alarms with a stated rate.

`Monitor` scores a stream and keeps the evidence of a change; `Evidence` is its detector, for
any stream of numbers; `river` makes detectors of river's, which a monitor takes in its place.
"""

from anharmonic.monitor.alarms import Alarm, Key, Observation
from anharmonic.monitor.channels import Detector, river
from anharmonic.monitor.culprits import Culprits
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.monitor import Monitor
from anharmonic.monitor.replaying import Replay, replay
from anharmonic.monitor.windows import Windows

__all__ = [
    "Alarm",
    "Culprits",
    "Detector",
    "Evidence",
    "Key",
    "Monitor",
    "Observation",
    "Replay",
    "Windows",
    "replay",
    "river",
]
