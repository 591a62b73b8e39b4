"""`python -m benchmarks.service [load] [kills] [proxy] [fuzz] [mutated] [replicas]`."""

from benchmarks.service import main

raise SystemExit(0 if main() else 1)
