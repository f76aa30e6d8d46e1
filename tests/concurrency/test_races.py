"""Cancel, retry, delete, purge, hold, completion and rescue of the same jobs at the same time (B64)."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest
from tests.concurrency.races import Account, actor, rescue_all
from tests.concurrency.roles import EVERYTHING
from tests.crash.checker import CONTRADICTIONS
from tests.support.engines import Place, on_engines
from tests.support.together import run_together

from queuectl.core import outcome as kinds
from queuectl.core import states

pytestmark = on_engines(long=["mysql"])
PROCESSES = 4


@pytest.mark.parametrize("actions", [200, pytest.param(4_000, marks=pytest.mark.proof)])
def test_whoever_is_first_wins_and_the_others_change_nothing(place: Place, actions: int) -> None:
    store: Any = place.open()
    everybody = [(actor, (place, f"w{number}", number, actions)) for number in range(PROCESSES)]
    accounts: list[Account] = [*run_together(everybody), rescue_all(store)]
    check_promises(accounts)
    check_rows(store, accounts)
    done: Counter[str] = Counter()
    for account in accounts:
        done.update(account.done)
    assert done["claimed"] > 10, done
    assert done["cancelled"] + done["asked to end"] + done["removed"] > 5, done
    store.close()


def check_promises(accounts: list[Account]) -> None:
    """What the processes were told does not contradict itself, whoever was told it."""
    claims = [(seq, token) for account in accounts for seq, token, _ in account.claims]
    assert len(claims) == len(set(claims)), "one claim was handed out twice"
    accepted = Counter((seq, token) for seq, token, _ in verdicts(accounts))
    assert set(accepted.values()) <= {1}, "two verdicts on one claim were accepted"
    assert accepted.keys() == set(claims), "every claim ends by exactly one verdict"
    done = Counter(
        seq for account in accounts for seq, _, kind in account.accepted if kind == kinds.SUCCEEDED
    )
    assert set(done.values()) <= {1}, "a job was completed twice"
    buried = {worker for account in accounts for worker in account.buried}
    taken = [late for account in accounts for late in account.late if late[2] not in buried]
    assert not taken, f"claims that were taken from living workers: {taken}"


def verdicts(accounts: list[Account]) -> list[tuple[int, str, str]]:
    """All that were accepted. Two rescuers who lose the same job in the same millisecond say the very same:
    the second is told that it is stored, and it is, once.
    """
    lost = {verdict for account in accounts for verdict in account.accepted if verdict[2] == kinds.LOST}
    others = (verdict for account in accounts for verdict in account.accepted if verdict[2] != kinds.LOST)
    return [*lost, *others]


def check_rows(store: Any, accounts: list[Account]) -> None:
    """The store agrees with itself, and with what everybody was told."""
    db = store.connection
    found = {what: rows for what, sql in CONTRADICTIONS.items() if (rows := db.all(sql))}
    assert not found
    brought, removed = (sum(getattr(one, name) for one in accounts) for name in ("brought", "removed"))
    assert store.count(EVERYTHING) == brought - removed, "jobs that came or went without a word"
    told: dict[int, list[str]] = defaultdict(list)
    tokens: dict[int, set[str]] = defaultdict(set)
    for seq, token, kind in verdicts(accounts):
        if kind != kinds.UNSTARTED:  # as if it had never been claimed: no record
            told[seq].append(kind)
            tokens[seq].add(token)
    for job in store.page(EVERYTHING, limit=1_000):
        attempts = store.attempts(job.seq)
        outcomes = [attempt.outcome for attempt in attempts]
        assert sorted(outcomes) == sorted(told[job.seq]), (job.id, outcomes, told[job.seq])
        assert {attempt.claim for attempt in attempts} == tokens[job.seq]
        assert (kinds.SUCCEEDED in outcomes) == (job.state == states.COMPLETED), (job.id, job.state, outcomes)
        assert outcomes.count(kinds.SUCCEEDED) <= 1
        assert job.attempts <= job.max_retries + 1
