"""What a command prints never stops its worker, and what is not the server's fault is not put on it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from tests.support.engines import SERVERS, Place, on_engines
from tests.support.home import Home

from queuectl.testing import wait_until

pytestmark = on_engines(*SERVERS, long=["mysql"])
LINES = [r"a\0b", r"\377\376", r"\360\237\230\200", r"\355\240\200", 'ab\\\\"c']  # as printf writes them


def test_any_last_line_of_stderr_is_kept_in_the_error(home: Home) -> None:
    with home.queue() as queue:
        for line in LINES:
            queue.enqueue(f"printf '{line}\\n' >&2; exit 3", max_retries=0)
        home.supervise()
        wait_until(lambda: queue.stats().counts["dead"] == len(LINES), what="all of them to fail")
        jobs = queue.list()
    assert [(job.exit_code, job.lost, job.attempts) for job in jobs] == [(3, 0, 1)] * len(LINES)
    assert all(str(job.last_error).startswith("exit code 3: ") for job in jobs)


def test_an_error_of_our_own_is_not_taken_for_a_lost_server(store_url: str, tmp_path: Path) -> None:
    """A full disk under the spool, for instance; PyMySQL's errors are of the same kind."""
    store = Place(str(tmp_path), store_url).open()
    runs = []

    def body(_: int | None) -> int:
        runs.append(1)
        raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(OSError, match="no space left"):
        store.connection.write("change", body)  # type: ignore[attr-defined]
    assert runs == [1]
    assert store.stored_config() == {}
    store.close()
