"""A JobFilter as a WHERE clause: values only ever as parameters, names only from here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.messages import JobFilter


def where(filter: JobFilter, allowed: tuple[str, ...] = ()) -> tuple[str, list[object]]:
    """The condition and its values; `allowed` restricts the states further (a guard)."""
    states = filter.states
    if allowed:
        states = tuple(s for s in allowed if not filter.states or s in filter.states)
        if not states:
            return "1 = 0", []
    parts: list[str] = []
    values: list[object] = []
    for column, wanted in (("state", states), ("id", filter.ids)):
        if len(wanted) == 1:
            parts.append(f"{column} = ?")
        elif wanted:
            parts.append(f"{column} IN ({', '.join('?' * len(wanted))})")
        values += wanted
    for condition, value in (
        ("queue = ?", filter.queue),
        ("tags LIKE ? ESCAPE '!'", filter.tag and f"%,{_escape(filter.tag)},%"),
        ("created_at >= ?", filter.created_after),
        ("created_at < ?", filter.created_before),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value)
    if filter.text:
        parts.append("(command LIKE ? ESCAPE '!' OR id LIKE ? ESCAPE '!')")
        values += [f"%{_escape(filter.text)}%"] * 2
    return " AND ".join(parts) or "1 = 1", values


def _escape(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
