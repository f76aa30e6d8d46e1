"""A JobFilter as a WHERE clause: values only ever as parameters, names only from here."""

from __future__ import annotations

from queuectl.core import states as known
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queuectl.store.dialect import Dialect
    from queuectl.store.messages import JobFilter

# One state, in the words of the partial index that holds it: SQLite uses an index only if it sees its
# condition.
_ONE_STATE = {
    known.PENDING: "state = 'pending'",
    known.PROCESSING: "state = 'processing'",
    known.BLOCKED: "state = 'blocked'",
    **{state: f"state IN ('scheduled', 'failed') AND state = '{state}'" for state in known.TIMED},
    **{state: f"finished_at IS NOT NULL AND state = '{state}'" for state in known.TERMINAL},
}

MOST_IDS = 5_000  # SQLite takes 32,766 values in one statement; counts name them once for each state


def marks(values: Sequence[object]) -> str:
    """A `?` for each of them."""
    return ", ".join("?" * len(values))


def where(filter: JobFilter, dialect: Dialect, allowed: tuple[str, ...] = ()) -> tuple[str, list[object]]:
    """The condition and its values; `allowed` restricts the states further (a guard)."""
    states = filter.states
    if allowed:
        states = tuple(s for s in allowed if not filter.states or s in filter.states)
        if not states:
            return "1 = 0", []
    parts: list[str] = []
    values: list[object] = []
    if states:
        parts.append(_in_states(states))
    if filter.ids:
        parts.append(f"id IN ({marks(filter.ids)})")
        values += filter.ids
    for condition, value in (
        ("queue = ?", filter.queue),
        ("queue <> ?", filter.without),
        (dialect.contains.format("tags", "?"), filter.tag and f",{filter.tag},"),
        ("created_at >= ?", filter.created_after),
        ("created_at < ?", filter.created_before),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value)
    _add_ending(filter, parts, values)
    if filter.text:
        found = [dialect.contains.format(f"lower({name})", "lower(?)") for name in ("command", "id")]
        parts.append(f"({' OR '.join(found)})")
        values += [filter.text] * 2
    return " AND ".join(parts) or "1 = 1", values


def _add_ending(filter: JobFilter, parts: list[str], values: list[object]) -> None:
    """What keeps them, or ended them."""
    if filter.held is not None:
        parts.append("held IS NOT NULL" if filter.held else "held IS NULL")
    if filter.cause is not None:
        for name, value in zip(("exit_code", "signal", "last_error"), filter.cause, strict=True):
            parts.append(f"{name} IS NULL" if value is None else f"{name} = ?")
            values += [] if value is None else [value]


def _in_states(states: tuple[str, ...]) -> str:
    for state in states:
        if state not in _ONE_STATE:
            raise InvalidInput(f"unknown state {state[:40]!r}", "choose from " + ", ".join(known.ALL))
    if len(states) == 1:
        return _ONE_STATE[states[0]]
    return "state IN (" + ", ".join(f"'{state}'" for state in states) + ")"


def portions(filter: JobFilter) -> Iterator[JobFilter]:
    """The same in parts that each name few enough ids for one statement."""
    if len(filter.ids) <= MOST_IDS:
        yield filter
        return
    ids = tuple(dict.fromkeys(filter.ids))
    for start in range(0, len(ids), MOST_IDS):
        yield filter.replaced(ids=ids[start : start + MOST_IDS])
