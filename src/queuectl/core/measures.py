"""Durations in classes whose bounds grow by about 1.4, and what can be said of many: percentiles.

A class is stored as a kind like `wait 17`; its sum as `wait ms`. Few enough to keep for every minute.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WAIT, RUN = "wait", "run"
_MOST = 80  # the last class: from 35 years on


def class_of(ms: int) -> int:
    """0 ms, 1 ms, then two classes for each power of two."""
    if ms < 2:
        return max(ms, 0)
    bits = ms.bit_length()
    return min(2 * (bits - 1) + (ms >> (bits - 2) & 1), _MOST)


def lower_bound(number: int) -> int:
    """The shortest duration of a class, in milliseconds."""
    if number < 2:
        return number
    half, upper = divmod(number, 2)
    return (2 + upper) << (half - 1)


def kind_of_class(what: str, number: int) -> str:
    return f"{what} {number}"


def sum_kind(what: str) -> str:
    return f"{what} ms"


def classes(what: str, amounts: Mapping[str, int]) -> dict[int, int]:
    """How many there are in each class, out of what was counted under any kind."""
    found = {}
    for kind, amount in amounts.items():
        name, _, number = kind.partition(" ")
        if name == what and number.isdigit():
            found[int(number)] = amount
    return found


def percentile(
    found: Mapping[int, int], share: float, bound: Callable[[int], int] = lower_bound
) -> float | None:
    """In seconds; within a class as if its durations, whole milliseconds, were spread evenly."""
    total = sum(found.values())
    if total <= 0:
        return None
    wanted, passed = share * total, 0
    for number in sorted(found):
        if passed + found[number] >= wanted and found[number] > 0:
            low, high = bound(number), bound(number + 1) - 1
            inside = (wanted - passed) / found[number]
            return round((low + (high - low) * inside) / 1000, 4)
        passed += found[number]
    return None
