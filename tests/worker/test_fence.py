"""When a worker that cannot renew its lease ends its own commands: before anybody may have their jobs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from queuectl.config.settings import Settings
from queuectl.worker.fence import Fence


class Beat:
    """What a fence looks at of a heart."""

    def __init__(self, confirmed: float, **settings: str) -> None:
        self.confirmed = confirmed
        self.settings = _settings(settings)


def _settings(given: Mapping[str, str]) -> Settings:
    return Settings({key.replace("_", "-"): value for key, value in given.items()})


def fence_of(beat: Beat, longest_wait: float = 0.0) -> Fence:
    return Fence(beat, longest_wait)  # type: ignore[arg-type]  # of the thread it needs these two only


def test_there_is_time_for_the_grace_and_some_more_before_the_lease_ends() -> None:
    fence = fence_of(Beat(100.0, worker_lease="30s", kill_grace="5s"))
    assert fence.lease_ends == pytest.approx(130.0)
    assert fence.at == pytest.approx(123.0)


def test_a_store_that_may_keep_us_waiting_takes_that_off() -> None:
    fence = fence_of(Beat(0.0, worker_lease="30s", kill_grace="5s"), longest_wait=4.0)
    assert fence.at == pytest.approx(19.0)


def test_half_of_the_lease_is_left_for_work_however_long_the_grace() -> None:
    fence = fence_of(Beat(0.0, worker_lease="10s", kill_grace="60s"))
    assert fence.at == pytest.approx(5.0)
    assert fence.lease_ends == pytest.approx(10.0)


def test_a_renewal_moves_it() -> None:
    beat = Beat(0.0, worker_lease="30s", kill_grace="5s")
    fence = fence_of(beat)
    beat.confirmed = 12.0
    assert fence.at == pytest.approx(35.0)


def test_new_settings_are_heeded_at_once() -> None:
    beat = Beat(0.0, worker_lease="30s", kill_grace="5s")
    fence = fence_of(beat)
    beat.settings = _settings({"worker_lease": "60s", "kill_grace": "8s"})
    assert fence.at == pytest.approx(50.0)
    assert fence.lease_ends == pytest.approx(60.0)
