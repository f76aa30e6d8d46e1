"""A whole queue as JSON lines: a header, a line for each row, and a last line with counts and checksums."""

from __future__ import annotations

import json

from queuectl.core.tables import ATTEMPTS, TABLES, Sealer
from queuectl.core.times import iso
from queuectl.errors import QueuectlError
from queuectl.transfer import rules
from queuectl.transfer.progress import Tally
from queuectl.transfer.seals import difference, seal_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.store.api import Store
    from queuectl.transfer.progress import Progress
    from queuectl.transfer.rules import Living
    from queuectl.transfer.seals import Seals

VERSION = 1
_LOG = ATTEMPTS.names.index("log")


class Exported:
    """What an export has written."""

    __slots__ = ("logs_left_out", "seals")

    def __init__(self, seals: Seals, logs_left_out: int) -> None:
        self.seals = seals
        self.logs_left_out = logs_left_out  # attempts whose long output lies in files


def export(
    source: Store,
    write: Callable[[str], object],
    *,
    living: Living,
    now: int,
    program: str,
    progress: Progress,
) -> Exported:
    """Write all of it. The last line comes only when the queue is still as it was at the first."""
    rules.refuse_activity(source, living, what="this queue")
    total = sum(source.transfer().count(table) for table in TABLES)
    done = write_tables(source, write, head=header(source, now, program), total=total, progress=progress)
    _refuse_change(source, done.seals, living, Tally("verified", total, progress))
    write(footer(done))
    return done


def header(source: Store, now: int, program: str) -> dict[str, object]:
    head = {"queuectl": "export", "version": VERSION, "program": program, "at": iso(now)}
    return {**head, "from": source.location.shown}


def write_tables(
    source: Store,
    write: Callable[[str], object],
    *,
    head: dict[str, object],
    total: int,
    progress: Progress,
) -> Exported:
    """The first line and a line for each row."""
    write(json.dumps(head) + "\n")
    done = Tally("exported", total, progress)
    seals: Seals = {}
    logs = 0
    for table in TABLES:
        sealer = Sealer(table)
        for rows in source.transfer().chunks(table):
            write("".join(f'{{"table":"{table.name}","row":{line}}}\n' for line in sealer.add(rows)))
            if table is ATTEMPTS:
                logs += sum(row[_LOG] is not None for row in rows)
            done(len(rows))
        seals[table.name] = sealer.seal
    return Exported(seals, logs)


def footer(done: Exported) -> str:
    """The last line, which says that the file is whole."""
    tables = {name: seal._asdict() for name, seal in done.seals.items()}
    return json.dumps({"queuectl": "end", "tables": tables, "logs_left_out": done.logs_left_out}) + "\n"


def _refuse_change(source: Store, written: Seals, living: Living, seen: Tally) -> None:
    wrong = difference(written, seal_all(source, seen), here="in the file", there="in the queue now")
    rules.refuse_activity(source, living, what="this queue")
    if wrong is not None:
        raise QueuectlError(f"the queue was changed while it was exported: {wrong}", "try again")
