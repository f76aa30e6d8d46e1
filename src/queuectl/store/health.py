"""What a look at a store finds: the words for it, how checks are run, and what all engines are asked alike.

What each engine is asked besides is left to health_sqlite.py, health_postgres.py and health_mysql.py.
"""

from __future__ import annotations

import re

from queuectl.errors import QueuectlError, StoreAway, StoreCorrupt
from queuectl.store.compatibility import OLDEST
from queuectl.store.tallies import totals, wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from queuectl.store.connection import Connection

    Check = tuple[str, Callable[[], Iterable["Finding"]]]

OK, NOTE, WARNING, PROBLEM = LEVELS = ("ok", "note", "warning", "problem")

# Rows that are not what they should be, as a stranger or a damaged disk may leave them.
_NONSENSE = (ValueError, TypeError, LookupError, AssertionError)

_FROM_BACKUP = "go back to a backup: queuectl worker stop, then queuectl restore FILE"

_IN_ADDRESS = re.compile(r"(\w://[^\s:/@]*):[^\s/]*@")
_IN_OPTIONS = re.compile(r"\b((?:ssl)?passw(?:or)?d\s*=\s*)('[^']*'|[^\s&]+)", re.IGNORECASE)


class Finding:
    """One thing that was looked at, and how it is."""

    __slots__ = ("fatal", "group", "level", "mend", "what", "why")

    def __init__(
        self,
        level: str,
        group: str,
        what: str,
        *,
        why: str | None = None,
        mend: str | None = None,
        fatal: bool = False,
    ) -> None:
        self.level = level
        self.group = group
        self.what = without_password(what)
        self.why = None if why is None else without_password(why)  # why it matters
        self.mend = None if mend is None else without_password(mend)  # the command or setting that mends it
        self.fatal = fatal  # the store cannot be used at all

    def to_dict(self) -> dict[str, str | None]:
        return {
            "level": self.level,
            "check": self.group,
            "message": self.what,
            "why": self.why,
            "fix": self.mend,
        }


class Waiting:
    """The jobs of one queue that are due and wait for a worker, and for the same resources."""

    __slots__ = ("jobs", "needs", "oldest", "queue")

    def __init__(self, queue: str, jobs: int, oldest: int, needs: str | None = None) -> None:
        self.queue = queue
        self.jobs = jobs
        self.oldest = oldest  # since when, epoch milliseconds
        self.needs = needs


class Trapped:
    """Blocked jobs that nothing but a person sets free."""

    __slots__ = ("held", "held_since", "orphan", "orphans")

    def __init__(self, orphans: int, orphan: str | None, held: int, held_since: int | None) -> None:
        self.orphans = orphans  # jobs that wait for jobs which do not exist
        self.orphan = orphan  # one of them
        self.held = held
        self.held_since = held_since


def without_password(text: str) -> str:
    """A driver's message may repeat what it was given; ours never hold a password to begin with."""
    return _IN_OPTIONS.sub(r"\1***", _IN_ADDRESS.sub(r"\1@", text))


