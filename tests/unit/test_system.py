"""What the system module says about real processes, by /proc and by psutil alike."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from queuectl import system
from queuectl.clock import lease_clock_ms
from queuectl.system import anywhere, linux, mounts, portable
from queuectl.system.identity import Identity, plain
from queuectl.testing import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = str(Path(system.__file__).parents[2])
LONG = "60"  # seconds that a forgotten process would live at most


@pytest.fixture(params=[linux, portable], ids=["linux", "portable"])
def how(request: pytest.FixtureRequest) -> Any:
    """One of the two implementations."""
    return request.param


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start processes that are gone after the test, with all that carries their token."""
    started: list[subprocess.Popen[str]] = []
    tokens: list[str] = []

    def start(*command: str, token: str | None = None, **options: Any) -> subprocess.Popen[str]:
        environment = dict(os.environ, PYTHONPATH=SOURCE, **options.pop("env", {}))
        if token is not None:
            tokens.append(token)
            environment[system.TOKEN_VARIABLE] = token
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, **options)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
    for pids in linux.kin_of_many(tokens).values():
        system.kill_pids(pids, signal.SIGKILL)


@pytest.fixture
def token() -> str:
    return uuid.uuid4().hex


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def run_python(code: str, *flags: str, **env: str) -> str:
    """The output of a fresh interpreter."""
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        env=dict(os.environ, PYTHONPATH=SOURCE, **env),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()


def altered(identity: Identity, **changes: Any) -> Identity:
    parts = {name: getattr(identity, name) for name in ("pid", "start", "boot", "namespace")}
    return Identity(**{**parts, **changes})


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


# Identity


def test_an_identity_survives_being_written_down(how: Any) -> None:
    mine = how.identify()
    text = mine.encode()
    assert Identity.decode(text) == mine
    assert hash(Identity.decode(text)) == hash(mine)
    assert not any(c.isspace() for c in text)
    assert mine == how.identify(os.getpid())
    assert mine.pid == os.getpid()


@pytest.mark.parametrize(
    "text",
    [
        *("", "12", "1:2:3", "1:2:3:4:5", "1::3:4", "1:2::4", "1:2 2:3:4", "1:2:3:4\n"),
        *("a:2:3:4", "0:2:3:4", "-1:2:3:4", "²:2:3:4", "4294967296:2:3:4"),
    ],
)
def test_what_is_no_identity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        Identity.decode(text)


def test_an_identity_equals_nothing_but_an_identity() -> None:
    mine = linux.identify()
    assert mine is not None
    assert mine != mine.encode()
    assert mine != altered(mine, start="1")
    assert mine.encode() in repr(mine)


def test_a_pid_that_nobody_has_gives_no_identity(how: Any) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert how.identify(child.pid) is None
    assert how.identify(0) is None


