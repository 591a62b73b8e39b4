"""Run every benchmark; the exit code says whether all bars were met."""

from __future__ import annotations

from benchmarks import cost, memory, overhead, report


def main() -> int:
    return 0 if all([overhead.main(), cost.main(), memory.main(), report.main()]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