def look(group: str, checks: Iterable[Check]) -> list[Finding]:
    """Run checks; what one of them may not see, or cannot read, does not keep us from the others."""
    found: list[Finding] = []
    for name, check in checks:
        try:
            found += check()
        except StoreAway:
            raise
        except StoreCorrupt as error:
            mend = error.hint or _FROM_BACKUP
            found.append(Finding(PROBLEM, group, error.message, why="jobs may be lost", mend=mend))
        except QueuectlError as error:
            mend = error.hint or "queuectl init"  # brings the tables up to date
            found.append(
                Finding(NOTE, group, f"{name}: could not be looked at", why=error.message, mend=mend)
            )
        except _NONSENSE as error:
            why = f"what is stored there makes no sense ({type(error).__name__}: {error})"
            found.append(
                Finding(WARNING, group, f"{name}: could not be looked at", why=why, mend=_FROM_BACKUP)
            )
        if any(finding.fatal for finding in found):
            break
    return found


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shown_size(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


# --- what all engines are asked -----------------------------------------------------------------------


def waiting(connection: Connection) -> list[Waiting]:
    rows = connection.all(
        "SELECT queue, needs, count(*), min(run_at) FROM jobs WHERE state = 'pending' "
        "GROUP BY queue, needs ORDER BY queue, needs"
    )
    return [
        Waiting(str(queue), int(str(jobs)), int(str(oldest)), None if needs is None else str(needs))
        for queue, needs, jobs, oldest in rows
    ]


# Whoever still has to be told of a parent's end, or of its going, is not lost yet.
_ORPHANS = """SELECT count(*), min(id) FROM jobs WHERE state = 'blocked' AND waits IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM dependencies AS d JOIN jobs AS parent ON parent.seq = d.parent_seq
        WHERE d.child_seq = jobs.seq AND d.settled IS NULL)
    AND NOT EXISTS (SELECT 1 FROM dependencies AS d JOIN unsettled ON unsettled.seq = d.parent_seq
        WHERE d.child_seq = jobs.seq)"""
_HELD = "SELECT count(*), min(updated_at) FROM jobs WHERE state = 'blocked' AND held IS NOT NULL"


def trapped(connection: Connection) -> Trapped:
    orphans, orphan = connection.all(_ORPHANS)[0]
    held, since = connection.all(_HELD)[0]
    return Trapped(
        int(str(orphans)),
        None if orphan is None else str(orphan),
        int(str(held)),
        None if since is None else int(str(since)),
    )


_STUCK = "state = 'processing' AND NOT EXISTS (SELECT 1 FROM {0}workers AS w WHERE w.id = worker_id)"


def stuck(connection: Connection, place: str = "") -> list[Finding]:
    """Jobs that are processing under a worker that does not exist; `place` comes before a table's name."""
    condition = _STUCK.format(place)
    row = connection.all(f"SELECT count(*), min(id) FROM {place}jobs WHERE {condition}")[0]
    number = int(str(row[0]))
    if not number:
        return [Finding(OK, "jobs", "every running job has its worker")]
    return [
        Finding(
            PROBLEM,
            "jobs",
            f"{count(number, 'job')} processing under a worker that does not exist (like {row[1]})",
            why="nobody will ever finish or free them",
            mend=f"UPDATE {place}jobs SET state = 'pending', claim = NULL, worker_id = NULL "
            f"WHERE {condition}",
        )
    ]


_MANY = 1_000_000  # jobs: to count them takes longer than the doctor shall


def counts(connection: Connection, *, full: bool) -> list[Finding]:
    """Whether the counts that the store keeps are those of its rows."""
    kept = sum(jobs for states in totals(connection).values() for jobs in states.values())
    if kept > _MANY and not full:
        return []
    rows = wrong(connection)
    if not rows:
        return [Finding(OK, "jobs", f"the counts are right: {count(kept, 'job')}")]
    queue, state, off = rows[0]
    return [
        Finding(
            WARNING,
            "jobs",
            f"{count(len(rows), 'count')} of jobs wrong (like queue {queue}, {state}: {-int(str(off)):+,})",
            why="somebody else has changed jobs: status and list go by these counts",
            mend="queuectl doctor --recount",
        )
    ]


def schema_version(found: int, latest: int, shown: str, *, compatible: bool = False) -> list[Finding]:
    """What is not 0: a place without a queue says so in its own words."""
    if found == latest:
        return [Finding(OK, "tables", f"schema version {found}")]
    if found > latest and compatible:
        return [
            Finding(
                NOTE,
                "tables",
                f"schema version {found} is newer than this queuectl's ({latest}), which may go on with it",
                why="what is new in it, this version does not do",
                mend="pip install --upgrade queuectl",
            )
        ]
    if found > latest:
        return [
            Finding(
                PROBLEM,
                "tables",
                f"{shown} was written by a newer queuectl (schema {found}, this one knows {latest})",
                why="this version must not touch it",
                mend="pip install --upgrade queuectl",
                fatal=True,
            )
        ]
    return [
        Finding(
            WARNING,
            "tables",
            f"schema version {found} is older than this queuectl's ({latest})",
            why="the next command that opens the store brings it up to date",
            mend="queuectl init && queuectl worker restart"
            if found >= OLDEST
            else "queuectl worker stop && queuectl init",
        )
    ]


def no_queue(shown: str) -> Finding:
    return Finding(
        PROBLEM,
        "tables",
        f"there is no queue at {shown} yet",
        why="there is nothing to work on",
        mend="queuectl init",
        fatal=True,
    )


def foreign(shown: str, mend: str) -> Finding:
    return Finding(
        PROBLEM,
        "tables",
        f"{shown} holds tables of another program",
        why="queuectl touches only its own",
        mend=mend,
        fatal=True,
    )
