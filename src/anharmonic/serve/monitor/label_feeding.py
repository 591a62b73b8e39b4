"""Labels that came late: which of them are new, and how a monitor gets them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from anharmonic.errors import first_line
from anharmonic.monitor import Alarm, Monitor
from anharmonic.serve.monitor.records import Label, LabelResult, LabelValue, StoredLabel

__all__ = ["LabelFeed", "settle_labels"]

LOG = logging.getLogger("anharmonic.serve.monitor")


class Fed(NamedTuple):
    """What a monitor made of labels: the alarms that they raised, and ids that it did not use."""

    alarms: list[Alarm]
    unused: frozenset[str]


NOTHING = Fed([], frozenset())


class LabelFeed:
    """Gives labels to a monitor that takes them; one that does not has them kept only.

    Parameters
    ----------
    monitor
        With `add_labels(ids, labels)`, or without; what that returns may have `alarms` and
        `unknown`, the ids that nobody waits for.
    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        # A monitor of a reference without labels has nothing to hold others against.
        takes = getattr(monitor, "judge", self) is not None
        self._add: Callable[[list[str], list[LabelValue]], Any] | None = (
            getattr(monitor, "add_labels", None) if takes else None
        )

    def add(self, values: Mapping[str, LabelValue]) -> Fed:
        """Labels by the ids of events that have come."""
        if self._add is None or not values:
            return NOTHING
        added = self._add(list(values), list(values.values()))
        alarms, unused = (getattr(added, name, None) or () for name in ("alarms", "unknown"))
        return Fed(list(alarms), frozenset(unused))

    def add_or_leave(self, values: Mapping[str, LabelValue]) -> Fed:
        """The same, where a label that the monitor cannot take must not fail its event."""
        if self._add is None or not values:
            return NOTHING
        before = self._monitor.state()
        try:
            return self.add(values)
        except Exception as problem:
            self._monitor.go_back(before)
            if len(values) == 1:
                LOG.warning("a label could not be used: %s", first_line(problem))
                return Fed([], frozenset(values))
        # One by one, so that those beside it are used.
        fed = [self.add_or_leave({id: value}) for id, value in values.items()]
        alarms = [alarm for one in fed for alarm in one.alarms]
        return Fed(alarms, frozenset().union(*(one.unused for one in fed)))


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
        results.append(LabelResult(label.id, earlier is not None and not same, same, waiting))
    changed = [label for id, label in current.items() if label is not stored.get(id)]
    return results, changed
