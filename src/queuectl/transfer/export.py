"""A whole queue as JSON lines: a header, a line for each row, and a last line with counts and checksums."""

from __future__ import annotations

import json
import os
import stat

from queuectl.core.tables import ATTEMPTS, TABLES, Sealer
from queuectl.core.times import iso
from queuectl.errors import InvalidInput, QueuectlError
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
    head = {"queuectl": "export", "version": VERSION, "program": program, "at": iso(now)}
    write(json.dumps({**head, "from": source.location.shown}) + "\n")
    total = sum(source.transfer().count(table) for table in TABLES)
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
    _refuse_change(source, seals, living, Tally("verified", total, progress))
    tables = {name: seal._asdict() for name, seal in seals.items()}
    write(json.dumps({"queuectl": "end", "tables": tables, "logs_left_out": logs}) + "\n")
    return Exported(seals, logs)


def _refuse_change(source: Store, written: Seals, living: Living, seen: Tally) -> None:
    wrong = difference(written, seal_all(source, seen), here="in the file", there="in the queue now")
    rules.refuse_activity(source, living, what="this queue")
    if wrong is not None:
        raise QueuectlError(f"the queue was changed while it was exported: {wrong}", "try again")


class WholeFile:
    """A private file that stands under its name only when it is whole, and on the disk.

    What is no ordinary file (a pipe, /dev/null) is written to as it is, never replaced.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        self._replaces = not os.path.exists(self._path) or stat.S_ISREG(os.stat(self._path).st_mode)
        self._unfinished = self._path + ".tmp" if self._replaces else self._path
        try:
            if self._replaces and os.path.lexists(self._unfinished):
                os.unlink(self._unfinished)  # of an export that died
            flags = os.O_CREAT | os.O_EXCL if self._replaces else 0
            fd = os.open(self._unfinished, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error.strerror}", "choose another file") from None
        self._file = open(fd, "w", encoding="ascii")  # noqa: SIM115  # closed by __exit__
        self.write = self._file.write

    def __enter__(self) -> WholeFile:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._give_up()
            return
        try:
            self._file.flush()
            if self._replaces:
                os.fsync(self._file.fileno())
            self._file.close()
            if self._replaces:
                os.replace(self._unfinished, self._path)
                _sync_directory(os.path.dirname(self._path))
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        try:
            self._file.close()
        except OSError:
            pass  # a full disk: what went before says so already
        if self._replaces and os.path.lexists(self._unfinished):
            os.unlink(self._unfinished)


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
