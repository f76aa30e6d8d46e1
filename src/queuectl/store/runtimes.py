"""How long commands took that succeeded, by a digest of each: added to, made to fade, forgotten in time.

What a command is, and what follows from its durations, is left to `core.runtimes`.
"""

from __future__ import annotations

from queuectl.core.runtimes import UNKNOWN, Known, digest_of, percent_of
from queuectl.store.dialect import Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from queuectl.core.job import Job
    from queuectl.store.connection import Connection, Row

MOST_RUNS = 200  # of a command; then what is older counts half, so that the median follows changes
MOST_ROWS = 40_000  # some 10,000 commands
_CHUNK = 500
_AT_ONCE = 200_000  # commands: who does this has a lease to renew as well

RUNTIMES = Sum("runtimes", key="command, class", latest="seen_at", amount="jobs")


class Runtimes:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def of(self, commands: Iterable[str]) -> dict[str, Known]:
        """What is known of these; those of which nothing is are left out."""
        wanted = sorted(set(commands))
        found: dict[str, dict[int, int]] = {}
        for start in range(0, len(wanted), _CHUNK):
            for command, number, jobs, _ in _rows(self._db, wanted[start : start + _CHUNK]):
                found.setdefault(str(command), {})[int(str(number))] = int(str(jobs))
        return {command: Known(classes) for command, classes in found.items()}

    def prune(self, *, keep: int = MOST_ROWS, chunk: int = _CHUNK) -> int:
        """Forget all but `keep` rows: commands that ran but once first, then those not seen for longest.

        Every transaction deletes at most `chunk` commands.
        """
        row = self._db.one("SELECT count(*) FROM runtimes")
        surplus = int(str(row[0])) - keep if row else 0
        if surplus <= 0:
            return 0
        # That many commands, a row at least each: chosen once, as that goes through all there is.
        rows = self._db.all(
            "SELECT command FROM runtimes GROUP BY command "
            "ORDER BY CASE WHEN sum(jobs) = 1 THEN 0 ELSE 1 END, max(seen_at) LIMIT ?",
            (min(surplus, _AT_ONCE),),
        )
        commands = [str(row[0]) for row in rows]
        return sum(
            self._forget(sorted(commands[start : start + chunk])) for start in range(0, len(commands), chunk)
        )

    def _forget(self, commands: list[str]) -> int:
        return self._db.write(
            "unlearn",
            lambda _: self._db.run(f"DELETE FROM runtimes WHERE command IN ({_marks(commands)})", commands),
        )


def learn(db: Connection, runs: Mapping[tuple[str, int], int], now: int) -> None:
    """In a transaction of the caller's: how many took how long since, by digest and class."""
    # In one order everywhere, so that two who do this never wait for each other; all classes of a command at
    # once, as fading changes those too that we add nothing to.
    commands = sorted({command for command, _ in runs})
    if db.dialect.hold:
        for start in range(0, len(commands), _CHUNK):
            _rows(db, commands[start : start + _CHUNK], db.dialect.hold)
    db.sum(RUNTIMES, [(*key, now, jobs) for key, jobs in sorted(runs.items())])
    for start in range(0, len(commands), _CHUNK):
        _fade(db, _rows(db, commands[start : start + _CHUNK]))


def _fade(db: Connection, rows: Sequence[Row]) -> None:
    totals: dict[object, int] = {}
    for command, _, jobs, _ in rows:
        totals[command] = totals.get(command, 0) + int(str(jobs))
    less: list[tuple[object, ...]] = []
    for command, number, jobs, seen_at in rows:
        if totals[command] > MOST_RUNS:
            amount = int(str(jobs))
            less.append((command, number, seen_at, amount * (MOST_RUNS // 2) // totals[command] - amount))
    if less:
        db.sum(RUNTIMES, less)  # taken away, not set: others may have added meanwhile
        full = sorted({str(row[0]) for row in less})
        db.run(f"DELETE FROM runtimes WHERE jobs <= 0 AND command IN ({_marks(full)})", full)


def set_limits(db: Connection, jobs: Sequence[Job]) -> None:
    """Work out the timeouts of claimed jobs that have one in percent; what is not known leaves the others."""
    wanted = {id(job): digest_of(job.command, job.argv, job.cwd) for job in jobs if percent_of(job)}
    if not wanted:
        return
    known = Runtimes(db).of(wanted.values())
    for job in jobs:
        percent = percent_of(job)
        if percent:
            usual = known.get(wanted[id(job)], UNKNOWN)
            limit = usual.limit_ms(percent)
            if limit is not None:
                job.timeout, job.usual_ms = limit, usual.median_ms


def _rows(db: Connection, commands: Sequence[str], lock: str = "") -> Sequence[Row]:
    return db.all(
        f"SELECT command, class, jobs, seen_at FROM runtimes WHERE command IN ({_marks(commands)}) "
        f"ORDER BY command, class{lock}",
        tuple(commands),
    )


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
