"""Run every benchmark; the exit code says whether all bars were met."""

from __future__ import annotations

from benchmarks import (
    clever,
    clever_coverage,
    comparison,
    cost,
    data_cost,
    data_coverage,
    data_differences,
    differences,
    drift,
    gateway,
    images,
    independence,
    llm,
    memory,
    mutations,
    overhead,
    report,
    service,
    spade,
)


def main() -> int:
    parts = (
        *(overhead, cost, independence, memory, images, comparison, differences),
        *(data_coverage, data_differences, data_cost),
        *(report, spade, clever, clever_coverage, drift, llm, gateway, mutations, service),
    )
    met = [part.main() for part in parts]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
