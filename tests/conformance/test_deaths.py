"""The dead jobs one by one, in pages, whatever else there is."""

from __future__ import annotations

from typing import Any

from tests.conformance.test_causes import die
from tests.support.jobs import NOW, job_in, register

from queuectl.core import states


def test_each_comes_once_with_what_tells_it_apart(store: Any) -> None:
    register(store)
    for number in range(5):
        die(
            store,
            f"j{number}",
            queue="ab"[number % 2],
            at=NOW + number // 3,
            exit_code=3,
            error="exit code 3: x",
        )
    die(store, "killed", signal=9, exit_code=None, error="killed by SIGKILL")
    job_in(store, states.COMPLETED, "fine")
    found = list(store.deaths(page=2))  # several at the same moment, on several pages
    assert sorted(death.id for death in found) == ["j0", "j1", "j2", "j3", "j4", "killed"]
    assert [death.id for death in store.deaths("a", page=2)] == ["j0", "j2", "j4"]
    one = next(death for death in found if death.id == "j3")
    assert (one.queue, one.command, one.exit_code, one.signal) == ("b", "echo j3", 3, None)
    assert (one.error, one.at) == ("exit code 3: x", NOW + 1)
    assert list(store.deaths("nobody")) == []