def test_the_boot_id_is_stable_and_can_be_pretended(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert how.boot_id() == how.boot_id() != ""
    monkeypatch.setenv("QUEUECTL_BOOT_ID", "another boot:1")
    assert how.boot_id() == "another-boot-1"
    assert how.identify().boot == "another-boot-1"


def test_linux_boot_id_is_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUEUECTL_BOOT_ID", raising=False)
    assert linux.boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


# Liveness


def test_a_running_process_is_alive(how: Any, spawn: Any) -> None:
    child = spawn("sleep", LONG)
    assert how.liveness(how.identify(child.pid)) == "alive"
    assert how.liveness(how.identify(), same_host=True) == "alive"


def test_a_stopped_process_is_alive(how: Any, spawn: Any) -> None:
    child = spawn("sleep", LONG)
    child.send_signal(signal.SIGSTOP)
    wait_until(lambda: state_of(child.pid) == "T")
    assert how.liveness(how.identify(child.pid)) == "alive"


def test_a_zombie_is_dead_and_so_is_what_was_reaped(how: Any, spawn: Any) -> None:
    child = spawn("sleep", LONG)
    identity = how.identify(child.pid)
    os.kill(child.pid, signal.SIGKILL)
    wait_until(lambda: state_of(child.pid) == "Z")
    assert how.liveness(identity) == "dead"
    child.wait()
    assert how.liveness(identity) == "dead"


def test_another_process_with_the_same_pid_is_not_the_one_meant(how: Any, spawn: Any) -> None:
    other = how.identify(spawn("sleep", LONG).pid)
    earlier = altered(other, start="1.5" if how is portable else "1")
    assert how.liveness(earlier) == "dead"


def test_after_a_boot_everything_from_before_is_dead(
    how: Any, spawn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = how.identify(spawn("sleep", LONG).pid)
    monkeypatch.setenv("QUEUECTL_BOOT_ID", "after")
    assert how.liveness(identity, same_host=True) == "dead"
    assert how.liveness(identity) == "unknown", "it may be another machine"
    assert how.signal_process(identity, signal.SIGKILL) is False


def test_nothing_is_known_of_another_pid_namespace(how: Any) -> None:
    mine = how.identify()
    assert how.liveness(altered(mine, namespace="1")) == "unknown"
    assert how.liveness(altered(mine, namespace="")) == "unknown"


def test_what_the_other_implementation_measured_is_unknown() -> None:
    by_proc, by_psutil = linux.identify(), portable.identify()
    assert by_proc is not None
    assert by_psutil is not None
    assert linux.liveness(by_psutil, same_host=True) == "unknown"
    assert portable.liveness(by_proc, same_host=True) == "unknown"


def test_a_clock_that_was_set_makes_nobody_dead_without_a_boot_id() -> None:
    mine = portable.identify()
    assert mine is not None
    moved = altered(mine, boot="btime-1-" + system.hostname())
    assert portable.liveness(moved, same_host=True) == "alive", "same pid, same start"
    both_moved = altered(moved, start="12.5")
    assert portable.liveness(both_moved, same_host=True) == "unknown"
    gone = altered(moved, pid=2**22 + 5)
    assert portable.liveness(gone, same_host=True) == "dead"


def test_a_name_with_blanks_and_parentheses_hides_nothing(how: Any, spawn: Any, tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    program = tmp_path / "a) Z 1 (b c"
    program.symlink_to(sleep)
    child = spawn(str(program), LONG)
    wait_until(lambda: ") Z 1 (" in Path(f"/proc/{child.pid}/comm").read_text())
    assert how.liveness(how.identify(child.pid)) == "alive"
    seen = linux.identify(child.pid)
    assert seen is not None
    assert seen.start == Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]


def test_a_process_lives_as_long_as_any_of_its_threads(spawn: Any) -> None:
    code = (
        "import ctypes, threading, time, sys\n"
        f"threading.Thread(target=time.sleep, args=({LONG},)).start()\n"
        "print('started', flush=True)\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    child = spawn(sys.executable, "-c", code)
    assert first_line(child) == "started"
    wait_until(lambda: state_of(child.pid) == "Z")
    identity = linux.identify(child.pid)
    assert identity is not None
    assert linux.liveness(identity) == "alive"
    child.kill()
    wait_until(lambda: linux.liveness(identity) == "dead")


def namespaces_allowed() -> bool:
    probe = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    return shutil.which("unshare") is not None and subprocess.run(probe, check=False).returncode == 0


def test_a_reused_pid_is_told_from_the_process_that_had_it(how: Any) -> None:
    if not namespaces_allowed():
        pytest.skip("no permission to make a pid namespace")
    code = f"""
import os, signal, subprocess
from queuectl.system import {how.__name__.rsplit(".", 1)[1]} as how
def start():
    return subprocess.Popen(["sleep", "{LONG}"])
first = start()
old = how.identify(first.pid)
first.kill()
first.wait()
while True:
    # Field 22 counts hundredths of a second: let the clock go on, or the two would look alike.
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(first.pid - 1))
    second = start()
    if second.pid == first.pid and how.identify(second.pid) != old:
        break
    second.kill()
    second.wait()
print(how.liveness(old), how.signal_process(old, signal.SIGKILL), second.poll())
second.kill()
"""
    answer = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", code],
        env=dict(os.environ, PYTHONPATH=SOURCE),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert answer.stdout.split() == ["dead", "False", "None"]


@pytest.mark.parametrize("mount", [["--mount-proc"], []], ids=["own proc", "foreign proc"])
def test_inside_and_outside_of_a_namespace_know_nothing_of_each_other(mount: list[str]) -> None:
    if not namespaces_allowed():
        pytest.skip("no permission to make a pid namespace")
    mine = linux.identify()
    assert mine is not None
    code = (
        "from queuectl.system import linux\n"
        f"print(linux.liveness(linux.Identity.decode({mine.encode()!r}), same_host=True))\n"
        "print(linux.liveness(linux.identify()))\n"
        "print(linux.identify().encode())\n"
    )
    answer = subprocess.run(
        ["unshare", "--pid", "--fork", *mount, sys.executable, "-c", code],
        env=dict(os.environ, PYTHONPATH=SOURCE),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    of_outside, of_itself, inside = answer.stdout.split()
    assert of_outside == "unknown"
    assert of_itself == ("alive" if mount else "unknown")
    assert linux.liveness(Identity.decode(inside), same_host=True) == "unknown"


# Signals


def test_a_signal_reaches_the_process_that_was_meant(how: Any, spawn: Any) -> None:
    child = spawn("sleep", LONG)
    identity = how.identify(child.pid)
    assert how.signal_process(identity, signal.SIGTERM) is True
    assert child.wait(timeout=20) == -signal.SIGTERM
    assert how.signal_process(identity, signal.SIGTERM) is False


def test_another_process_with_the_pid_is_not_signalled(how: Any, spawn: Any) -> None:
    child = spawn("sleep", LONG)
    other = altered(how.identify(child.pid), start="1.5" if how is portable else "1")
    assert how.signal_process(other, signal.SIGKILL) is False
    assert how.liveness(how.identify(child.pid)) == "alive"


def test_a_zombie_takes_no_signal(how: Any, spawn: Any) -> None:
    child = spawn("true")
    wait_until(lambda: state_of(child.pid) == "Z")
    identity = how.identify(child.pid)
    assert identity is not None
    assert how.signal_process(identity, signal.SIGTERM) is False


def test_without_pidfds_the_check_comes_right_before_the_signal(
    spawn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    child = spawn("sleep", LONG)
    identity = linux.identify(child.pid)
    assert identity is not None
    assert linux.signal_process(altered(identity, start="1"), signal.SIGKILL) is False
    assert linux.signal_process(identity, signal.SIGTERM) is True
    assert child.wait(timeout=20) == -signal.SIGTERM
    assert linux.signal_process(identity, signal.SIGTERM) is False


def test_signalling_leaves_no_descriptor_behind(spawn: Any) -> None:
    identity = linux.identify(spawn("sleep", LONG).pid)
    assert identity is not None
    before = len(os.listdir("/proc/self/fd"))
    for start in (identity.start, "1"):
        linux.signal_process(altered(identity, start=start), 0)
    assert len(os.listdir("/proc/self/fd")) == before


def test_killing_many_skips_those_already_gone(spawn: Any) -> None:
    gone, living = spawn("true"), spawn("sleep", LONG)
    gone.wait()
    system.kill_pids(iter([gone.pid, living.pid]), signal.SIGTERM)
    assert living.wait(timeout=20) == -signal.SIGTERM


@pytest.mark.parametrize("pid", [0, -1])
def test_no_group_is_ever_taken_for_a_pid(pid: int, spawn: Any) -> None:
    child = spawn("sleep", LONG)
    with pytest.raises(ValueError, match="not process ids"):
        system.kill_pids([child.pid, pid], signal.SIGKILL)
    assert child.poll() is None


def test_a_group_is_alive_until_its_last_member_is_reaped(spawn: Any) -> None:
    child = spawn("sleep", LONG, process_group=0)
    assert system.group_alive(child.pid)
    child.kill()
    child.wait()
    assert not system.group_alive(child.pid)


def test_elsewhere_who_has_ended_keeps_no_group_alive(spawn: Any) -> None:
    """Orphans of a command go to init there, which reaps them when it likes."""
    child = spawn("sleep", LONG, process_group=0)
    assert portable.group_alive(child.pid)
    child.kill()
    wait_until(lambda: not portable.group_alive(child.pid), what="the end of the command")
    assert anywhere.group_alive(child.pid), "nobody has reaped it"
    child.wait()
    assert not portable.group_alive(child.pid)


@pytest.mark.parametrize("pgid", [1, 0, -5])
def test_our_own_group_and_everybody_are_no_group_to_ask_about(pgid: int) -> None:
    with pytest.raises(ValueError, match="not a process group"):
        system.group_alive(pgid)


def test_stop_signals_and_their_names() -> None:
    assert set(system.STOP_SIGNALS) >= {signal.SIGTERM, signal.SIGINT}
    assert [system.signal_name(n) for n in (9, 15, 37, 0)] == [
        "SIGKILL",
        "SIGTERM",
        "signal 37",
        "signal 0",
    ]


# Kin

ESCAPE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.execvp("sleep", ["sleep", sys.argv[1]])
    os._exit(0)
os.wait()
"""


def test_kin_is_found_after_setsid_and_a_double_fork(how: Any, spawn: Any, token: str) -> None:
    child = spawn(sys.executable, "-c", ESCAPE, LONG, token=token)
    escaped = int(first_line(child))
    child.wait(timeout=20)
    wait_until(lambda: how.kin(token) == [escaped])
    assert os.getsid(escaped) != os.getsid(0)
    assert how.kin_of_many([token, "nobody"]) == {token: [escaped], "nobody": []}
    system.kill_pids(how.kin(token), signal.SIGKILL)
    wait_until(lambda: how.kin(token) == [])


def test_only_the_whole_token_counts(how: Any, spawn: Any, token: str) -> None:
    child = spawn("sleep", LONG, token=token)
    wait_until(lambda: how.kin(token) == [child.pid])
    for other in (token[:-1], token + "0", token.upper() + "x", token[1:], ""):
        assert how.kin(other) == []
        assert how.kin_of_many([other]) == {other: []}


def test_the_token_under_another_name_or_within_a_value_does_not_count(
    how: Any, spawn: Any, token: str
) -> None:
    entry = f"{system.TOKEN_VARIABLE}={token}"
    child = spawn("sleep", LONG, env={"X" + system.TOKEN_VARIABLE: token, "NOTE": f"\n{entry}"})
    wait_until(lambda: entry.encode() in Path(f"/proc/{child.pid}/environ").read_bytes())
    assert how.kin(token) == []


def test_many_tokens_are_told_apart(how: Any, spawn: Any, token: str) -> None:
    one, two = token + "1", token + "2"
    first, second, third = (spawn("sleep", LONG, token=t) for t in (one, two, two))
    expected = {one: [first.pid], two: sorted([second.pid, third.pid])}
    wait_until(lambda: how.kin_of_many(iter([one, two])) == expected)


def test_a_zombie_is_nobodys_kin(how: Any, spawn: Any, token: str) -> None:
    child = spawn("sleep", LONG, token=token, process_group=0)
    group, session = os.getpgid(child.pid), os.getsid(child.pid)
    wait_until(lambda: how.kin(token) == [child.pid])
    os.kill(child.pid, signal.SIGKILL)
    wait_until(lambda: state_of(child.pid) == "Z")
    assert how.kin(token, group, session) == []


def test_the_group_finds_kin_that_dropped_the_token(how: Any, spawn: Any, token: str) -> None:
    child = spawn("env", "-i", shutil.which("sleep"), LONG, token=token, process_group=0)
    session = os.getsid(0)
    wait_until(lambda: how.kin(token, None, None) == [])
    assert how.kin(token, child.pid, session) == [child.pid]
    assert how.kin("", child.pid, session) == [child.pid]
    assert how.kin(token, child.pid, None) == [], "a group id alone may be somebody else's by now"
    assert how.kin(token, child.pid, child.pid) == [], "another session"


def test_a_process_is_not_its_own_kin(how: Any, token: str) -> None:
    name = how.__name__.rsplit(".", 1)[1]
    code = f"from queuectl.system import {name} as how; print(how.kin({token!r}))"
    assert run_python(code, **{system.TOKEN_VARIABLE: token}) == "[]"


def test_orphans_come_to_the_subreaper() -> None:
    code = """
import os
from queuectl import system
assert system.become_subreaper()
reader, writer = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(7)
    os._exit(0)
os.wait()
os.close(reader)
os.close(writer)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    assert run_python(code, QUEUECTL_PORTABLE="") == "7"
    assert portable.become_subreaper() is False


# Places and clocks


def test_the_lease_clock_counts_milliseconds() -> None:
    earlier = lease_clock_ms()
    wait_until(lambda: lease_clock_ms() >= earlier + 20, timeout=5)


def test_names_become_plain() -> None:
    assert plain("my host_1/ü.example") == "my-host-1--.example"
    assert 0 < len(system.hostname()) <= 63
    assert plain(system.hostname()) == system.hostname()


def test_a_detached_process_has_its_own_session(spawn: Any) -> None:
    child = spawn("sleep", LONG, **system.detached_spawn_options())
    assert os.getsid(child.pid) == child.pid
    assert anywhere.detached_spawn_options(windows=True) == {"creationflags": 0x208}


MOUNTS = rb"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw
28 27 0:40 / /home rw - autofs systemd-1 rw
29 27 0:41 / /home rw,relatime shared:5 - nfs4 server:/home rw
30 27 0:42 / /home/local - ext3 broken
31 27 0:43 / /mnt/my\040disk\134040 rw - fuse.sshfs me@host: rw
32 27 0:44 / /data rw - btrfs /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/etc/x", "ext4"),
        ("/proc", "proc"),
        ("/process/1", "ext4"),
        ("/home/ann", "nfs4"),
        ("/home/local/x", "nfs4"),
        ("/homes", "ext4"),
        ("/mnt/my disk\\040/a", "fuse.sshfs"),
        ("/mnt/my", "ext4"),
        ("/data/q.db", "btrfs"),
    ],
)
def test_the_nearest_mount_tells_the_file_system(path: str, kind: str) -> None:
    assert mounts.type_of(path, MOUNTS) == kind


def test_network_file_systems_are_known_by_their_type() -> None:
    remote = "nfs nfs4 cifs smb3 smbfs 9p fuse.sshfs ceph glusterfs fuse.glusterfs lustre afs beegfs"
    assert all(mounts.is_network_type(kind) for kind in remote.split())
    local = ("ext4", "xfs", "btrfs", "tmpfs", "fuseblk", "overlay", "zfs", None)
    assert not any(mounts.is_network_type(kind) for kind in local)


def test_this_machines_mounts_can_be_read(tmp_path: Path) -> None:
    assert linux.filesystem_type("/proc/self") == "proc"
    assert linux.filesystem_type(str(tmp_path / "not" / "yet")) is not None
    (tmp_path / "link").symlink_to("/proc")
    assert linux.filesystem_type(str(tmp_path / "link")) == "proc"
    assert portable.filesystem_type("/proc") is None
    assert system.is_network_filesystem("/proc") is False


# The choice


@pytest.mark.parametrize(("variable", "expected"), [("1", "portable"), ("", "linux")])
def test_the_variable_chooses_the_implementation(variable: str, expected: str) -> None:
    code = "from queuectl import system; print(system.kin.__module__, system.boot_id.__module__)"
    module = f"queuectl.system.{expected}"
    assert run_python(code, QUEUECTL_PORTABLE=variable) == f"{module} {module}"


@pytest.mark.parametrize("variable", ["1", ""])
def test_importing_stays_cheap(variable: str) -> None:
    heavy = ("ctypes", "psutil", "subprocess", "typing", "dataclasses", "logging", "pathlib")
    code = (
        "import sys; from queuectl import system; system.hostname(); system.load_average()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    # -S: what the site module imports is not our doing.
    assert run_python(code, "-S", QUEUECTL_PORTABLE=variable) == "[]"


def test_everything_promised_is_there() -> None:
    assert all(hasattr(system, name) for name in system.__all__)
    assert len(set(system.__all__)) == len(system.__all__)
