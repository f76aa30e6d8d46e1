"""A claim where more counts than the order of jobs: limits of queues, weights, resources.

Loaded by the first exchange that finds one of them in use. Whoever claims from a limited queue holds that
queue's row until the end of the transaction, so that two workers never take the same last place.
"""

from __future__ import annotations

import random

from queuectl.core.amounts import parse_needs
from queuectl.core.dealing import shares
from queuectl.core.queue_rules import QUEUE_COLUMNS, allowance, rule_from_row
from queuectl.core.rows import CLAIM_COLUMNS
from queuectl.store.claims import claim_order, claimable_of, this_one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queuectl.core.queue_rules import QueueRule
    from queuectl.store.connection import Connection, Row
    from queuectl.store.exchange import Waiting
    from queuectl.store.messages import Ask, Exchange

_RULE_COLUMNS = ", ".join(QUEUE_COLUMNS)
_QUEUE, _NEEDS = map(CLAIM_COLUMNS.index, ("queue", "needs"))


class _Limit:
    """A queue with a rule, and what it grants this claim."""

    __slots__ = ("count", "rule", "running", "taken")

    def __init__(self, rule: QueueRule, running: int, count: int) -> None:
        self.rule = rule
        self.running = running
        self.count = count
        self.taken = 0


class Claiming:
    """One claim."""

    def __init__(self, db: Connection, ask: Ask, answer: Exchange, now: int) -> None:
        self._db = db
        self._ask = ask
        self._answer = answer
        self._now = now
        self._limits: dict[object, _Limit] = {}
        self._free = dict(ask.free)
        self._free_slots = ask.free_slots

    def choose(self, queues: Sequence[object], waiting: Waiting) -> list[Row]:
        """The jobs to claim; their rows are ours until the transaction ends."""
        needs = list(self._possible_needs(waiting)) if self._free else []
        names = list(dict.fromkeys([*queues, *self._needy_queues(needs)]))
        if self._ask.queues is not None:
            names = [name for name in names if name in self._ask.queues]
        if waiting.ruled:
            # In one order everywhere, so that two claims never wait for each other.
            for name in sorted(map(str, names)):
                self._limit(name)
        found = {name: self._rows_of(name, needs) for name in names}
        if self._ask.queues is None:
            rows = self._pick(sorted((row for rows in found.values() for row in rows), key=claim_order))
        else:
            rows = self._in_turn([found.get(name, []) for name in dict.fromkeys(self._ask.queues)])
        self._spend(found)
        return rows

    def take(self, seq: int) -> list[Row]:
        """This job only, if its queue lets it start now."""
        found = self._db.one("SELECT queue FROM jobs WHERE seq = ?", (seq,))
        if found is None:
            return []
        self._limit(str(found[0]))
        rows = self._pick(this_one(self._db, seq))
        self._spend({found[0]: rows})
        return rows

    # --- what there is ----------------------------------------------------------------------------

    def _possible_needs(self, waiting: Waiting) -> Iterator[str]:
        """The kinds of needs among pending jobs that our resources would serve; one index seek each."""
        last = waiting.first_needs
        while last is not None:
            if self._fits(str(last)):
                yield str(last)
            last = self._db.all(
                "SELECT min(needs) FROM jobs WHERE state = 'pending' AND needs IS NOT NULL AND needs > ?",
                (last,),
            )[0][0]

    def _needy_queues(self, needs: Sequence[str]) -> Iterator[object]:
        for text in needs:
            last: object = ""
            while True:
                last = self._db.all(
                    "SELECT min(queue) FROM jobs WHERE state = 'pending' AND needs IS NOT NULL "
                    "AND needs = ? AND queue > ?",
                    (text, last),
                )[0][0]
                if last is None:
                    break
                yield last

    def _fits(self, needs: str) -> bool:
        return all(self._free.get(name, 0) >= count for name, count in parse_needs(needs).items())

    def _rows_of(self, queue: object, needs: Sequence[str]) -> list[Row]:
        limit = self._limits.get(queue)
        most = self._ask.limit if limit is None else limit.count
        if most <= 0:
            return []
        rows = list(claimable_of(self._db, queue, most))
        for text in needs:
            rows += claimable_of(self._db, queue, min(most, max(self._ask.free_slots, 0)), text)
        rows.sort(key=claim_order)
        return rows

    def _limit(self, name: str) -> None:
        row = self._db.one(f"SELECT {_RULE_COLUMNS} FROM queues WHERE name = ?", (name,))
        if row is None:
            return
        rule = rule_from_row(row)
        running = 0
        if rule.concurrency is not None or rule.rate is not None:
            locked = self._db.one(
                f"SELECT {_RULE_COLUMNS} FROM queues WHERE name = ?{self._db.dialect.hold}", (name,)
            )
            rule = rule_from_row(locked or row)
        elif rule.paused_at is None:
            return  # it has defaults only
        if rule.concurrency is not None:
            running = self._running(name)
        granted = allowance(rule, running=running, now=self._now, wanted=self._ask.limit)
        self._answer.wake_at(granted.next_at)
        self._limits[name] = _Limit(rule, running, self._fair(rule, running, granted.count))

    def _fair(self, rule: QueueRule, running: int, granted: int) -> int:
        """Jobs that we claim ahead keep places from others, who could use them now: half of them at most."""
        if rule.concurrency is None:
            return granted
        return min(granted, max(self._ask.free_slots, (rule.concurrency - running) // 2, 0))

    def _running(self, name: str) -> int:
        return int(
            str(
                self._db.all("SELECT count(*) FROM jobs WHERE state = 'processing' AND queue = ?", (name,))[
                    0
                ][0]
            )
        )

    # --- what we take -----------------------------------------------------------------------------

    def _in_turn(self, queues: Sequence[Sequence[Row]]) -> list[Row]:
        """Strictly in the order of the queues, or by weight and then in their order."""
        limit, weights = self._ask.limit, self._ask.weights
        first = shares(limit, weights, random.random(), queues=len(queues))
        rows: list[Row] = []
        for share, part in zip(first, queues, strict=True):
            rows += self._pick(part, most=min(share, limit - len(rows)))
        for part in queues:
            rest = [row for row in part if row not in rows]
            rows += self._pick(rest, most=limit - len(rows))
        return rows

    def _pick(self, rows: Sequence[Row], most: int | None = None) -> list[Row]:
        most = self._ask.limit if most is None else most
        picked: list[Row] = []
        for row in rows:
            if len(picked) >= most:
                break
            if self._may_take(row):
                picked.append(row)
        return picked

    def _may_take(self, row: Row) -> bool:
        limit, needs = self._limits.get(row[_QUEUE]), row[_NEEDS]
        if limit is None and needs is None:
            return True
        if limit is not None and limit.taken >= limit.count:
            return False
        if needs is not None:
            # Pieces that somebody else could use are not claimed ahead.
            if self._free_slots <= 0 or not self._fits(str(needs)):
                return False
            for name, count in parse_needs(str(needs)).items():
                self._free[name] -= count
        if limit is not None:
            limit.taken += 1
        self._free_slots -= 1
        return True

    def _spend(self, found: dict[object, list[Row]]) -> None:
        for name, limit in self._limits.items():
            if limit.rule.rate is not None and limit.taken:
                spent = allowance(limit.rule, running=limit.running, now=self._now, wanted=limit.taken).spent
                self._db.run("UPDATE queues SET rate_spent = ? WHERE name = ?", (spent, name))
            if limit.taken < min(limit.count, len(found.get(name, ()))):
                self._answer.ring = True  # there is room that we could not use
