"""The limits of a command's process: by which means each is applied.

Memory and processes are limited by a cgroup of the command's own where we may make one, by rlimits elsewhere.
They are applied by `confine`, inside the process; a command never runs without one that it shall have. What
its end has to do with them is left to `confinement`.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from queuectl.worker import cgroups
from queuectl.worker.confinement import Confinement, show
from queuectl.worker.nameless import nameless
from queuectl.worker.spawn import CannotStart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.core.job import Job
    from queuectl.worker.cgroups import Cgroups, Group
    from queuectl.worker.launcher import Launch

NAMES = (
    "nice",
    "files",
    "processes",
    "cpu_time",
    "memory",
)  # applied in this order: memory is needed till then
_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "confine.py")
_CONTROLLERS = {"memory": "memory", "processes": "pids"}
_INITIAL_USERS = ["0", "0", "4294967295"]  # the map of a user namespace that is none
_NICE, _AMOUNTS = range(-20, 20), range(1, 2**63)
_EXEMPT = 1 << 24 | 1 << 21  # CAP_SYS_RESOURCE, CAP_SYS_ADMIN


def limits_of(job: Job) -> dict[str, int]:
    """Those that the job has, by name; memory in bytes, cpu_time in milliseconds. ValueError: damaged."""
    rules = json.loads(job.rules) if job.rules else {}
    limits = {name: rules[name] for name in NAMES if rules.get(name) is not None}
    for name, value in limits.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{name} is not a number")
        # To the system, -1 and its like mean that there is no limit.
        if value not in (_NICE if name == "nice" else _AMOUNTS):
            raise ValueError(f"{name} cannot be {value}")
    return limits


class Confiner:
    """Makes commands start within their limits. One for each worker that meets any."""

    def __init__(
        self,
        environment: list[bytes],
        find: Callable[[frozenset[str]], Cgroups] = cgroups.find,
    ) -> None:
        # Ours, so that Python starts as it did for us. Some locales are mapped by the hundred megabytes.
        self._environment = [entry for entry in environment if not entry.startswith(b"LC_ALL=")] + [
            b"LC_ALL=C"
        ]
        self._find = find
        self._cgroups: Cgroups | None = None
        self._no_cgroups: str | None = None  # why not; None while nobody has asked

    def confine(self, launch: Launch, limits: dict[str, int], token: bytes) -> None:
        """Have the launch start `confine` instead, which becomes the command. CannotStart, OSError."""
        steps = [step for name in NAMES if name in limits for step in self._steps(name, limits[name])]
        group = self._group(launch.job, limits)
        try:
            if group is not None:
                steps.insert(0, f"cgroup join {group.entrance}")
            plan_fd = nameless(
                "queuectl-limits", _spell(steps, launch.candidates, launch.argv, launch.environment)
            )
            try:
                told, report = os.pipe()
            except OSError:
                os.close(plan_fd)
                raise
        except BaseException:
            if group is not None:
                group.remove()
            raise
        os.set_blocking(told, False)
        launch.confinement = Confinement(launch.program, limits, group, told)
        launch.keep = (plan_fd, report)
        launch.program = sys.executable
        launch.candidates = (os.fsencode(sys.executable),)
        words = (sys.executable, "-I", "-S", _SCRIPT, str(plan_fd), str(report))
        launch.argv = [os.fsencode(word) for word in words]
        launch.environment = [*self._environment, token]

    def close(self) -> None:
        if self._cgroups is not None:
            self._cgroups.close()

    def _steps(self, name: str, value: int) -> list[str]:
        """What `confine` is to do for one limit, if it is not its cgroup's: name, how, values."""
        if name == "nice":
            return [f"{name} nice {value}"]
        if name == "files":
            return [f"{name} rlimit {resource.RLIMIT_NOFILE} {value} {value}"]
        if name == "cpu_time":
            seconds = -(-value // 1000)
            # The first ends it with SIGXCPU; whoever catches that gets one second more.
            return [_tightened(name, resource.RLIMIT_CPU, seconds, seconds + 1)]
        if self._by_cgroup(name):
            return []
        if name == "processes":
            if not processes_bind():
                raise CannotStart(
                    f"cannot apply the limit processes={value}: the kernel exempts this worker's user, "
                    f"and there is no cgroup for it: {self._no_cgroups}"
                )
            return [_tightened(name, resource.RLIMIT_NPROC, value, value)]
        if sys.platform == "darwin":
            raise CannotStart(f"cannot apply the limit memory={show(name, value)}: macOS does not enforce it")
        return [_tightened(name, resource.RLIMIT_AS, value, value)]

    def _by_cgroup(self, name: str) -> bool:
        controller = _CONTROLLERS.get(name)
        if controller is None:
            return False
        if self._cgroups is None and self._no_cgroups is None:
            try:
                self._cgroups = self._find(frozenset(_CONTROLLERS.values()))
                self._no_cgroups = f"{self._cgroups.base} lacks a controller"
            except cgroups.Unavailable as why:
                self._no_cgroups = str(why)
        return self._cgroups is not None and controller in self._cgroups.controllers

    def _group(self, job: Job, limits: dict[str, int]) -> Group | None:
        inside = {name: limits[name] for name in _CONTROLLERS if name in limits and self._by_cgroup(name)}
        if not inside or self._cgroups is None:
            return None
        group = self._cgroups.make(job.token)
        name = ""
        try:
            for name, value in inside.items():
                _set_up(group, name, value)
        except OSError as error:
            group.remove()
            shown = show(name, inside[name])
            raise CannotStart(
                f"cannot apply the limit {name}={shown}: {error.filename}: {error.strerror}"
            ) from None
        return group


def processes_bind() -> bool:
    """Whether the kernel holds us to RLIMIT_NPROC."""
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            users = file.read()
        with open("/proc/self/status", encoding="utf-8", errors="replace") as file:
            capabilities = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff"))
    except (OSError, StopIteration):
        return os.getuid() != 0
    return not is_exempt(os.getuid(), users, capabilities)


def is_exempt(uid: int, users: str, capabilities: int) -> bool:
    """Root of the machine is, whatever it is called here, and who may exceed all limits there.

    `users` is the map of our user namespace. Seen from a namespace within another it shows only the next one
    outside; a user that is not root at last may be taken for it then, which is an error instead of silence.
    """
    initial = users.split() == _INITIAL_USERS
    if initial and capabilities & _EXEMPT:
        return True
    for line in users.splitlines():
        inside, outside, count = map(int, line.split())
        if inside <= uid < inside + count:
            return outside + uid - inside == 0
    return uid == 0


def _set_up(group: Group, name: str, value: int) -> None:
    if name == "processes":
        group.set("pids.max", str(value))
        return
    group.set("memory.max", str(value))
    if group.offers("memory.swap.max"):
        group.set("memory.swap.max", "0")
    if group.offers("memory.oom.group"):
        group.set("memory.oom.group", "1")  # all of the command or nothing: half of one helps nobody


def _tightened(name: str, which: int, soft: int, hard: int) -> str:
    """Never more than the worker itself has: whoever limited that has limited its commands as well."""
    most = resource.getrlimit(which)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    return f"{name} rlimit {which} {soft} {hard}"


def _spell(steps: list[str], *lists: Sequence[bytes]) -> bytes:
    """Lists of words as `confine` reads them. No word holds a NUL; a mark before each tells it from none."""
    words = ([os.fsencode(step) for step in steps], *lists)
    return b"\0\0".join(b"\0".join(b"." + word for word in part) for part in words)
