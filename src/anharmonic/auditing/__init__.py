"""One call that says what is wrong with a model and its data, how bad it is, and what to do."""

from anharmonic.auditing.finding import CheckResult, Finding, Measured
from anharmonic.auditing.result import Audit
from anharmonic.auditing.running import audit

__all__ = ["Audit", "CheckResult", "Finding", "Measured", "audit"]
