"""A cgroup of a test's own, with a limit: what is in it can neither use up the machine nor outlive the test.

Of whichever version has the controller here. Where we may not make one, the test is skipped, loudly.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from queuectl.testing import wait_until


class OwnCgroup:
    """Below the root of its hierarchy. `joined` is what a command is started with to be in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def joined(self) -> Sequence[str]:
        return ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh"]

    def pids(self) -> list[int]:
        return [int(pid) for pid in (self.path / "cgroup.procs").read_text().split()]

    def number(self, name: str) -> int:
        return int((self.path / name).read_text())

    def events(self, what: str) -> int:
        """How often that happened to those in it: `oom_kill`, or for processes `max`."""
        for name in ("memory.events", "memory.oom_control", "pids.events"):
            if (self.path / name).exists():
                lines = (line.split() for line in (self.path / name).read_text().splitlines())
                return next((int(number) for event, number in lines if event == what), 0)
        return 0

    def kill_all(self) -> bool:
        """Whether there was nobody any more."""
        found = self.pids()
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not found


@contextmanager
def own_cgroup(controller: str, limit: int) -> Iterator[OwnCgroup]:
    """With so many bytes of memory, or so many `pids`. The limit is read back before anybody gets in."""
    place, version = _hierarchy(controller)
    path = place / f"queuectl-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"NO CGROUP OF OUR OWN TO TEST WITH: {error}")
    group = OwnCgroup(path)
    try:
        name = "memory.limit_in_bytes" if (controller, version) == ("memory", 1) else f"{controller}.max"
        (path / name).write_text(str(limit))
        assert group.number(name) == limit, "the kernel took another limit"
        for without in ("memory.swappiness", "memory.swap.max"):
            if (path / without).exists():
                (path / without).write_text("0")
        yield group
    finally:
        wait_until(group.kill_all, timeout=60, what="the cgroup to be empty")
        wait_until(lambda: _removed(path), what="the cgroup to be removed")


def _hierarchy(controller: str) -> tuple[Path, int]:
    """Where the root of the one with that controller is, and of which version it is."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        place = Path(before.split(" ")[4])
        if kind == "cgroup" and controller in options.split()[-1].split(","):
            return place, 1
        if kind == "cgroup2" and controller in (place / "cgroup.subtree_control").read_text().split():
            return place, 2
    pytest.skip(f"NO CGROUP WITH {controller.upper()} HERE")


def _removed(path: Path) -> bool:
    try:
        path.rmdir()
    except OSError:
        return not path.exists()
    return True
