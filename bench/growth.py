"""With ten thousand, a million and ten million jobs in the store: what claiming, running and looking cost."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from bench import filling, looks
from bench.claimers import Claimer
from bench.places import SERVERS, SQLITE, Place, found, fresh_place, lacking_room, not_measured
from bench.plans import surprises
from bench.table import STATED, Result, median
from bench.targets import compared, stated
from queuectl.testing import wait_until

SIZES = (10_000, 1_000_000, 10_000_000)
SERVER_SIZES = SIZES[:2]  # by default: filling goes on at some 25,000 jobs a second
QUICK_SIZES = (10_000, 200_000)
MOST = 1.5  # times as long as with the fewest jobs
BATCH = 20
RUN = 1_500  # commands of each round

_WARM_UP = 50
_BYTES_A_JOB = 1_500  # with its indexes, its attempt and the server's log
_PATIENCE = 120.0


class Grown:
    """A store of some size, and what was measured in it."""

    def __init__(self, place: Place, claimer: Claimer, size: int) -> None:
        self.place = place
        self.claimer = claimer
        self.size = size
        self.early: list[float] = []  # milliseconds of each claim, before the server has looked at its tables
        self.claims: list[float] = []  # afterwards
        self.rates: list[float] = []  # commands per second

    def fill(self, spare: int) -> None:
        """`spare` are the jobs that are used up here."""
        began = time.monotonic()
        with self.place.queue() as queue:
            filling.everything(queue, self.size - spare)
            filling.pending(queue, spare)
        print(
            f"  {self.place.engine}: {self.size:,} jobs filled in within {time.monotonic() - began:.0f} s",
            file=sys.stderr,
        )

    def claim(self, times: list[float]) -> None:
        jobs = self.claimer.exchange()
        assert len(jobs) == BATCH, f"{len(jobs)} of {BATCH} claimed"
        times.append(self.claimer.seconds * 1000)

    def run(self) -> None:
        """A worker runs the next jobs of those that wait, with two slots; from first start to last end."""
        since = self.claimer.queue.clock.now()
        with self.place.workers(concurrency=2):
            wait_until(lambda: self._ended(since)[0] >= RUN, timeout=_PATIENCE)
        count, began, ended = self._ended(since)
        self.rates.append(count / ((ended - began) / 1000))

    def _ended(self, since: int) -> tuple[int, int, int]:
        """How many, when the first of them began, when the last ended: the end of an index."""
        db: Any = self.claimer.queue.store.connection
        row = db.one(
            "SELECT count(*), min(started_at), max(finished_at) FROM jobs "
            "WHERE finished_at IS NOT NULL AND state = 'completed' AND queue = 'default' AND finished_at > ? "
            "AND exit_code = 0",
            (since,),
        )
        return int(row[0]), int(row[1] or 0), int(row[2] or 0)

    def settle(self) -> None:
        with self.place.queue() as queue:
            filling.settle(queue, self.place.engine)


def measure(*, quick: bool = False) -> list[Result]:
    servers = found()
    claims, rounds = (50, 2) if quick else (100, 3)
    results = []
    for engine in (SQLITE, *SERVERS):
        sizes = QUICK_SIZES if quick else SIZES if engine == SQLITE else SERVER_SIZES
        lacking = lacking_room(sum(sizes) * _BYTES_A_JOB) if engine in (SQLITE, *servers) else "no server"
        if lacking:
            results.append(not_measured(f"growth on {engine}", lacking))
        else:
            try:
                results += _grow(engine, servers, sizes, claims=claims, rounds=rounds)
            except AssertionError as error:  # what was measured of the other engines shall not be lost
                results.append(not_measured(f"growth on {engine}", str(error)))
    return results


def _grow(
    engine: str, servers: dict[str, str], sizes: Sequence[int], *, claims: int, rounds: int
) -> list[Result]:
    with ExitStack() as stack:
        stores = [stack.enter_context(_grown(engine, servers, size)) for size in sizes]
        for store in stores:
            store.fill((2 * claims + 1) * BATCH + rounds * (RUN + RUN // 10))
        odd = _claim(stores, claims)
        looked = [result for store in stores for result in looks.use_cases(store.place, store.size)]
        looked += looks.commands(stores[-1].place, stores[-1].size)
        for _ in range(rounds):
            for store in stores:
                store.run()
    return [
        *(_claimed(store, stores[0]) for store in stores),
        *(_claimed_early(store, stores[0]) for store in stores[1:] if store.early),
        Result(
            f"sorts and full scans in the plans of a claim on {engine}",
            [len(odd)],
            "",
            target="0",
            good=not odd,
        ),
        *(_ran(store, stores[0]) for store in stores),
        *looked,
    ]


def _claim(stores: Sequence[Grown], claims: int) -> list[str]:
    """In turn: whatever disturbs the machine disturbs them all. Returns what is odd about the plans."""
    engine = stores[0].place.engine
    if engine in SERVERS:
        for _ in range(claims):
            for store in stores:
                store.claim(store.early)
        for store in stores:
            store.settle()
    for _ in range(claims):
        for store in stores:
            store.claim(store.claims)
    odd = surprises(stores[-1].claimer, engine)
    for line in odd:
        print(f"*** {line}", file=sys.stderr)
    for store in stores:
        store.claimer.close()
    return odd


@contextmanager
def _grown(engine: str, servers: dict[str, str], size: int) -> Iterator[Grown]:
    """Workers are there before the jobs: their statements are prepared, and their plans may be old ones."""
    with fresh_place(engine, servers) as place, place.queue() as queue:
        filling.let_age(queue, engine)
        claimer = Claimer(queue, BATCH)
        for _ in range(_WARM_UP):
            claimer.exchange()
        yield Grown(place, claimer, size)


def _claimed(store: Grown, least: Grown) -> Result:
    what = f"claim of {BATCH} among {store.size:,} jobs on {store.place.engine}"
    return _judged(what, store, least, store.claims, least.claims)


def _claimed_early(store: Grown, least: Grown) -> Result:
    what = f"claim among {store.size:,} on {store.place.engine}, by statistics of when it was empty"
    return _judged(what, store, least, store.early, least.early)


def _judged(what: str, store: Grown, least: Grown, times: list[float], few: list[float]) -> Result:
    if store is least:
        result = stated(what, times, "ms")
    else:
        peer = f"{least.size:,} jobs"
        result = compared(what, times, "ms", peer=peer, peer_values=few, most=MOST)
    result.size = store.size
    return result


def _ran(store: Grown, least: Grown) -> Result:
    what = f"throughput among {store.size:,} jobs on {store.place.engine}, 2 slots"
    if store is least:
        return Result(what, store.rates, "/s", target=STATED, good=True, size=store.size)
    slower = median([few / many for few, many in zip(least.rates, store.rates, strict=True)])
    return Result(
        what,
        store.rates,
        "/s",
        peer=f"{least.size:,} jobs",
        peer_values=least.rates,
        ratio=1 / slower,
        target=f"≥ 1/{MOST:g}",
        good=slower <= MOST,
        size=store.size,
    )
