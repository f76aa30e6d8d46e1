"""Whether a machine has room for more commands: limits that somebody has set on its load and free memory.

Reading them off the machine is left to `system`, and what a worker does then to its gate.
"""

from __future__ import annotations

from queuectl.core.amounts import parse_size, show_size
from queuectl.errors import InvalidInput

_HIGHEST_LOAD = 100_000.0


class Limits:
    """None: no limit."""

    __slots__ = ("max_load", "min_free_memory")

    def __init__(self, max_load: float | None = None, min_free_memory: int | None = None) -> None:
        self.max_load = max_load
        self.min_free_memory = min_free_memory  # bytes

    def __bool__(self) -> bool:
        return self.max_load is not None or self.min_free_memory is not None


def parse_limits(max_load: object, min_free_memory: object) -> Limits:
    """From what was given as --max-load and --min-free-memory."""
    load = None if max_load is None else _load(max_load)
    size = None if min_free_memory is None else parse_size(min_free_memory, "min-free-memory")
    return Limits(load, size)


def refusal(limits: Limits, load: float | None, free_memory: int | None) -> str | None:
    """Why nothing may be started now; None if it may. What cannot be read might be anything: it may not."""
    if limits.max_load is not None:
        if load is None:
            return "the load cannot be read"
        if load >= limits.max_load:
            return f"the load is {load:.2f}, the limit {limits.max_load:g}"
    if limits.min_free_memory is not None:
        if free_memory is None:
            return "the free memory cannot be read"
        if free_memory < limits.min_free_memory:
            return (
                f"{show_size(free_memory)} of memory are free, "
                f"{show_size(limits.min_free_memory)} must stay so"
            )
    return None


def _load(value: object) -> float:
    try:
        load = float(str(value))
    except ValueError:
        load = 0.0
    if not 0 < load <= _HIGHEST_LOAD:  # nor if it is not a number
        raise InvalidInput(f"max-load {str(value)[:40]!r} is not a number above 0", "like 8 or 7.5")
    return load
