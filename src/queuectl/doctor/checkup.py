"""One look at everything: the store from inside, its workers and jobs, and what this machine keeps of it.

The engines' own questions are left to the stores, how it is printed to the command line.
"""

from __future__ import annotations

from queuectl.app import look_at
from queuectl.clock import SYSTEM_CLOCK
from queuectl.doctor import limits, machine, reach, workforce
from queuectl.errors import QueuectlError
from queuectl.paths import locate
from queuectl.store.health import LEVELS, PROBLEM, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.clock import Clock
    from queuectl.paths import Location

__all__ = ["Checkup", "Finding", "check"]

_UNUSABLE = 3


class Checkup:
    """What was found."""

    __slots__ = ("findings", "location")

    def __init__(self, location: Location, findings: list[Finding]) -> None:
        self.location = location
        self.findings = findings

    @property
    def exit_code(self) -> int:
        if any(finding.fatal for finding in self.findings):
            return _UNUSABLE
        return int(any(finding.level == PROBLEM for finding in self.findings))

    def count(self) -> dict[str, int]:
        """How many findings of each level."""
        return {level: sum(finding.level == level for finding in self.findings) for level in LEVELS}


def check(url: str | None = None, *, full: bool = False, clock: Clock = SYSTEM_CLOCK) -> Checkup:
    """Look at the store at `url`; what keeps us from opening it is a finding like any other."""
    location = locate(url)
    try:
        store = look_at(location)
    except QueuectlError as error:
        return Checkup(location, reach.explain(location, error) + machine.look(location))
    try:
        found = store.examine(now=clock.now, full=full)
        if not any(finding.fatal for finding in found):
            found += workforce.look(store, clock.now())
            found += limits.look()
    except QueuectlError as error:
        found = reach.explain(location, error)
    finally:
        store.close()
    return Checkup(location, found + machine.look(location))
