"""The dead letter queue at a glance: dead jobs that died of the same thing, and which jobs those are.

What makes two of them alike is left to `core.shapes`, how it is shown to the command line.
"""

from __future__ import annotations

from queuectl.core.shapes import cluster_key, command_shape, error_shape
from queuectl.core.times import iso
from queuectl.errors import InvalidInput, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.queue import Queue
    from queuectl.store.deaths import Death

__all__ = ["Group", "Triage", "members", "sort_out"]

_MOST_GROUPS = 5_000  # so that a hundred thousand jobs, each with a shape of its own, need little memory
_MOST_QUEUES = 100


class Group:
    """Dead jobs that are alike."""

    __slots__ = (
        "command",
        "count",
        "error",
        "example",
        "exit_code",
        "first_at",
        "key",
        "last_at",
        "queues",
        "signal",
    )

    def __init__(self, key: str, death: Death) -> None:
        self.key = key
        self.command = command_shape(death.command)
        self.error = error_shape(death.error)
        self.exit_code = death.exit_code
        self.signal = death.signal
        self.count = 0
        self.first_at = self.last_at = death.at
        self.example = death.id  # the one that died last
        self.queues: set[str] = set()

    def add(self, death: Death) -> None:
        self.count += 1
        self.first_at = min(self.first_at, death.at)
        if death.at >= self.last_at:
            self.last_at, self.example = death.at, death.id
        if len(self.queues) < _MOST_QUEUES:
            self.queues.add(death.queue)

    def to_dict(self) -> dict[str, object]:
        return {
            "group": self.key,
            "count": self.count,
            "command": self.command,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "error": self.error or None,
            "first_at": iso(self.first_at),
            "last_at": iso(self.last_at),
            "example": self.example,
            "queues": sorted(self.queues),
        }


class Triage:
    """The groups, the largest first, and how many dead jobs are in none of them: there are too many."""

    __slots__ = ("groups", "others")

    def __init__(self, groups: list[Group], others: int) -> None:
        self.groups = groups
        self.others = others


def sort_out(queue: Queue, *, name: str | None = None, most: int = _MOST_GROUPS) -> Triage:
    """Group the dead jobs, of one queue or of all."""
    found: dict[str, Group] = {}
    others = 0
    for death in queue.store.deaths(name):
        key = _key(death)
        group = found.get(key)
        if group is None:
            if len(found) >= most:
                others += 1
                continue
            group = found[key] = Group(key, death)
        group.add(death)
    return Triage(sorted(found.values(), key=lambda one: (-one.count, -one.last_at, one.key)), others)


def members(queue: Queue, key: str, *, name: str | None = None) -> list[str]:
    """The ids of the jobs in a group; the beginning of its key is enough where that is one group's."""
    wanted = key.strip().lower()
    if not wanted:
        raise InvalidInput("--group needs the name of a group", "queuectl dlq groups lists them")
    ids: list[str] = []
    keys: set[str] = set()
    for death in queue.store.deaths(name):
        its = _key(death)
        if its.startswith(wanted):
            keys.add(its)
            ids.append(death.id)
    if not ids:
        raise NotFound(f"no dead job is in group {key[:40]!r}", "queuectl dlq groups lists the groups")
    if len(keys) > 1:
        raise InvalidInput(
            f"{key!r} is the beginning of {len(keys)} groups",
            "give more of it: " + ", ".join(sorted(keys)[:5]),
        )
    return ids


def _key(death: Death) -> str:
    return cluster_key(death.command, death.exit_code, death.signal, death.error)
