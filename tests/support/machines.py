"""Other computers, as far as queuectl can tell: namespaces of this one, with cables that can be pulled.

    this computer ── qctlN (10.213.N.1) ──┐
                                        switch ── machine "a" (10.213.N.2), machine "b" (10.213.N.3) …

A machine has its own network, host name, boot id, process ids, /proc and monotonic clock. It shares the files
with us: give each a home of its own. All hangs on processes that end with the pipe from us to them, and the
kernel removes links, mounts and processes with the namespace they are in: nothing outlives us.
"""

from __future__ import annotations

import ctypes
import functools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import IO, Any, NoReturn

import pytest

from queuectl.testing import wait_until
from tests.support.quiet_network import links_may_change

_TOOLS = "ip", "unshare", "nsenter"
_UNSHARE = (
    "unshare",
    "--net",
    "--uts",
    "--mount",
    "--propagation",
    "private",
    "--pid",
    "--fork",
    "--mount-proc",
)

# The first process of a machine: sh collects the orphans while it waits for cat, which waits for our end.
# Without the `exit` some shells would become cat.
_BOOT = """
set -e
echo "$0" > /proc/sys/kernel/hostname
mount --bind "$1" /proc/sys/kernel/random/boot_id
echo ready
cat
exit
"""
_SWITCH = "echo ready; exec cat"

_CLONE_FS, _CLONE_NEWTIME = 0x200, 0x80
_A_DAY = 86_400


@functools.cache
def why_not() -> str:
    """Why there can be no machines here, or nothing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "root on Linux"
    if lacking := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        return "the tools " + ", ".join(lacking)
    # Before 6.0 a process that is made by vfork cannot enter a clock of its own.
    if tuple(int(part) for part in os.uname().release.split(".")[:2]) < (6, 0):
        return "Linux 6.0 or newer"
    tried = subprocess.run([*_UNSHARE, "--time", "true"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"to be allowed to make namespaces ({tried.stderr.strip()})"


def require_namespaces() -> None:
    """Skip the test where there can be no machines; in CI that is a failure."""
    if not why_not():
        return
    refuse: Callable[[str], NoReturn] = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
    refuse(f"NOT TESTED: machines in namespaces need {why_not()}")


class Machine:
    """Made by `net.machine(name)`. What runs in it are children of the test, with their pids as seen here."""

    def __init__(self, net: Net, name: str, *, number: int) -> None:
        self.name = name
        self.address = f"{net.prefix}.{number}"
        self.boot_id = str(uuid.uuid4())
        self.clock_ahead = random.randint(_A_DAY, 100 * _A_DAY)  # seconds, by the monotonic clock
        self._port = f"port{number}"
        self._switch, self._link = net.switch, net.link
        self._processes: list[subprocess.Popen[Any]] = []
        self._on = ExitStack()
        with self._on:
            self._thread = self._on.enter_context(ThreadPoolExecutor(1, f"machine-{name}"))
            self._init = self._boot()
            # In the end: the first process dies and kills the others, we collect those, then it can go.
            self._on.callback(self._bury)
            self._on.callback(self._lifeline.close)
            self._plug()
            self._thread.submit(self._move_in).result()
            self._on = self._on.pop_all()

    def popen(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[Any]:
        """subprocess.Popen inside; a signal to it goes to the command itself."""
        options.setdefault("cwd", os.getcwd())
        started = self._thread.submit(lambda: subprocess.Popen(argv, env=env, **options))
        self._processes.append(started.result())
        return started.result()

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout: float = 60,
        check: bool = False,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; what it prints is captured as text."""
        options.setdefault("stdin", subprocess.DEVNULL if input is None else subprocess.PIPE)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        with self.popen(argv, env=env, text=True, **options) as process:
            try:
                out, err = process.communicate(input, timeout)
            except BaseException:
                process.kill()
                raise
        result = subprocess.CompletedProcess(argv, process.returncode, out, err)
        if check:
            result.check_returncode()
        return result

    def cut(self) -> None:
        """Pull the cable: nothing goes in or out, and nobody is told."""
        _ip(self._switch, f"link set {self._port} down")

    def join(self) -> None:
        """Put the cable back; new connections can be made at once."""
        _ip(self._switch, f"link set {self._port} up")
        _wait_for_carrier(self._init, "eth0")
        # Each side may have asked in vain for the other's hardware address, and would not again for a second.
        _ip(self._init, "neigh flush dev eth0")
        _ip(None, f"neigh flush to {self.address} dev {self._link}")

    def close(self) -> None:
        """Cut the power: everything in it dies at once. A new one of that name is this one, booted again."""
        self._on.close()

    def _boot(self) -> subprocess.Popen[bytes]:
        with tempfile.NamedTemporaryFile("w") as file:  # once it is mounted, its name is not needed
            file.write(self.boot_id + "\n")
            file.flush()
            os.chmod(file.name, 0o444)
            argv = [*_UNSHARE, "--kill-child", "sh", "-c", _BOOT, self.name, file.name]
            return _started(self._on, argv, what=f"machine {self.name}")

    @property
    def _lifeline(self) -> IO[bytes]:
        assert self._init.stdin is not None
        return self._init.stdin

    def _plug(self) -> None:
        _ip(
            self._switch,
            f"link add {self._port} type veth peer name eth0 netns {self._init.pid}",
            f"link set {self._port} master bridge",
        )
        _ip(self._init, "link set lo up", f"addr add {self.address}/24 dev eth0", "link set eth0 up")
        self.join()

    def _move_in(self) -> None:
        """Make what this thread starts from now on start inside the machine.

        Namespaces belong to threads. That of a clock cannot be entered by one of many, so we make one.
        """
        names = "net", "uts", "mnt", "pid_for_children"
        spaces = [os.open(f"/proc/{self._init.pid}/ns/{name}", os.O_RDONLY) for name in names]
        libc = ctypes.CDLL(None, use_errno=True)
        _checked(libc.unshare(_CLONE_FS | _CLONE_NEWTIME))
        with open(f"/proc/{threading.get_native_id()}/timens_offsets", "w") as offsets:
            offsets.write(f"monotonic {self.clock_ahead} 0\nboottime {self.clock_ahead} 0\n")
        for space in spaces:
            _checked(libc.setns(space, 0))
            os.close(space)

    def _bury(self) -> None:
        for process in self._processes:
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(BrokenPipeError):  # what nobody will read any more
                        stream.close()


