"""Recovery times are really measured: a worker that is killed, a job that is cancelled."""

from __future__ import annotations

import pytest
from proof.recovery_scenes import GRACE
from proof.verdict import Part

from proof import recovery


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_few_of_each() -> None:
    part = recovery.prove(full=False)
    assert part.good
    assert {name: len(times) for name, times in part.times.items()} == {
        "worker killed, another beside it": 2,
        "only worker killed": 2,
        "cancel, TERM obeyed": 2,
        "cancel, TERM ignored": 2,
    }
    # Far below the lease, however busy this machine is: nobody has waited for it.
    assert max(part.times["only worker killed"]) < 25
    assert min(part.times["cancel, TERM ignored"]) >= GRACE * 0.9


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scene", ["all_killed", "machine_back", "server_restarted"])
def test_once_of_those_that_take_longer(scene: str) -> None:
    part = Part("recovery")
    recovery.measure(part, {scene: 1})
    if part.left_out:
        pytest.skip(f"NOT TESTED: {part.left_out[0]}")
    assert all(len(times) == 1 for times in part.times.values())


def test_the_shares_of_times() -> None:
    times = [float(number) for number in range(1, 101)]
    assert (recovery.share(times, 0.5), recovery.share(times, 0.99)) == (50.0, 99.0)
    assert recovery.share([7.0], 0.99) == 7.0


def test_every_scene_has_its_bounds_and_its_number() -> None:
    assert set(recovery._MANY) == set(recovery.SCENES)
    part = Part("recovery")
    recovery._judge(part, "machine lost", [20.0, 99.0], full=True)
    assert not part.good
