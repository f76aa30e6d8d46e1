"""Claim + finish on PostgreSQL and MariaDB, beside procrastinate. Running commands is left to throughput."""

from __future__ import annotations

from bench import claimers
from bench.contestants import Missing
from bench.peers import Procrastinate
from bench.places import MARIADB, POSTGRES, SERVERS, found, fresh_place, not_measured
from bench.race import ratio
from bench.table import Result, median
from bench.targets import at_least

LEAST = {POSTGRES: 6_000, MARIADB: 5_000}  # jobs per second of one process
MANY = 4  # processes
# procrastinate finishes a job before it fetches the next; several at once share the server's fsyncs.
PEER_TASKS = (1, 4)


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
        what = f"claim + finish on {engine}, batches of {claimers.BATCH}"
        return at_least(what, self.one[engine], "jobs/s", LEAST[engine])

    def _many(self, engine: str) -> Result:
        gain = ratio(self.many[engine], self.one[engine])
        return Result(
            f"… by {MANY} processes",
            self.many[engine],
            "jobs/s",
            peer="1 process",
            peer_values=self.one[engine],
            ratio=gain,
            target="≥ 1.0",
            good=gain >= 1.0,
        )

    def against_peer(self) -> Result:
        """Against the faster of the ways to use it."""
        tasks, rates = max(self.peer.items(), key=lambda item: median(item[1]))
        lead = ratio(self.one[POSTGRES], rates)
        return Result(
            f"claim + finish on {POSTGRES}, batches of {claimers.BATCH}",
            self.one[POSTGRES],
            "jobs/s",
            peer=f"procrastinate ×{tasks}",
            peer_values=rates,
            ratio=lead,
            target="≥ 5.0",
            good=lead >= 5.0,
        )


def claim_and_finish(servers: dict[str, str], *, rounds: int, count: int, peer_count: int) -> list[Result]:
    rates = ClaimRates(servers)
    what = f"claim + finish on {POSTGRES} against procrastinate"
    if POSTGRES not in servers:
        for _ in range(rounds):
            rates.measure(count)
        return [*rates.results(), not_measured(what, "no server")]
    try:
        peer = Procrastinate(servers[POSTGRES])
        for _ in range(rounds):
            rates.measure(count)
            rates.measure_peer(peer, peer_count)
    except Missing as error:
        while len(rates.one[POSTGRES]) < rounds:
            rates.measure(count)
        return [*rates.results(), not_measured(what, str(error))]
    return [*rates.results(), rates.against_peer()]


def measure(*, quick: bool = False) -> list[Result]:
    servers = found()
    missing = [
        not_measured(f"everything on {engine}", "no server") for engine in SERVERS if engine not in servers
    ]
    rounds, count, peer_count = (3, 5_000, 500) if quick else (5, 10_000, 2_000)
    return [*missing, *claim_and_finish(servers, rounds=rounds, count=count, peer_count=peer_count)]
