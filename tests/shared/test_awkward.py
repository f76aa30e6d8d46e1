"""What a command prints never stops its worker, and what is not the server's fault is not put on it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from tests.support.engines import Place
from tests.support.home import Home


@pytest.mark.parametrize(
    "printed", [r"a\0b", r"\377\376", r"\360\237\230\200", r"\355\240\200", "a'b\\\\\"c"]
)
def test_any_last_line_of_stderr_is_kept_in_the_error(home: Home, printed: str) -> None:
    home.ok(
        "enqueue",
        "--id",
        "a",
        "--max-retries",
        "0",
        f"printf '{printed}\\n'".replace("a'b", "ab") + " >&2; exit 3",
    )
    home.start()
    home.wait_for("a", "dead")
    with home.queue() as queue:
        job = queue.get("a")
        assert (job.exit_code, job.lost, job.attempts) == (3, 0, 1)
        assert str(job.last_error).startswith("exit code 3: ")


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
