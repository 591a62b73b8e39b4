"""The data sets that label-free estimates are held against, in three groups."""

from __future__ import annotations

from benchmarks.performance import bundled, made, packaged, real
from benchmarks.performance.cases import Case, Source

__all__ = ["BLIND", "SOURCES", "Case", "Source"]

CHOSEN = (
    real.electricity,
    made.made_classes,
    made.made_numbers,
    made.turned_classes,
    made.turned_numbers,
    bundled.cards,
    bundled.employment,
    bundled.housing,
    real.abalone,
    made.mixed_classes,
    made.mixed_numbers,
    made.still_classes,
    made.still_numbers,
    made.wandering_classes,
    made.wandering_numbers,
    packaged.diamonds,
    packaged.vietnam,
    packaged.hours,
    packaged.insured,
)
SEEN = (real.beijing_air, bundled.car_loan, bundled.car_price, real.adult_age, real.adult_work)
FRESH = (packaged.movies, packaged.vocabulary, packaged.doctor, packaged.food)

SOURCES = {
    **{make.__name__: Source(make, "chosen") for make in CHOSEN},
    **{make.__name__: Source(make, "seen") for make in SEEN},
    **{make.__name__: Source(make, "fresh") for make in FRESH},
}

BLIND = {"turned_classes", "turned_numbers"}
"""Labels follow another law in traffic, which nobody can see without labels."""
