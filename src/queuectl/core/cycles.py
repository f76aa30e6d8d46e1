"""Circles among jobs that wait for each other."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def find_cycle(waits_for: Mapping[str, Iterable[str]]) -> list[str] | None:
    """A path of names whose last is its first, or None. Looks at every edge once; no recursion."""
    done: set[str] = set()
    for start in waits_for:
        if start in done:
            continue
        path, on_path = [start], {start}
        pending = [iter(waits_for[start])]
        while pending:
            following = next((name for name in pending[-1] if name not in done and name in waits_for), None)
            if following is None:
                pending.pop()
                last = path.pop()
                on_path.discard(last)
                done.add(last)
            elif following in on_path:
                return [*path[path.index(following) :], following]
            else:
                path.append(following)
                on_path.add(following)
                pending.append(iter(waits_for[following]))
    return None
