"""Every model that a store holds, whoever feeds it."""

from __future__ import annotations

from typing import TypedDict

from sqlalchemy import and_, func, select

from anharmonic.serve.monitor.schema import alarms, events, monitors
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.summaries import read_summary

__all__ = ["ModelRow", "list_models"]

MOST_MODELS = 500


class ModelRow(TypedDict):
    """A monitor in the store: how far it is, and how it stands."""

    name: str
    model: str
    version: str
    events: int
    last_received: float | None
    alarms_standing: int
    alarms_acknowledged: int
    log_evidence: float | None
    threshold: float | None
    here: bool


def list_models(store: Store, own: str) -> list[ModelRow]:
    """The monitors of a store: those with alarms first, then by their last event.

    Parameters
    ----------
    store
        Where they are.
    own
        The name of the one that this process feeds.
    """
    standing = (
        select(
            alarms.c.monitor,
            func.count().label("standing"),
            func.count(alarms.c.acknowledged).label("acknowledged"),
        )
        .where(alarms.c.cleared.is_(None))
        .group_by(alarms.c.monitor)
        .subquery()
    )
    last = and_(events.c.monitor == monitors.c.name, events.c.sequence == monitors.c.sequence)
    query = (
        select(
            monitors.c.name,
            monitors.c.sequence,
            monitors.c.summary,
            monitors.c.log_evidence,
            events.c.received,
            standing.c.standing,
            standing.c.acknowledged,
        )
        .outerjoin(events, last)
        .outerjoin(standing, standing.c.monitor == monitors.c.name)
        .order_by(monitors.c.name)
        .limit(MOST_MODELS)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    found: list[ModelRow] = []
    for row in rows:
        model, _, version = row.name.rpartition("@")
        summary = read_summary(row.summary)
        found.append(
            {
                "name": row.name,
                "model": model or row.name,
                "version": version,
                "events": int(row.sequence),
                "last_received": row.received,
                "alarms_standing": int(row.standing or 0),
                "alarms_acknowledged": int(row.acknowledged or 0),
                "log_evidence": row.log_evidence,
                "threshold": summary["threshold"] if summary else None,
                "here": row.name == own,
            }
        )
    return sorted(found, key=lambda row: (not row["alarms_standing"], -(row["last_received"] or 0)))
