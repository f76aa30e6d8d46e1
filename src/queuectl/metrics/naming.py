"""Which queues are shown by name: the busiest hundred. All others are shown in sum, whatever they are called.

A monitor keeps each label that it has ever seen: there must not be one for each name that somebody makes up.
"""

from __future__ import annotations

import threading
import time

from queuectl.store.figures import REST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from queuectl.store.figures import Amounts, Figures

MOST = 100
OTHERS = "(other)"  # no queue can have this name
_CHOSEN_FOR_S = 600.0

# What workers count that belongs to no queue (see worker/measures.py, which we may not know).
RESCUED, STALE, STORE_ERRORS = "rescued", "stale", "store errors"
OF_NO_QUEUE = frozenset((RESCUED, STALE, STORE_ERRORS))


class Naming:
    """What is named, from one scrape to the next.

    A queue that gets a name of its own would take what it has counted out of the sum of the others, and a
    counter must not fall. So that sum begins at zero, as counters of a process do, and goes on from where it
    is when others are chosen. `lasting` is False where there is only one scrape: then it is the whole sum.
    """

    shows_others = True

    def __init__(
        self, *, lasting: bool = True, most: int = MOST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.lock = threading.Lock()  # one scrape at a time
        self._lasting = lasting
        self._most = most
        self._clock = clock
        self._names: list[str] = []
        self._choose_at = 0.0
        self._left_out: dict[str, int] = {}  # by kind: of the sum of the others, what is not shown
        self._begun = False
        self.others = False  # whether there are any, or have been

    def counted(self, figures: Figures) -> tuple[Sequence[str], Amounts]:
        """The queues to be named, and what was ever counted of each and of the others."""
        names, now = self._names, self._clock()
        if len(names) < self._most or now >= self._choose_at:
            names = self._choose(figures)
            self._choose_at = now + _CHOSEN_FOR_S
        if not self._lasting:
            found = figures.ever(names)
            self.others = _is_any(found[REST])
            return names, found
        # The former ones too, so that nothing is lost when the sum is continued under other names.
        former = self._names
        found = figures.ever([*names, *(name for name in former if name not in names)])
        if not self._begun:
            self._left_out, self._begun = _rest(found, names), True
        elif set(names) != set(former):
            shown = self._shown(_rest(found, former))
            self._left_out = {k: n - shown.get(k, 0) for k, n in _rest(found, names).items()}
        self._names = names
        self.others = self.others or _is_any(_rest(found, names))
        named = {name: found[name] for name in names if name in found}
        return names, {**named, REST: self._shown(_rest(found, names))}

    def _choose(self, figures: Figures) -> list[str]:
        """Who has a name keeps it while it is among the busiest at all."""
        busiest = [name for name in figures.busiest(2 * self._most) if name != OTHERS]
        kept = [name for name in self._names if name in set(busiest)]
        return sorted([*kept, *(name for name in busiest if name not in kept)][: self._most])

    def _shown(self, whole: Mapping[str, int]) -> dict[str, int]:
        return {
            kind: amount if kind in OF_NO_QUEUE else amount - self._left_out.get(kind, 0)
            for kind, amount in whole.items()
        }


def _is_any(rest: Mapping[str, int]) -> bool:
    return any(amount for kind, amount in rest.items() if kind not in OF_NO_QUEUE)


class OnlyOne:
    """One queue is asked for by name, and nobody asks for the others."""

    others = shows_others = False

    def __init__(self, name: str) -> None:
        self.lock = threading.Lock()
        self._name = name

    def counted(self, figures: Figures) -> tuple[Sequence[str], Amounts]:
        return [self._name], figures.ever([self._name])


def _rest(found: Amounts, names: Sequence[str]) -> dict[str, int]:
    """The sum of all that are not among these names."""
    rest = dict(found[REST])
    for name, amounts in found.items():
        if name != REST and name not in names:
            for kind, amount in amounts.items():
                rest[kind] = rest.get(kind, 0) + amount
    return rest
