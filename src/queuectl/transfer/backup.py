"""A backup of a queue that goes on working: a file of one moment, whole under its name or not there at all.

A store in a file is copied page by page, one on a server is written as `export` writes it. Log files come
along in an archive if wanted. Putting it back is left to `restore`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time

from queuectl import system
from queuectl.core.states import PROCESSING
from queuectl.core.tables import ATTEMPTS, JOBS, TABLES
from queuectl.core.times import iso
from queuectl.errors import InvalidInput, Refused, StoreError
from queuectl.failpoints import failpoint
from queuectl.store import snapshots
from queuectl.transfer.archive import pack
from queuectl.transfer.export import footer, header, write_tables
from queuectl.transfer.exportfile import ExportFile
from queuectl.transfer.progress import Tally
from queuectl.transfer.rules import origin_of
from queuectl.transfer.wholefile import (
    clear_leftovers,
    give_name,
    refuse_existing,
    refuse_store,
    remove,
    unfinished_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuectl.paths import Location
    from queuectl.store.api import Store
    from queuectl.transfer.progress import Progress
    from queuectl.transfer.seals import Seals

MARK = "_backup"  # among the settings of the copy: where it comes from, and when it was made
_STATE = JOBS.names.index("state")
_JOB_SEQ, _RUN, _LOG = (ATTEMPTS.names.index(name) for name in ("job_seq", "run", "log"))


class BackedUp:
    """What a backup holds."""

    __slots__ = ("deleted", "file", "logs", "logs_left_out", "processing", "rows", "seals", "size")

    def __init__(self, file: str, rows: dict[str, int], processing: int, logs_left_out: int) -> None:
        self.file = file
        self.rows = rows
        self.processing = processing  # jobs that were running
        self.logs = 0  # attempts whose log files came along
        self.logs_left_out = logs_left_out  # those whose files did not
        self.seals: Seals = {}  # of an export
        self.size = 0
        self.deleted: list[str] = []  # older backups


def back_up(
    store: Store, path: str, *, logs: bool, force: bool, now: int, program: str, progress: Progress
) -> BackedUp:
    """Write a backup of this moment to `path`, a file that must not exist unless `force` says so."""
    shown, path = path, os.path.abspath(path)
    _refuse(store, path, force=force)
    clear_leftovers(os.path.dirname(path), re.escape(os.path.basename(path)))
    unfinished = unfinished_name(path)
    content = unfinished + ".content" if logs else unfinished
    try:
        if store.location.shared:
            done = _export(store, path, content, now=now, program=program, progress=progress)
        else:
            done = _copy(store, path, content, now=now, program=program, progress=progress)
        if logs:
            packed = pack(unfinished, content, store.location.logs_dir, progress)
            done.logs = sum(key in packed for key in _logged(content, shared=store.location.shared))
            done.logs_left_out -= done.logs
            os.unlink(content)
        failpoint("backup.written")
        done.size = os.stat(unfinished).st_size
        _put(unfinished, path, force=force)
        done.file = shown
    finally:
        for rest in (unfinished, content, content + "-journal"):
            remove(rest)
    return done


def _refuse(store: Store, path: str, *, force: bool) -> None:
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        raise InvalidInput(f"there is no directory {parent}", f"mkdir -p {parent}")
    refuse_store(path, store.location, "a backup")
    if os.path.lexists(path) and not os.path.isfile(path):
        raise InvalidInput(f"{path} is not an ordinary file", "name another file")
    if not force:
        refuse_existing(path)


def _copy(store: Store, path: str, target: str, *, now: int, program: str, progress: Progress) -> BackedUp:
    file = store.location.file
    made = json.dumps({"from": origin_of(store.location), "at": iso(now), "program": program})
    snapshots.copy_file(
        file,
        target,
        mark=(MARK, made, now),
        progress=lambda pages, total: progress("pages copied", pages, total),
    )
    failpoint("backup.copied")
    found = snapshots.look_into(target)
    rows = {**found.rows, "config": found.rows["config"] - 1}
    return BackedUp(path, rows, found.processing, found.logs)


def _export(store: Store, path: str, target: str, *, now: int, program: str, progress: Progress) -> BackedUp:
    """All tables as of one moment, then read back and compared with their checksums."""
    running = 0
    try:
        fd = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}", "choose another place") from None
    with open(fd, "w", encoding="ascii") as file, store.transfer().frozen():
        total = sum(store.transfer().count(table) for table in TABLES)
        head = {**header(store, now, program), "live": True}
        done = write_tables(store, file.write, head=head, total=total, progress=progress)
        file.write(footer(done))
        file.flush()
        os.fsync(file.fileno())
    failpoint("backup.copied")
    with open(target, "rb") as reader:
        found = ExportFile(reader)
        size = os.stat(target).st_size
        found.check(Tally("bytes verified", size, progress), edited=False, running=True)
        for table, rows in found.parts():
            running += sum(row[_STATE] == PROCESSING for row in rows) if table is JOBS else 0
    counts = {name: seal.rows for name, seal in done.seals.items()}
    result = BackedUp(path, counts, running, done.logs_left_out)
    result.seals = done.seals
    return result


def _logged(content: str, *, shared: bool) -> Iterator[tuple[int, int]]:
    """Job and run of every attempt in the backup whose long output lies in files."""
    if not shared:
        yield from snapshots.logged(content)
        return
    with open(content, "rb") as file:
        for table, rows in ExportFile(file).parts():
            if table is ATTEMPTS:
                yield from ((int(str(r[_JOB_SEQ])), int(str(r[_RUN]))) for r in rows if r[_LOG] is not None)


def _put(unfinished: str, path: str, *, force: bool) -> None:
    snapshots.sync(unfinished)
    if os.path.lexists(path + "-wal"):
        # Somebody has used a backup of this name as a store. Its log would be played into the new file.
        if not os.path.exists(path):
            raise Refused(f"{path}-wal is the log of another store", "name another file")
        snapshots.fold(path)
    give_name(unfinished, path, force=force)
    snapshots.sync(os.path.dirname(path))
    failpoint("backup.put")


# --- by date ------------------------------------------------------------------------------------------------


def dated_name(store: Store, *, logs: bool, now: int) -> str:
    """`queue-1f0c9a3e-20261117T031500Z.db`: in the order of time when they are sorted."""
    kind = "tar" if logs else "jsonl" if store.location.shared else "db"
    return f"{stem(store.location)}-{stamp(now)}.{kind}"


def stamp(now: int) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now / 1000))


def prune(store: Store, directory: str, *, keep: int, made: str) -> list[str]:
    """Delete the oldest backups of this store that have a dated name, but for so many; their names."""
    pattern = re.compile(_dated(store.location))
    mine = sorted((name for name in os.listdir(directory) if pattern.fullmatch(name)), key=_stamp)
    gone = [name for name in mine[:-keep] if name != os.path.basename(made)]  # the clock may have gone back
    for name in gone:
        remove(os.path.join(directory, name))
    return gone


def clear_dated_leftovers(store: Store, directory: str) -> None:
    """No later backup has the name of one that was killed."""
    clear_leftovers(directory, _dated(store.location))


def _stamp(name: str) -> str:
    return name.rpartition(".")[0]


def _dated(location: Location) -> str:
    """A pattern for the names of this store's backups. Without its mark they may be another's."""
    return re.escape(stem(location)) + r"-[0-9]{8}T[0-9]{6}Z\.(?:db|jsonl|tar)"


def stem(location: Location, host: str | None = None) -> str:
    """For people the name of the store; then a mark that no store of that name in another place has.

    `host` is the machine; None: this one.
    """
    name = os.path.splitext(os.path.basename(location.file))[0]
    if not name:
        database = location.shown.partition("?")[0].rstrip("/").rpartition("/")[2]
        name = re.sub(r"[^\w.-]", "_", database) or "queue"
    return (
        f"{name}-{hashlib.sha256(os.fsencode(_place(location, host or system.hostname()))).hexdigest()[:8]}"
    )


def _place(location: Location, host: str) -> str:
    """The same for every way to name it. What is local is another store on another machine."""
    if location.file:
        return origin_of(location, host)
    from queuectl.address import Address

    place, address = os.path.basename(location.state_dir), Address(location.url)
    server = address.options.get("host") or address.host or "localhost"
    local = (
        server in ("localhost", "127.0.0.1", "::1")
        or server.startswith("/")
        or "unix_socket" in address.options
    )
    return f"{host}:{place}" if local else place
