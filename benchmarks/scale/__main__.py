"""`python -m benchmarks.scale PART [--size SHARE]`."""

from __future__ import annotations

import argparse
from importlib import import_module

PARTS = ("speed", "rows", "kills", "cost")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=PARTS, nargs="+")
    parser.add_argument("--size", type=float, default=1.0, help="a share of the usual size")
    told = parser.parse_args()
    met = [import_module(f"benchmarks.scale.{part}").main(told.size) for part in told.part]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
