"""Single columns of a table that change a decision by themselves, the most plausible first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.columns import titled
from anharmonic._core.margins import by_class, labels_of, margins_of
from anharmonic.measures.explain.counterfactuals import in_words, value_at
from anharmonic.measures.explain.table_shares import ask_alternatives
from anharmonic.measures.search import StepChooser
from anharmonic.measures.search.step_rule import StepSettings

__all__ = ["Switch", "find_switches"]


class Switch(NamedTuple):
    """A column whose other value changes the decision alone.

    `share` is how many of the reference rows that are like this one in all else have that value;
    `along` names columns that had to come along, because the reference never has their values
    beside the new one. `margin` is the first class's there, below 0.
    """

    name: str
    before: float | str
    after: float | str
    label: str
    share: float
    margin: float
    along: tuple[str, ...] = ()

    def __str__(self) -> str:
        beside = f" with {', '.join(self.along)}" if self.along else ""
        return (
            f"{titled(self.name)}: {in_words(self.before)} → {in_words(self.after)}{beside} "
            f"({self.share:.0%} of similar rows)"
        )


def find_switches(chooser: StepChooser, settings: StepSettings) -> tuple[tuple[Switch, ...], int]:
    """The switches of a region's only row, and the queries they took."""
    table = chooser.step_rule.table
    assert table is not None
    law, start = table.law, table.values[0]
    asked = ask_alternatives(chooser.caller, table, np.array([0]))
    kind = chooser.caller.model.kind
    here = labels_of(by_class(asked.centres, kind))
    outputs = by_class(asked.outputs, kind)
    labels = labels_of(outputs)
    margins = margins_of(outputs, np.repeat(here, len(outputs)))
    switches = []
    for move in np.flatnonzero(labels != here[0]).tolist():
        site, state = law.sites[int(asked.sites[move])], asked.states[move]
        changed = np.flatnonzero(law.squares(start, state) > 0).tolist()
        # Of a one-hot group the column that is 1 now says what was chosen.
        column = max((place for place in site.columns if place in changed), key=lambda c: state[c])
        classes, label = settings.classes, int(labels[move])
        switches.append(
            Switch(
                name=law.names[column],
                before=value_at(law, column, float(start[column])),
                after=value_at(law, column, float(state[column])),
                label=str(classes[label]) if classes and label < len(classes) else str(label),
                share=float(asked.weights[move]),
                margin=float(margins[move]),
                along=tuple(law.names[place] for place in changed if place not in site.columns),
            )
        )
    return tuple(sorted(switches, key=lambda switch: -switch.share)), asked.queries
