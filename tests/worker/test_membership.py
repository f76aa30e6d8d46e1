"""A worker's own files, when the disk has no room for them or the store does not take the worker."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from queuectl import Queue
from queuectl.errors import StoreReplaced
from queuectl.paths import make_private_dir
from queuectl.worker.membership import Membership


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """As on a disk that is full after so much: a write ends early."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_a_worker_that_gets_no_ledger_leaves_no_bell(tmp_path: Path) -> None:
    with Queue.open(str(tmp_path / "q.db")) as queue:
        run = make_private_dir(queue.store.location.run_dir)
        with files_no_longer_than(1000), pytest.raises(OSError, match="too large"):
            Membership(queue.store, concurrency=1, queues=None, supervisor=None)
    assert os.listdir(run) == []


def test_a_worker_that_cannot_register_leaves_nothing_behind(tmp_path: Path) -> None:
    with Queue.open(str(tmp_path / "q.db")) as queue:
        run = make_private_dir(queue.store.location.run_dir)
        me = Membership(queue.store, concurrency=1, queues=None, supervisor=None)
        os.rename(tmp_path / "q.db", tmp_path / "elsewhere.db")
        with pytest.raises(StoreReplaced):
            me.register(queue.store, 30_000, queue.clock.now())
    assert os.listdir(run) == []
