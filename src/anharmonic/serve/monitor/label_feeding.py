"""Labels that came late: which of them are new, and how a monitor gets them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from anharmonic.errors import first_line
from anharmonic.monitor import Alarm, Monitor
from anharmonic.serve.monitor.records import Label, LabelResult, LabelValue, StoredLabel

__all__ = ["LabelFeed", "settle_labels"]

LOG = logging.getLogger("anharmonic.serve.monitor")


class LabelFeed:
    """Gives labels to a monitor that takes them; one that does not has them kept only.

    Parameters
    ----------
    monitor
        With `add_labels(ids, labels)`, or without; what that returns may have `alarms`.
    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._add: Callable[[list[str], list[LabelValue]], Any] | None = getattr(
            monitor, "add_labels", None
        )

    def add(self, values: Mapping[str, LabelValue]) -> list[Alarm]:
        """Labels by the ids of events that have come; the alarms that they raise."""
        if self._add is None or not values:
            return []
        added = self._add(list(values), list(values.values()))
        return list(getattr(added, "alarms", None) or ())

    def add_or_leave(self, values: Mapping[str, LabelValue]) -> list[Alarm]:
        """The same, where a label that the monitor cannot take must not fail its event."""
        if self._add is None or not values:
            return []
        before = self._monitor.state()
        try:
            return self.add(values)
        except Exception as problem:
            self._monitor.restore(before)
            LOG.warning("%d labels could not be used: %s", len(values), first_line(problem))
            return []


def settle_labels(
    labels: Sequence[Label], stored: Mapping[str, StoredLabel], events: Collection[str]
) -> tuple[list[LabelResult], list[StoredLabel]]:
    """What becomes of each label, and those that have to be written.

    Parameters
    ----------
    labels
        As they came; of one id the last counts.
    stored
        Those that the store has, by id.
    events
        Ids of these that the store has events of.
    """
    current, results = dict(stored), []
    for label in labels:
        earlier = current.get(label.id)
        text = json.dumps(label.value)
        waiting = label.id not in events
        new = StoredLabel(label.id, text, label.time, waiting)
        same = earlier is not None and (earlier.label, earlier.time) == (text, label.time)
        if not same:
            current[label.id] = new
        results.append(LabelResult(earlier is not None and not same, same, waiting))
    changed = [label for id, label in current.items() if label is not stored.get(id)]
    return results, changed