class Net:
    """`with Net() as net:` then `net.machine("a")`; servers for them listen at `net.server_address`."""

    def __init__(self) -> None:
        self._machines: list[Machine] = []
        self._on = ExitStack()
        with self._on, links_may_change():  # in this order: undoing it takes the lock again
            self.switch = _started(self._on, ["unshare", "--net", "sh", "-c", _SWITCH], what="the switch")
            number = self._claim()
            self.prefix = f"10.213.{number}"
            self.server_address = f"{self.prefix}.1"
            # An address of IPv6 would come a second or two later, when no lock is held any more.
            _ip(None, f"link set {self.link} addrgenmode none")
            _ip(None, f"addr add {self.server_address}/24 dev {self.link}", f"link set {self.link} up")
            _ip(
                self.switch,
                "link add bridge type bridge",
                "link set server master bridge",
                "link set server up",
                "link set bridge up",
            )
            _wait_for_carrier(None, self.link)
            self._on = self._on.pop_all()

    def __enter__(self) -> Net:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def machine(self, name: str) -> Machine:
        """A computer of that host name, switched on and connected."""
        machine = Machine(self, name, number=len(self._machines) + 2)
        self._machines.append(machine)
        return machine

    def close(self) -> None:
        with self._on:
            for machine in self._machines:
                self._on.callback(machine.close)

    def _claim(self) -> int:
        """A free number. The kernel gives the name of a link to one of many who want it."""
        used = subprocess.run(["ip", "-4", "route"], capture_output=True, text=True, check=True).stdout
        free = [number for number in range(255) if f"10.213.{number}." not in used]
        for number in random.sample(free, len(free)):
            self.link = f"qctl{number}"
            with suppress(_LinkTaken):
                _ip(None, f"link add {self.link} type veth peer name server netns {self.switch.pid}")
                self._on.callback(_remove, self.link)
                return number
        raise RuntimeError("no free network in 10.213.0.0/16")


def _remove(link: str) -> None:
    with links_may_change():
        _ip(None, f"link del {link}")


class _LinkTaken(RuntimeError):
    """There is a link of that name."""


def _ip(where: subprocess.Popen[bytes] | None, *commands: str) -> str:
    """Give commands to ip(8), in the network of that process or in ours."""
    inside = [] if where is None else ["nsenter", f"--net=/proc/{where.pid}/ns/net"]
    done = subprocess.run(
        [*inside, "ip", "-batch", "-"], input="\n".join(commands), capture_output=True, text=True, check=False
    )
    if "File exists" in done.stderr:
        raise _LinkTaken(done.stderr)
    if done.returncode != 0:
        raise RuntimeError(f"ip: {done.stderr.strip()} in: {'; '.join(commands)}")
    return done.stdout


def _wait_for_carrier(where: subprocess.Popen[bytes] | None, link: str) -> None:
    """The end of a cable that was up before the other can send again only when the kernel has noticed."""
    wait_until(lambda: " state UP " in _ip(where, f"link show {link}"), what=f"the carrier of {link}")


def _started(stack: ExitStack, argv: list[str], *, what: str) -> subprocess.Popen[bytes]:
    """A process that lives as long as the pipe from us to it; it has done its part and said so."""
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(_end, process)
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError(f"{what} did not start; its reason is on stderr")
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
    process.wait(timeout=10)


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
