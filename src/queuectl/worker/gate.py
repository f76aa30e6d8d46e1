"""Looks at the machine, once a second, and says whether the worker may start more on it.

What is too much is decided in core.admission, what becomes of claimed jobs by the desk.
"""

from __future__ import annotations

from queuectl import system
from queuectl.core.admission import refusal
from queuectl.events import emit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.core.admission import Limits

_LOOK_EVERY = 1.0  # seconds


class Gate:
    """Open unless the machine is beyond a limit. `load` and `memory` read it."""

    __slots__ = ("_limits", "_load", "_memory", "next_look", "shut")

    def __init__(
        self,
        limits: Limits,
        load: Callable[[], float | None] = system.load_average,
        memory: Callable[[], int | None] = system.available_memory,
    ) -> None:
        self._limits = limits
        self._load = load
        self._memory = memory
        self.next_look = 0.0
        self.shut = False

    def look(self, now: float) -> bool:
        """Look if it is time to; whether that has changed anything."""
        if now < self.next_look:
            return False
        self.next_look = now + _LOOK_EVERY
        reason = refusal(self._limits, *self._read())
        if (reason is not None) == self.shut:
            return False
        self.shut = reason is not None
        if reason is None:
            emit("worker.admits")
        else:
            emit("worker.held_off", reason=reason)
        return True

    def _read(self) -> tuple[float | None, int | None]:
        """Only what is limited."""
        return (
            None if self._limits.max_load is None else self._load(),
            None if self._limits.min_free_memory is None else self._memory(),
        )
