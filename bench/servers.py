"""PostgreSQL and MariaDB beside our own SQLite, and claim + finish on them beside procrastinate."""

from __future__ import annotations

from bench import claimers
from bench.peers import Missing, Procrastinate, procrastinate
from bench.places import POSTGRES, SERVERS, SQLITE, Place, found, fresh_place, not_measured
from bench.table import Result, median

COMMAND = "true"  # the shortest there is, so that the store weighs most
MANY = 4  # processes
# procrastinate finishes a job before it fetches the next; several at once share the server's fsyncs.
PEER_TASKS = (1, 4)


def end_to_end(servers: dict[str, str], *, rounds: int, count: int) -> list[Result]:
    """From the first start to the last stored result, with two slots."""
    rates: dict[str, list[float]] = {engine: [] for engine in (SQLITE, *servers)}
    for _ in range(rounds):
        for engine, values in rates.items():
            with fresh_place(engine, servers) as place:
                values.append(_commands_per_second(place, count))
    results = []
    for engine in servers:
        ratio = _ratio(rates[engine], rates[SQLITE])
        results.append(
            Result(
                f"commands/s end to end on {engine}, sh -c {COMMAND!r}, 2 slots",
                rates[engine],
                "/s",
                peer=SQLITE,
                peer_values=rates[SQLITE],
                ratio=ratio,
                target="≥ 0.85",
                good=ratio >= 0.85,
            )
        )
    return results


def _commands_per_second(place: Place, count: int) -> float:
    with place.queue() as queue:
        queue.enqueue_many([COMMAND] * count)
        with place.workers(concurrency=2):
            queue.wait(filter=None)
        began, ended = queue.store.connection.all(  # type: ignore[attr-defined]  # not of the protocol
            "SELECT min(started_at), max(updated_at) FROM jobs"
        )[0]
        done = queue.stats().counts["completed"]
    assert done == count, f"{done} of {count} completed"
    return float(count / ((ended - began) / 1000))


class ClaimRates:
    """Jobs per second of each round: of one process, of many, and of procrastinate."""

    def __init__(self, servers: dict[str, str]) -> None:
        self.servers = servers
        self.one: dict[str, list[float]] = {engine: [] for engine in servers}
        self.many: dict[str, list[float]] = {engine: [] for engine in servers}
        self.peer: dict[int, list[float]] = {tasks: [] for tasks in PEER_TASKS}

    def measure(self, count: int) -> None:
        for engine in self.servers:
            for processes, values in ((1, self.one[engine]), (MANY, self.many[engine])):
                with fresh_place(engine, self.servers) as place:
                    values.append(claimers.rate(place, processes=processes, count=count))

    def measure_peer(self, peer: Procrastinate, count: int) -> None:
        for tasks, values in self.peer.items():
            values.append(peer.rate(count=count, tasks=tasks))

    def results(self) -> list[Result]:
        return [result for engine in self.servers for result in (self._one(engine), self._many(engine))]

    def _one(self, engine: str) -> Result:
        rates = self.one[engine]
        return Result(
            f"claim + finish on {engine}, batches of {claimers.BATCH}",
            rates,
            "jobs/s",
            target="≥ 4,000",
            good=median(rates) >= 4_000,
        )

    def _many(self, engine: str) -> Result:
        ratio = _ratio(self.many[engine], self.one[engine])
        return Result(
            f"… by {MANY} processes",
            self.many[engine],
            "jobs/s",
            peer="1 process",
            peer_values=self.one[engine],
            ratio=ratio,
            target="≥ 1.0",
            good=ratio >= 1.0,
        )

    def against_peer(self) -> Result:
        """Against the faster of the ways to use it."""
        tasks, rates = max(self.peer.items(), key=lambda item: median(item[1]))
        ratio = _ratio(self.one[POSTGRES], rates)
        return Result(
            f"claim + finish on {POSTGRES}, batches of {claimers.BATCH}",
            self.one[POSTGRES],
            "jobs/s",
            peer=f"procrastinate ×{tasks}",
            peer_values=rates,
            ratio=ratio,
            target="≥ 5.0",
            good=ratio >= 5.0,
        )


def claim_and_finish(servers: dict[str, str], *, rounds: int, count: int, peer_count: int) -> list[Result]:
    rates = ClaimRates(servers)
    what = f"claim + finish on {POSTGRES} against procrastinate"
    if POSTGRES not in servers:
        for _ in range(rounds):
            rates.measure(count)
        return [*rates.results(), not_measured(what, "no server")]
    try:
        with procrastinate(servers[POSTGRES]) as peer:
            for _ in range(rounds):
                rates.measure(count)
                rates.measure_peer(peer, peer_count)
    except Missing as error:
        while len(rates.one[POSTGRES]) < rounds:
            rates.measure(count)
        return [*rates.results(), not_measured(what, str(error))]
    return [*rates.results(), rates.against_peer()]


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return median([mine / peer for mine, peer in zip(ours, theirs, strict=True)])


def measure(
    *, rounds: int = 5, count: int = 3000, claims: int = 10_000, peer_claims: int = 2000
) -> list[Result]:
    servers = found()
    missing = [
        not_measured(f"everything on {engine}", "no server") for engine in SERVERS if engine not in servers
    ]
    return [
        *missing,
        *end_to_end(servers, rounds=rounds, count=count),
        *claim_and_finish(servers, rounds=rounds, count=claims, peer_count=peer_claims),
    ]
