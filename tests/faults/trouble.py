"""What can happen to a COMMIT on its way, and doing something while it happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from queuectl.testing import wait_until
from tests.support import sessions
from tests.support.proxy import Proxy

T = TypeVar("T")

SWALLOWED = "swallowed"  # committed, but the client is cut off before it hears so
CUT = "cut"  # never arrived
LATE = "late"  # the client is cut off; it is committed when the client has come back and waits for it
KINDS = (SWALLOWED, CUT, LATE)


def while_commit_is(kind: str, proxy: Proxy, url: str, action: Callable[[], T]) -> T:
    """The result of the action, whose next COMMIT suffers that."""
    late = threading.Event()
    if kind == SWALLOWED:
        proxy.swallow_commit()
    elif kind == CUT:
        proxy.cut_before_commit()
    else:
        proxy.delay_commit(late)
    before = proxy.commits_seen, proxy.swallowed, proxy.delayed
    with ThreadPoolExecutor(1) as threads:
        result = threads.submit(action)
        if kind == LATE:
            wait_until(lambda: result.done() or sessions.waiting(url), what="the second try to wait")
            late.set()
        value = result.result(timeout=30)
    if kind == LATE:
        wait_until(lambda: proxy.delayed > before[2], what="the COMMIT to land")
    assert proxy.commits_seen > before[0], "there was no COMMIT"
    assert (proxy.swallowed - before[1], proxy.delayed - before[2]) == (kind == SWALLOWED, kind == LATE)
    return value
