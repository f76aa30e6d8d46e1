"""The doorbell: rings reach living workers, and nothing about a dead one hurts the ringer."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queuectl.doorbell import CONTROL, JOB, RESCUE, Bell, bell_path, ring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def hang(tmp_path: Path) -> Iterator[Callable[[str], Bell]]:
    """Hang up bells that are taken down after the test."""
    bells: list[Bell] = []

    def make(name: str) -> Bell:
        bells.append(Bell(str(tmp_path), name))
        return bells[-1]

    yield make
    for bell in bells:
        if os.path.exists(bell.path):
            bell.close()


def fill(bell: Bell) -> None:
    try:
        while True:
            os.write(bell.fd, b"x" * 4096)
    except BlockingIOError:
        return


def test_a_ring_reaches_every_worker(tmp_path: Path, hang: Callable[[str], Bell]) -> None:
    one, two = hang("w1"), hang("w2")
    assert ring(str(tmp_path), JOB) == 2
    assert (one.heard(), two.heard()) == (JOB, JOB)


def test_rings_are_heard_in_order_and_only_once(tmp_path: Path, hang: Callable[[str], Bell]) -> None:
    bell = hang("w1")
    for what in (JOB, CONTROL, RESCUE):
        ring(str(tmp_path), what)
    assert bell.heard() == JOB + CONTROL + RESCUE
    assert bell.heard() == b""


def test_a_sleeping_worker_wakes_and_an_unrung_one_does_not(
    tmp_path: Path, hang: Callable[[str], Bell]
) -> None:
    bell = hang("w1")
    assert select.select([bell.fd], [], [], 0)[0] == []
    ring(str(tmp_path), JOB)
    assert select.select([bell.fd], [], [], 5)[0] == [bell.fd]
    bell.heard()
    # No end of file between two ringers, which would wake it for ever.
    assert select.select([bell.fd], [], [], 0)[0] == []


def test_nobody_is_there_to_be_rung(tmp_path: Path) -> None:
    assert ring(str(tmp_path), JOB) == 0
    assert ring(str(tmp_path / "missing"), JOB) == 0


def test_the_bell_of_a_dead_worker_is_passed_by(tmp_path: Path, hang: Callable[[str], Bell]) -> None:
    stale = bell_path(str(tmp_path), "dead")
    os.mkfifo(stale)
    bell = hang("alive")
    assert ring(str(tmp_path), JOB) == 1
    assert bell.heard() == JOB
    assert os.path.exists(stale), "taking it down is the rescuer's work"


def test_a_full_bell_counts_as_rung_and_does_not_block(tmp_path: Path, hang: Callable[[str], Bell]) -> None:
    bell = hang("w1")
    fill(bell)
    assert ring(str(tmp_path), JOB) == 1


def test_other_files_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "w1.ledger"
    other.write_bytes(b"precious")
    assert ring(str(tmp_path), JOB) == 0
    assert other.read_bytes() == b"precious"


def test_a_bell_is_private_whatever_the_umask(tmp_path: Path, hang: Callable[[str], Bell]) -> None:
    before = os.umask(0)
    try:
        bell = hang("w1")
    finally:
        os.umask(before)
    mode = os.stat(bell.path).st_mode
    assert stat.S_ISFIFO(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_a_closed_bell_is_gone_even_if_somebody_took_it_down_first(tmp_path: Path) -> None:
    bell = Bell(str(tmp_path), "w1")
    bell.close()
    assert list(tmp_path.iterdir()) == []
    bell = Bell(str(tmp_path), "w1")
    os.unlink(bell.path)
    bell.close()
    assert ring(str(tmp_path), JOB) == 0


def test_a_name_is_taken_only_once(tmp_path: Path, hang: Callable[[str], Bell]) -> None:
    hang("w1")
    with pytest.raises(FileExistsError):
        hang("w1")


def test_what_goes_wrong_with_a_ring_is_not_told(tmp_path: Path) -> None:
    """The job it tells of is stored already."""
    (tmp_path / "file").touch()
    assert ring(str(tmp_path / "file"), JOB) == 0
    (tmp_path / "a.bell").mkdir()
    assert ring(str(tmp_path), JOB) == 0
