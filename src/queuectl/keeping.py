"""Backups of a queue and what becomes of them: wires what `transfer` needs to make one and to put it back.

Its words for people are left to the command line.
"""

from __future__ import annotations

import os

from queuectl.app import living_workers, open_queue
from queuectl.clock import SYSTEM_CLOCK
from queuectl.config.settings import Settings
from queuectl.config.sources import load
from queuectl.errors import InvalidInput, Refused, StoreCorrupt
from queuectl.paths import SQLITE, locate
from queuectl.store import snapshots
from queuectl.store.open import open_store
from queuectl.transfer import restore as putting
from queuectl.transfer import rules
from queuectl.transfer.archive import kind_of
from queuectl.transfer.backup import back_up, clear_dated_leftovers, dated_name, prune, stamp
from queuectl.transfer.load import check_file
from queuectl.transfer.load import load as load_export
from queuectl.transfer.wholefile import free_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.clock import Clock
    from queuectl.paths import Location
    from queuectl.store.api import Store
    from queuectl.transfer.backup import BackedUp
    from queuectl.transfer.progress import Progress
    from queuectl.transfer.restore import Prepared
    from queuectl.transfer.seals import Seals

__all__ = ["Restored", "make_backup", "restore"]


def make_backup(
    url: str | None, path: str, *, logs: bool = False, force: bool = False, keep: int = 0, progress: Progress
) -> BackedUp:
    """Back the queue at `url` up into a file, or into a directory under a dated name; workers go on."""
    from queuectl import __version__

    dated = path.endswith(os.sep) or os.path.isdir(path)
    if keep and not dated:
        raise InvalidInput("--keep is for backups in a directory", "name a directory: queuectl backup DIR/")
    with open_queue(url, create=False) as queue:
        store, now = queue.store, queue.clock.now()
        if dated:
            os.makedirs(path, mode=0o700, exist_ok=True)
            clear_dated_leftovers(store, path)
        file = os.path.join(path, dated_name(store, logs=logs, now=now)) if dated else path
        done = back_up(store, file, logs=logs, force=force, now=now, program=__version__, progress=progress)
        if keep:
            done.deleted = prune(store, path, keep=keep, made=file)
        return done


class Restored:
    """What was put back, and where."""

    __slots__ = ("aside", "prepared", "same_place", "target")

    def __init__(self, prepared: Prepared, target: Location, aside: str | None) -> None:
        self.prepared = prepared
        self.target = target
        self.aside = aside  # where the queue is now that was there before
        self.same_place = prepared.origin == rules.origin_of(target)


def restore(
    url: str | None,
    path: str,
    *,
    pause: bool = False,
    agree: Callable[[str], bool],
    progress: Progress,
    clock: Clock = SYSTEM_CLOCK,
) -> Restored | None:
    """Put a backup back. `agree` is asked before a queue is replaced; None: it said no."""
    target = locate(url)
    now = clock.now()
    if (
        target.file
        and os.path.exists(path)
        and os.path.exists(target.file)
        and os.path.samefile(path, target.file)
    ):
        raise InvalidInput(
            "the backup is the store itself", "name another store with --db, or another backup"
        )
    kind_of(path)
    held = _held(target) if target.shared or os.path.exists(target.file) else ""
    if held != "" and not agree(f"replace the queue at {target.shown} ({held or 'damaged'})?"):
        return None
    with putting.workplace(target) as directory:
        prepared = putting.Prepared(directory)
        putting.unpack_backup(path, prepared, load=lambda file, where: _load(file, where, progress))
        _make_ready(prepared, pause=pause, now=now)
        if target.shared:
            return _on_server(prepared, target, now, progress)
        return _in_file(prepared, target, now, progress)


def _load(file: str, where: Location, progress: Progress) -> None:
    with open(file, "rb") as opened:
        found = check_file(opened, edited=False, parse=Settings, progress=progress, running=True)
        store = open_store(where)
        try:
            load_export(found, store, living=living_workers, progress=progress)
        finally:
            store.close()


def _make_ready(prepared: Prepared, *, pause: bool, now: int) -> None:
    store = open_store(prepared.location, create=False)
    try:
        try:
            policy = load(store.stored_config()).policy
        except InvalidInput:
            policy = Settings().policy  # of an older time; the next command will say what is wrong
        putting.make_ready(store, prepared, policy=policy, pause=pause, now=now)
    finally:
        store.close()


# --- into a file --------------------------------------------------------------------------------------------


def _in_file(prepared: Prepared, target: Location, now: int, progress: Progress) -> Restored:
    kept, aside = f"{target.file}.replaced-{stamp(now)}", None
    if not os.path.exists(target.file):
        _make_home(target)
        putting.put_new(prepared, target, kept)
    elif _held(target) is None:  # asked again: workers may have started meanwhile
        aside = putting.put_for_damaged(prepared, target, kept)
    else:
        last = snapshots.last_number(target.file)
        snapshots.number_from(prepared.file, last)

        def check() -> None:  # with the write lock held: from now on nobody can come
            _held(target)
            if snapshots.last_number(target.file) != last:
                raise Refused("jobs came in meanwhile", "nothing was changed; try again")

        aside = putting.put_over(prepared, target, kept, progress, check=check)
    snapshots.look_into(target.file)
    putting.put_logs(prepared, target)
    return Restored(prepared, target, aside)


def _held(target: Location) -> str | None:
    """What the present store holds; None: it is damaged. Refuses one that somebody works on."""
    try:
        store = open_store(target, create=target.shared)
        try:
            _refuse_workers(store)
            return rules.content(store)
        finally:
            store.close()
    except StoreCorrupt:
        if target.shared or not snapshots.is_ours(target.file):
            raise
        return None


def _make_home(target: Location) -> None:
    """As the first `enqueue` would: the directory, and the mark by which it is known again."""
    from queuectl.paths import make_parent_dir, make_private_dir, mark_home

    make_parent_dir(target)
    make_private_dir(target.state_dir)
    mark_home(target)


# --- onto a server ------------------------------------------------------------------------------------------


def _on_server(prepared: Prepared, target: Location, now: int, progress: Progress) -> Restored:
    from queuectl import __version__

    store, source = open_store(target), open_store(prepared.location, create=False)
    try:
        _refuse_workers(store)
        held = rules.content(store)
        aside: str | None = None
        seals: Seals | None = None
        if held:
            aside = free_name(os.path.join(target.state_dir, f"replaced-{stamp(now)}"), ".jsonl")
            kept = back_up(
                store, aside, logs=False, force=False, now=now, program=__version__, progress=progress
            )
            seals = kept.seals
        putting.put_on_server(source, store, replaced=seals, progress=progress)
    finally:
        source.close()
        store.close()
    putting.put_logs(prepared, target)
    return Restored(prepared, target, aside)


def _refuse_workers(store: Store) -> None:
    workers = living_workers(store)
    if workers:
        count = "a worker is" if len(workers) == 1 else f"{len(workers)} workers are"
        everywhere = " --everywhere" if store.location.engine != SQLITE else ""
        raise Refused(
            f"{count} active on {store.location.shown}, which would be replaced",
            f"first: queuectl worker stop{everywhere}; or restore into another place with --db",
        )
