"""Cgroups of commands: the rules on a tree of our own making, the mechanics on the kernel's where we may."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core.outcome import Outcome
from queuectl.testing import wait_until
from queuectl.worker import cgroups
from queuectl.worker.cgroups import Cgroups, Unavailable
from queuectl.worker.confinement import Confinement
from queuectl.worker.launcher import Launch
from queuectl.worker.limits import Confiner, is_exempt
from queuectl.worker.spawn import CannotStart
from tests.support.jobs import claimed_job, ended

BOTH = frozenset({"memory", "pids"})


class Tree(Cgroups):
    """Directories on a disk: the files that the kernel would make come and go with them."""

    offered: tuple[str, ...] = (
        "memory.max",
        "memory.swap.max",
        "memory.oom.group",
        "memory.events",
        "pids.max",
        "pids.events",
    )

    def make_directory(self, path: str) -> None:
        super().make_directory(path)
        for name in (*self.offered, "cgroup.procs", "cgroup.events", "cgroup.kill"):
            Path(path, name).touch()

    def remove_directory(self, path: str) -> None:
        if "populated 1" in Path(path, "cgroup.events").read_text():
            raise OSError(errno.EBUSY, "busy", path)
        shutil.rmtree(path)


class Machine:
    """A /proc and a mount of cgroup2 as a process of `/unit` sees them."""

    def __init__(self, root: Path, own: str = "/unit", controllers: str = "cpu memory pids") -> None:
        self.proc, self.mount = root / "proc", root / "cgroup"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "self/cgroup").write_text(f"4:memory:/v1\n0::{own}\n")
        (self.proc / "self/mountinfo").write_text(
            "22 1 0:21 / /proc rw - proc proc rw\n"
            f"30 22 0:26 / {self.mount} rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
        )
        self.own = self.make(own.strip("/"), controllers)

    def make(self, path: str, controllers: str = "cpu memory pids") -> Path:
        directory = self.mount / path
        directory.mkdir(parents=True)
        (directory / "cgroup.controllers").write_text(controllers + "\n")
        for name in ("cgroup.subtree_control", "cgroup.procs"):
            (directory / name).touch()
        return directory

    def find(self) -> Cgroups:
        return cgroups.find(BOTH, str(self.proc))

    def delegate(self, path: Path) -> None:
        for mark in ("user.delegate", "trusted.delegate"):
            try:
                os.setxattr(path, mark, b"1")
            except OSError:
                continue
            return
        pytest.skip("no extended attributes here, by which delegation is known")


# --- where --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("membership", "mounts", "found"),
    [
        ("0::/\n", [("/", "/sys/fs/cgroup")], "/sys/fs/cgroup"),
        ("0::/a/b\n", [("/", "/sys/fs/cgroup")], "/sys/fs/cgroup/a/b"),
        ("12:pids:/x\n0::/a\n", [("/", "/sys/fs/cgroup/unified")], "/sys/fs/cgroup/unified/a"),
        ("0::/docker/1/a\n", [("/docker/1", "/sys/fs/cgroup")], "/sys/fs/cgroup/a"),
        ("0::/docker/1\n", [("/docker/1", "/sys/fs/cgroup")], "/sys/fs/cgroup"),
        ("0::/docker/11\n", [("/docker/1", "/wrong"), ("/", "/right")], "/right/docker/11"),
    ],
)
def test_our_own_cgroup_is_found(membership: str, mounts: list[tuple[str, str]], found: str) -> None:
    assert cgroups.own_cgroup(membership, mounts) == found


@pytest.mark.parametrize(
    ("membership", "mounts", "reason"),
    [
        ("", [("/", "/sys/fs/cgroup")], "no cgroup v2"),
        ("4:memory:/a\n", [("/", "/sys/fs/cgroup")], "no cgroup v2"),
        ("0::/a\n", [], "not mounted"),
        ("0::/../b\n", [("/a", "/sys/fs/cgroup")], "not mounted"),
    ],
)
def test_why_there_is_none_is_told(membership: str, mounts: list[tuple[str, str]], reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        cgroups.own_cgroup(membership, mounts)


def test_a_delegated_cgroup_is_divided(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.delegate(machine.own)
    found = machine.find()
    assert (found.base, found.controllers) == (str(machine.own), BOTH)
    assert (machine.own / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_one_that_is_not_delegated_is_left_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with pytest.raises(Unavailable, match="not delegated"):
        machine.find()
    assert (machine.own / "cgroup.subtree_control").read_text() == ""


def test_the_one_above_is_divided_if_that_was_delegated(tmp_path: Path) -> None:
    machine = Machine(tmp_path, own="/unit/main")
    above = machine.mount / "unit"
    shutil.copytree(machine.own, above, dirs_exist_ok=True)
    machine.delegate(above)
    assert machine.find().base == str(above)
    assert (machine.own / "cgroup.subtree_control").read_text() == ""


def test_a_sibling_of_ours_has_moved_us_already(tmp_path: Path) -> None:
    machine = Machine(tmp_path, own=f"/unit/{cgroups.WORKERS}")
    above = machine.mount / "unit"
    shutil.copytree(machine.own, above, dirs_exist_ok=True)
    machine.delegate(above)
    assert machine.find().base == str(above)


def test_controllers_that_are_on_are_left_as_they_are(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.delegate(machine.own)
    (machine.own / "cgroup.subtree_control").write_text("cpu memory pids\n")
    machine.find()
    assert (machine.own / "cgroup.subtree_control").read_text() == "cpu memory pids\n"


def test_a_machine_may_have_one_of_the_controllers(tmp_path: Path) -> None:
    machine = Machine(tmp_path, controllers="hugetlb pids")
    machine.delegate(machine.own)
    assert machine.find().controllers == {"pids"}


def test_a_machine_may_have_none_of_them(tmp_path: Path) -> None:
    machine = Machine(tmp_path, controllers="hugetlb")
    with pytest.raises(Unavailable, match="no controller for memory or pids"):
        machine.find()


def test_processes_that_are_in_the_way_move_to_a_cgroup_of_their_own(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    leaf = machine.make(f"unit/{cgroups.WORKERS}")
    (machine.own / "cgroup.procs").write_text("")
    cgroups.move_all(str(machine.own), str(leaf))
    assert (leaf / "cgroup.procs").read_text() == ""
    (machine.own / "cgroup.procs").write_text("17\n")
    cgroups.move_all(str(machine.own), str(leaf))
    assert (leaf / "cgroup.procs").read_text() == "17"


def test_cgroups_of_workers_that_are_gone_are_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    names = [
        f"queuectl-job-{gone.pid}-token",
        f"queuectl-job-{os.getpid()}-token",
        "queuectl-job-odd",
        "other",
    ]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.events").write_text("populated 0\n")
    Tree(str(tmp_path), BOTH)
    assert sorted(os.listdir(tmp_path)) == sorted(names[1:])


# --- limits by cgroup ---------------------------------------------------------------------------------------


def confined(place: Cgroups, **limits: int) -> Launch:
    launch = Launch(claimed_job(), "sh", [b"sh"], [b"PATH=/bin"])
    try:
        Confiner([], lambda _: place).confine(launch, limits, b"TOKEN=1")
    except BaseException:
        launch.discard()
        raise
    return launch


def plan_of(launch: Launch) -> bytes:
    return os.pread(launch.keep[0], 100_000, 0)


def group_path(place: Path) -> Path:
    (path,) = place.glob("queuectl-job-*")
    return path


def test_memory_and_processes_are_set_before_the_command_joins(tmp_path: Path) -> None:
    launch = confined(Tree(str(tmp_path), BOTH), memory=512 << 20, processes=9)
    path = group_path(tmp_path)
    assert path.name == f"queuectl-job-{os.getpid()}-{claimed_job().token}"
    assert (path / "memory.max").read_text() == str(512 << 20)
    assert (path / "memory.swap.max").read_text() == "0"
    assert (path / "memory.oom.group").read_text() == "1"
    assert (path / "pids.max").read_text() == "9"
    steps = plan_of(launch).split(b"\0\0")[0].split(b"\0")
    assert steps == [b".cgroup join " + os.fsencode(path / "cgroup.procs")]
    launch.discard()
    assert os.listdir(tmp_path) == []


def test_a_controller_that_is_missing_leaves_the_limit_to_the_process(tmp_path: Path) -> None:
    launch = confined(Tree(str(tmp_path), frozenset({"pids"})), memory=1 << 40, processes=9)
    assert b".memory rlimit " in plan_of(launch)
    assert (group_path(tmp_path) / "pids.max").read_text() == "9"
    launch.discard()


def test_without_a_limit_for_it_no_cgroup_is_made(tmp_path: Path) -> None:
    launch = confined(Tree(str(tmp_path), BOTH), files=10)
    assert os.listdir(tmp_path) == []
    launch.discard()


def test_a_file_that_the_kernel_does_not_offer_is_an_error_that_names_the_limit(tmp_path: Path) -> None:
    class Old(Tree):
        offered = ("pids.max",)

    with pytest.raises(CannotStart, match=r"cannot apply the limit memory=1M: .*memory\.max"):
        confined(Old(str(tmp_path), BOTH), memory=1 << 20, processes=5)
    assert os.listdir(tmp_path) == []


# --- the end ------------------------------------------------------------------------------------------------


def explained(
    tmp_path: Path, events: dict[str, str], outcome: Outcome, *, said: bytes = b"+", **limits: int
) -> Outcome:
    group = Tree(str(tmp_path), BOTH).make("token")
    for name, text in events.items():
        group.set(name, text)
    reading, writing = os.pipe()
    os.write(writing, said)
    os.close(writing)
    confinement = Confinement("sh", limits, group, reading)
    confinement.settle()
    confinement.settle()  # may be called again
    confinement.explain(outcome, b"")
    return outcome


def failed(code: int | None = None, signum: int | None = None) -> Outcome:
    outcome = ended(kinds.FAILED, "exit code 1" if code else "killed by SIGKILL")
    outcome.exit_code, outcome.signal = code, signum
    return outcome


OOM = {"memory.events": "low 0\nmax 31\noom 1\noom_kill 1\noom_group_kill 1\n"}


def test_out_of_memory_is_reported_as_such(tmp_path: Path) -> None:
    outcome = explained(tmp_path, OOM, failed(signum=9), memory=512 << 20)
    assert (outcome.kind, outcome.error) == (kinds.FAILED, "killed: out of memory (limit 512M)")
    assert outcome.signal == signal.SIGKILL


def test_also_before_the_command_had_begun(tmp_path: Path) -> None:
    outcome = explained(tmp_path, OOM, failed(signum=9), said=b"", memory=4096)
    assert outcome.error == "killed: out of memory (limit 4K)"


def test_a_part_of_the_command_may_have_been_killed(tmp_path: Path) -> None:
    outcome = explained(tmp_path, OOM, failed(code=1), memory=512 << 20)
    assert outcome.error == "exit code 1 (out of memory: limit 512M)"


def test_a_kill_without_that_count_is_not_called_out_of_memory(tmp_path: Path) -> None:
    events = {"memory.events": "low 0\nmax 31\noom 0\noom_kill 0\n"}
    outcome = explained(tmp_path, events, failed(signum=9), memory=512 << 20)
    assert outcome.error == "killed by SIGKILL (while limited to 512M of memory)"


def test_processes_that_were_refused_are_told(tmp_path: Path) -> None:
    outcome = explained(tmp_path, {"pids.events": "max 3\n"}, failed(code=1), processes=9)
    assert outcome.error == "exit code 1 (while limited to 9 processes)"


def test_what_succeeded_or_was_stopped_by_us_is_left_as_it_is(tmp_path: Path) -> None:
    for kind in (kinds.SUCCEEDED, kinds.TIMEOUT, kinds.CANCELLED, kinds.RELEASED):
        outcome = explained(tmp_path, OOM, ended(kind, "why"), memory=4096)
        assert (outcome.kind, outcome.error) == (kind, "why")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"", "cannot apply its limits: the program that does has ended with exit code 1"),
        (b"cgroup:No such device", "cannot apply its limits: No such device (of joining its cgroup)"),
        (b"+2", "cannot start sh: No such file or directory"),
        (b"+12", "cannot start sh: Cannot allocate memory (while limited to 4K of memory)"),
        (b"memory:Invalid argument", "cannot apply the limit memory=4K: Invalid argument"),
    ],
)
def test_a_command_that_was_not_begun_is_told_apart(tmp_path: Path, said: bytes, error: str) -> None:
    outcome = explained(tmp_path, {}, failed(code=1), said=said, memory=4096)
    assert (outcome.kind, outcome.exit_code, outcome.signal) == (kinds.SPAWN_ERROR, None, None)
    assert outcome.error == error


def test_a_cgroup_in_which_somebody_lives_on_is_removed_later(tmp_path: Path) -> None:
    place = Tree(str(tmp_path), BOTH)
    first, second = place.make("a"), place.make("b")
    first.set("cgroup.events", "populated 1\nfrozen 0\n")
    assert first.is_populated()
    first.remove()
    assert len(os.listdir(tmp_path)) == 2
    first.set("cgroup.events", "populated 0\nfrozen 0\n")
    second.remove()
    assert os.listdir(tmp_path) == []


# --- who is exempt from counting processes ------------------------------------------------------------------

EVERYBODY = "         0          0 4294967295\n"


@pytest.mark.parametrize(
    ("uid", "users", "capabilities", "exempt"),
    [
        (0, EVERYBODY, 0, True),
        (1000, EVERYBODY, 0, False),
        (1000, EVERYBODY, 1 << 24, True),
        (1000, EVERYBODY, 1 << 21, True),
        (1000, EVERYBODY, 1 << 2, False),
        (0, "0 1000 1\n", (1 << 41) - 1, False),  # root of a container without root
        (0, "0 0 1\n", 0, True),
        (7, "0 1000 1\n1 100000 65536\n", 0, False),
        (65534, "0 1000 1\n", 0, False),
    ],
)
def test_root_of_the_machine_is_exempt_whatever_it_is_called(
    uid: int, users: str, capabilities: int, exempt: bool
) -> None:
    assert is_exempt(uid, users, capabilities) == exempt


# --- the kernel's own ---------------------------------------------------------------------------------------


@pytest.fixture
def place() -> Iterator[Cgroups]:
    """Below our real cgroup, without controllers: joining, killing and removing need none."""
    try:
        own = cgroups.own_cgroup(Path("/proc/self/cgroup").read_text(), cgroups._mounts("/proc"))
        base = os.path.join(own, f"queuectl-test-{os.getpid()}")
        os.mkdir(base)
    except (Unavailable, OSError) as error:
        pytest.skip(f"NO CGROUP OF OUR OWN TO TEST WITH: {error}")
    yield Cgroups(base, frozenset())
    os.rmdir(base)


def test_a_cgroup_is_joined_killed_as_one_and_removed(place: Cgroups) -> None:
    group = place.make("token")
    line = f"echo 0 > {group.entrance}; sleep 300 & setsid sleep 301 & echo up; wait"
    with subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert group.is_populated()
        group.remove()
        assert os.path.exists(group.entrance), "somebody lives in it"
        assert group.kill()
        assert process.wait(20) == -signal.SIGKILL
    wait_until(lambda: not group.is_populated(), what="the cgroup to be empty")
    group.remove()
    assert not os.path.exists(group.entrance)


def test_without_such_counts_nothing_has_happened(place: Cgroups) -> None:
    group = place.make("token")
    assert group.count("memory.events", "oom_kill") == 0
    with pytest.raises(OSError, match=r"memory\.max"):
        group.set("memory.max", "1")
    group.remove()
