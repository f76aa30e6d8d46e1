"""Disk space given back: what deleted jobs have left in the store, and log files that nobody needs.

What each engine does is left to the store, when jobs are deleted to retention.
"""

from __future__ import annotations

import os

from queuectl.app import living_workers
from queuectl.logfiles import parse_log_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queuectl.queue import Queue
    from queuectl.store.compaction import Sizes

__all__ = ["Tidied", "tidy"]

_AT_ONCE = 500
_PART_OF_LEASE = 3  # so that a worker has time to renew its lease


class Tidied:
    """What was found and what was done."""

    __slots__ = ("after", "before", "log_bytes", "log_files")

    def __init__(self, before: Sizes, after: Sizes, log_files: int, log_bytes: int) -> None:
        self.before = before
        self.after = after
        self.log_files = log_files  # of jobs that are gone, or of output that was cleaned away
        self.log_bytes = log_bytes


def tidy(queue: Queue, *, dry_run: bool = False) -> Tidied:
    """Give back what can be given back; with `dry_run` only look."""
    compaction = queue.store.compaction()
    before = compaction.sizes()
    files = size = 0
    for path in _orphans(queue):
        size += _size(path)
        files += 1
        if not dry_run:
            _remove(path)
    if not dry_run:
        working = living_workers(queue.store)
        compaction.compact(queue.settings.worker_lease / 1_000 / _PART_OF_LEASE if working else None)
    return Tidied(before, before if dry_run else compaction.sizes(), files, size)


def _orphans(queue: Queue) -> Iterator[str]:
    """Log files whose job is gone, or whose attempt has lost its output: somebody died before deleting them.

    The files are listed before the jobs are looked up, and a file never comes before its job. So none of a
    job that is just coming in can be among them.
    """
    logs_dir = queue.store.location.logs_dir
    for directory in sorted(os.listdir(logs_dir)) if os.path.isdir(logs_dir) else ():
        place = os.path.join(logs_dir, directory)
        if os.path.islink(place) or not os.path.isdir(place):
            continue
        names = sorted(os.listdir(place))
        for start in range(0, len(names), _AT_ONCE):
            found = [
                (name, parse_log_file(f"{directory}/{name}")) for name in names[start : start + _AT_ONCE]
            ]
            ours = [(os.path.join(place, name), key) for name, key in found if key is not None]
            yield from _unneeded(queue, ours)


def _unneeded(queue: Queue, files: Sequence[tuple[str, tuple[int, int]]]) -> Iterator[str]:
    keys = [key for _, key in files]
    if not keys:
        return
    outputs = queue.store.outputs()
    there, cleaned = outputs.present([seq for seq, _ in keys]), outputs.cleaned(keys)
    for path, key in files:
        if key[0] not in there or key in cleaned:
            yield path


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
