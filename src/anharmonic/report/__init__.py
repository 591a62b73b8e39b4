"""One HTML file to hand on: headline, table, pictures, worst points, how to do it again.

The file needs nothing else: no network, no other files, and without JavaScript all but the
pictures can be read. It is readable on a phone and printed. Needs `anharmonic[report]`.
"""

from anharmonic.report import card, tracking
from anharmonic.report.audit import write_audit
from anharmonic.report.audit_sarif import write_sarif
from anharmonic.report.explained import write_explanation
from anharmonic.report.page import write
from anharmonic.report.replayed import write_replay
from anharmonic.report.spade import write_spade

__all__ = [
    "card",
    "tracking",
    "write",
    "write_audit",
    "write_explanation",
    "write_replay",
    "write_sarif",
    "write_spade",
]
