"""The rules of queues: limits, rates, defaults, pauses.

What they mean is left to `core.queue_rules`. A queue without rules has no row.
"""

from __future__ import annotations

from queuectl.core.notices import changed
from queuectl.core.queue_rules import (
    QUEUE_COLUMNS,
    QueueRule,
    is_empty,
    is_paused,
    renew_bucket,
    rule_from_row,
)
from queuectl.core.states import PENDING
from queuectl.errors import InvalidInput
from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert
from queuectl.store.oldest import oldest_pending
from queuectl.store.tallies import totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from queuectl.store.connection import Connection

_COLUMNS = ", ".join(QUEUE_COLUMNS)
_QUEUES = Insert("queues", QUEUE_COLUMNS)
_CHANGED = QUEUE_COLUMNS[1:]
_UPDATE = f"UPDATE queues SET {', '.join(f'{name} = ?' for name in _CHANGED)} WHERE name = ?"
_MOST_CLASHES = 10
_NOTICES = ("notify", "notify_on")  # as somebody says them: both are in one column


class Queues:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def all(self) -> list[QueueRule]:
        return [rule_from_row(row) for row in self._db.all(f"SELECT {_COLUMNS} FROM queues ORDER BY name")]

    def get(self, name: str) -> QueueRule | None:
        row = self._db.one(f"SELECT {_COLUMNS} FROM queues WHERE name = ?", (name,))
        return None if row is None else rule_from_row(row)

    def depths(self) -> dict[str, dict[str, int]]:
        """Of every queue that has jobs: how many in which state."""
        return totals(self._db)

    def oldest(self, depths: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
        """Of every queue that has pending jobs, the earliest time for which one of them was due."""
        pending = {name: states[PENDING] for name, states in depths.items() if states.get(PENDING)}
        return oldest_pending(self._db, pending, sum(pending.values())) if pending else {}

    def set(self, name: str, changes: Mapping[str, object], now: int) -> QueueRule | None:
        """Lay down these values (None: no longer) and leave the others. None if no rule is left."""
        unknown = set(changes) - (set(QUEUE_COLUMNS) - {"name", "updated_at"} | set(_NOTICES))
        assert not unknown, unknown

        def change(rule: QueueRule) -> None:
            before = rule.rate, rule.burst
            notices = {}
            for column, value in changes.items():
                if column in _NOTICES:
                    notices[column] = value
                else:
                    setattr(rule, column, value)
            if notices:
                rule.notify = changed(rule.notify, **notices)
            # Here, not before: somebody else may have changed the one while we change the other.
            if rule.burst is not None and rule.rate is None:
                raise InvalidInput(
                    f"queue {name} has no rate that a burst could belong to", "give a rate too, like 100/min"
                )
            if (rule.rate, rule.burst) != before:
                renew_bucket(rule, now)

        return self._change(name, change, now)

    def pause(self, name: str, *, reason: str | None, until: int | None, now: int) -> QueueRule:
        """Start none of its jobs until then. One that is paused already takes the new reason and end."""

        def change(rule: QueueRule) -> None:
            if not is_paused(rule, now):
                rule.paused_at = now
            rule.paused_until, rule.pause_reason = until, reason

        rule = self._change(name, change, now)
        assert rule is not None
        return rule

    def resume(self, name: str, now: int) -> QueueRule | None:
        """End a pause and a draining."""

        def change(rule: QueueRule) -> None:
            _end_pause(rule)
            rule.draining = None

        return self._change(name, change, now)

    def drain(self, name: str, now: int) -> QueueRule:
        """Let no new jobs in."""

        def change(rule: QueueRule) -> None:
            rule.draining = 1

        rule = self._change(name, change, now)
        assert rule is not None
        return rule

    def _change(self, name: str, change: Callable[[QueueRule], None], now: int) -> QueueRule | None:
        """Read the rule, change it and write it back; `change` gives the same result when done twice.

        The row is held meanwhile, so what a claim spends of the rate is not lost. Of two who make the row at
        once the second meets a clash and begins again, with the row of the first.
        """

        def body(_: QueueRule | None) -> QueueRule | None:
            row = self._db.one(
                f"SELECT {_COLUMNS} FROM queues WHERE name = ? {self._db.dialect.hold}", (name,)
            )
            rule = QueueRule(name) if row is None else rule_from_row(row)
            if rule.paused_at is not None and not is_paused(rule, now):
                _end_pause(rule)  # it was over already
            change(rule)
            rule.updated_at = now
            values = [getattr(rule, column) for column in QUEUE_COLUMNS]
            if is_empty(rule):
                self._db.run("DELETE FROM queues WHERE name = ?", (name,))
                return None
            if row is None:
                self._db.insert(_QUEUES, [values])
            else:
                self._db.run(_UPDATE, (*values[1:], name))
            return rule

        for _ in range(_MOST_CLASHES):
            try:
                return self._db.write("queue", body)
            except Clash:
                continue
        return self._db.write("queue", body)


def _end_pause(rule: QueueRule) -> None:
    rule.paused_at = rule.paused_until = rule.pause_reason = None
