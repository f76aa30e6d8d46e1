"""A process that fires schedules, at times that it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.engines import Place

from queuectl import events
from queuectl.config.settings import Settings
from queuectl.upkeep.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable


def leader(go: Callable[[], object], place: Place, begin: int, seconds: int) -> int:
    """Be a worker's heart at each of these seconds; how many jobs it has made."""
    store = place.open()
    scheduler, settings = Scheduler(), Settings()
    made = 0

    def hear(name: str, fields: dict[str, object]) -> None:
        nonlocal made
        assert name != "schedule.failed", fields
        if name == "schedule.fired":
            made += int(str(fields["jobs"]))

    events.subscribe(hear)
    go()
    for second in range(seconds):
        scheduler(store, settings, begin + second * 1_000)
    store.close()
    return made
