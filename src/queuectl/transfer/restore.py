"""A backup put back: made ready in a file of its own, then put in its place in one step.

Whoever dies on the way leaves the old queue or the new one. Making backups is left to `backup`.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager

from queuectl.core.tables import TABLES, Sealer
from queuectl.errors import Refused, StoreError
from queuectl.failpoints import failpoint
from queuectl.logfiles import is_log_file
from queuectl.paths import Location, make_private_dir
from queuectl.store import snapshots
from queuectl.transfer.archive import ARCHIVE, SQLITE, kind_of, unpack
from queuectl.transfer.backup import MARK
from queuectl.transfer.lost import free_running
from queuectl.transfer.progress import Tally
from queuectl.transfer.seals import difference, seal_all
from queuectl.transfer.wholefile import free_name, is_running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from queuectl.core.lifecycle import Policy
    from queuectl.core.tables import Row, Table
    from queuectl.store.api import Store
    from queuectl.transfer.progress import Progress
    from queuectl.transfer.seals import Seals

_WORK = ".restoring-"


class Prepared:
    """A backup that was read, checked and made ready, in a store of its own that nobody else knows."""

    __slots__ = ("directory", "file", "freed", "log_files", "made_at", "origin", "rows", "schedules")

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.file = os.path.join(directory, "queue.db")
        self.origin: str | None = None  # the queue that it was made of, and when
        self.made_at: str | None = None
        self.freed = 0  # jobs that were running
        self.log_files = 0
        self.rows: dict[str, int] = {}
        self.schedules = 0  # that are not paused

    @property
    def location(self) -> Location:
        return Location(self.file, self.file, os.path.join(self.directory, "state"))


@contextmanager
def workplace(target: Location) -> Iterator[str]:
    """A private directory beside the target, which is gone afterwards; so are those of restores that died."""
    parent = os.path.dirname(target.file) if target.file else make_private_dir(target.state_dir)
    stem = (os.path.basename(target.file) or "queue") + _WORK
    place = os.path.join(parent, f"{stem}{os.getpid()}")
    try:
        os.makedirs(parent, mode=0o700, exist_ok=True)
        for name in os.listdir(parent):
            pid = name.removeprefix(stem)
            if pid != name and pid.isdigit() and not is_running(int(pid)):
                shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
        os.mkdir(place, 0o700)
    except OSError as error:
        raise StoreError(f"cannot write in {parent}: {error.strerror}", "choose another place") from None
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def unpack_backup(path: str, prepared: Prepared, *, load: Callable[[str, Location], None]) -> None:
    """Whatever the backup is, as a SQLite file in the workplace. `load` reads an export into a new one."""
    kind, content = kind_of(path), path
    if kind == ARCHIVE:
        content, prepared.log_files = unpack(path, prepared.directory)
        kind = kind_of(content)
    if kind == SQLITE:
        snapshots.look_into(content)
        if content == path and os.path.exists(path + "-wal"):
            # Somebody has opened the backup as a store: the file alone is not all of it.
            snapshots.copy_file(content, prepared.file, mark=None, progress=lambda *_: None)
        elif content != prepared.file:
            shutil.copyfile(content, prepared.file)
            os.chmod(prepared.file, 0o600)
        return
    with open(content, "rb") as file:
        head = json.loads(file.readline() or b"{}")
    if isinstance(head, dict):
        prepared.origin, prepared.made_at = _text(head.get("from")), _text(head.get("at"))
    load(content, prepared.location)


def make_ready(store: Store, prepared: Prepared, *, policy: Policy, pause: bool, now: int) -> None:
    """Within the workplace: who was running is freed, and what says that it is a backup goes."""
    mark = store.stored_config().get(MARK)
    if mark is not None:
        made = json.loads(mark)
        prepared.origin, prepared.made_at = _text(made.get("from")), _text(made.get("at"))
        store.put_config(MARK, None, now)
    prepared.freed = free_running(store, policy, now)
    if pause:
        for schedule in store.schedules().all():
            store.schedules().pause(schedule.name, now)
    found = snapshots.look_into(prepared.file)
    prepared.rows, prepared.schedules = found.rows, found.schedules


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


# --- the last step ------------------------------------------------------------------------------------------


def put_new(prepared: Prepared, target: Location, kept: str) -> None:
    """Where no store is. The log of one that was there would be played into the new file: it goes aside."""
    snapshots.fold(prepared.file)
    aside = free_name(kept)
    for end in ("-wal", "-shm"):
        if os.path.lexists(target.file + end):
            os.replace(target.file + end, aside + end)
    failpoint("restore.ready")
    try:
        os.link(prepared.file, target.file)
    except FileExistsError:
        raise Refused(f"{target.file} has come into being meanwhile", "try again") from None
    except OSError:  # a file system without links
        os.rename(prepared.file, target.file)
    snapshots.sync(os.path.dirname(target.file))


def put_over(
    prepared: Prepared, target: Location, kept: str, progress: Progress, *, check: Callable[[], None]
) -> str:
    """Over a store in a file, which is kept aside, under the name that is returned."""
    snapshots.fold(prepared.file)
    aside = kept

    def keep() -> None:
        nonlocal aside
        check()
        # Only now: another restore may have kept what it replaced, in this very second.
        aside = free_name(kept)
        unfinished = aside + ".tmp"
        if os.path.lexists(unfinished):
            os.unlink(unfinished)  # of a restore that died
        try:
            snapshots.copy_file(
                target.file,
                unfinished,
                mark=None,
                progress=lambda done, all: progress("pages kept", done, all),
            )
            os.replace(unfinished, aside)
        except BaseException:
            if os.path.lexists(unfinished):
                os.unlink(unfinished)
            raise
        snapshots.sync(os.path.dirname(aside))

    snapshots.replace_content(
        target.file,
        prepared.file,
        keep=keep,
        progress=lambda done, all: progress("pages restored", done, all),
    )
    return aside


def put_for_damaged(prepared: Prepared, target: Location, kept: str) -> str:
    """In place of a file that cannot be opened any more; it and its log are moved aside."""
    snapshots.fold(prepared.file)
    aside = free_name(kept)
    os.link(target.file, aside)
    for end in ("-wal", "-shm"):
        if os.path.lexists(target.file + end):
            os.replace(target.file + end, aside + end)
    failpoint("restore.kept")
    os.replace(prepared.file, target.file)
    snapshots.sync(os.path.dirname(target.file))
    return aside


def put_on_server(source: Store, target: Store, *, replaced: Seals | None, progress: Progress) -> None:
    """In one transaction. `replaced`: what was kept aside; if anything else is there now, all stays."""
    seals = seal_all(source)

    def wipe() -> None:
        there = seal_all(target)
        gone = target.transfer().wipe()
        for table in TABLES:
            kept = replaced[table.name] if replaced else Sealer(table).seal
            if there[table.name] != kept or gone[table.name] != kept.rows:
                raise Refused(
                    f"{table.nouns} came, went or changed while the queue was kept aside",
                    "nothing was changed; try again",
                )

    def parts() -> Iterator[tuple[Table, list[Row]]]:
        done = Tally("restored", sum(seal.rows for seal in seals.values()), progress)
        for table in TABLES:
            for rows in source.transfer().chunks(table):
                yield table, rows
                done(len(rows))

    def compare() -> None:
        wrong = difference(seals, seal_all(target), here="in the backup", there="in the store")
        if wrong is not None:
            raise StoreError(f"what was stored is not what was read: {wrong}", "nothing was changed")

    target.transfer().put_all(parts, before=wipe, arrived=lambda: seal_all(target) == seals, after=compare)


def put_logs(prepared: Prepared, target: Location) -> None:
    """The log files of the backup, over those of the same name."""
    source = os.path.join(prepared.directory, "logs")
    if not prepared.log_files or not os.path.isdir(source):
        return
    make_private_dir(target.state_dir)
    make_private_dir(target.logs_dir)
    for directory in os.listdir(source):
        make_private_dir(os.path.join(target.logs_dir, directory))
        for name in os.listdir(os.path.join(source, directory)):
            path = os.path.join(directory, name)
            assert is_log_file(path), path
            # Not by a rename alone: logs/ may be another file system.
            shutil.move(os.path.join(source, path), os.path.join(target.logs_dir, path))
