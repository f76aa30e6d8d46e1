"""Processes, clock and mounts as Linux shows them: /proc, pidfds, prctl.

What a dead process means for its jobs is left to the callers; other systems to portable.py.
"""

from __future__ import annotations

import os
import signal
from functools import cache

from queuectl.system import procfs
from queuectl.system.anywhere import in_group
from queuectl.system.identity import ALIVE, BY_PSUTIL, DEAD, UNKNOWN, Identity, boot_override
from queuectl.system.mounts import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PR_SET_CHILD_SUBREAPER = 36
_BIRTHS = 2**31 - 1


def boot_id() -> str:
    """What stays the same until the next boot, whatever happens to the clock."""
    known = boot_override() or _kernel_boot_id()
    if known:
        return known
    from queuectl.system.portable import boot_id as measured

    return measured()


@cache
def _kernel_boot_id() -> str:
    """No process outlives it; empty where there is none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:  # some sandboxes leave it out
        return ""


def identify(pid: int | None = None) -> Identity | None:
    """The identity of that process (by default: this one), or None if there is none."""
    seen = procfs.stat("self" if pid is None else pid)
    if seen is None:
        return None
    return Identity(
        pid=os.getpid() if pid is None else pid,
        start=seen.start,
        boot=boot_id(),
        namespace=procfs.pid_namespace(),
    )


def birth_mark(pid: int) -> int:
    """31 bits of when that process began, never 0; 0 if that cannot be told."""
    try:
        seen = procfs.stat(pid)
    except OSError:  # no descriptor left
        return 0
    return 0 if seen is None else int(seen.start) % _BIRTHS + 1


def liveness(identity: Identity, same_host: bool = False) -> str:
    """Whether that very process lives: "alive", "dead" or "unknown".

    same_host: the caller knows that the identity was made on this machine, so that another boot
    id means a boot since then. Equal host names alone are no such knowledge.
    """
    if identity.namespace == BY_PSUTIL:
        return UNKNOWN
    if identity.boot != boot_id():
        return DEAD if same_host else UNKNOWN
    here = procfs.pid_namespace()
    if not here or identity.namespace != here:
        return UNKNOWN
    seen = procfs.stat(identity.pid)
    if seen is None:
        return _verdict_on_unseen(identity.pid)
    return ALIVE if seen.living and seen.start == identity.start else DEAD


def signal_process(identity: Identity, signum: int) -> bool:
    """Signal that very process; False unless it surely lives. PermissionError if not ours."""
    try:
        send = signal.pidfd_send_signal
        pidfd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):  # old Python, old kernel, seccomp, or the id of a thread
        return _check_and_kill(identity, signum)
    try:
        # Checked after the opening: from here on the descriptor cannot come to mean another.
        if liveness(identity) != ALIVE:
            return False
        send(pidfd, signum)
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)
    return True


def become_subreaper() -> bool:
    """Have orphans among our descendants become our children instead of init's."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    nothing = ctypes.c_ulong(0)
    done = libc.prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), nothing, nothing, nothing)
    return bool(done == 0)


def kin(token: str, pgid: int | None = None, session: int | None = None) -> list[int]:
    """Living processes that carry the token, or are of that group of that session.

    One pass: what forks meanwhile may be missed, so whoever kills asks again until there is none.
    """
    wanted = os.fsencode(token)
    found = set()
    for pid, carried in procfs.carried_tokens():
        if (token and wanted in carried) or in_group(pid, pgid, session):
            found.add(pid)
    return sorted(pid for pid in found if procfs.is_living(pid))


def kin_of_many(tokens: Iterable[str]) -> dict[str, list[int]]:
    """The living processes that carry each of the tokens, in one pass."""
    found: dict[str, set[int]] = {token: set() for token in tokens}
    names = {os.fsencode(token): token for token in found if token}
    for pid, carried in procfs.carried_tokens():
        for entry in carried:
            if entry in names and procfs.is_living(pid):
                found[names[entry]].add(pid)
    return {token: sorted(pids) for token, pids in found.items()}


def tokens_of(pid: int) -> list[str]:
    """The claims in the environment of a process."""
    return [token.decode("utf-8", "replace") for token in procfs.tokens_of(pid)]


def available_memory() -> int | None:
    """Bytes that could be used without swapping; None if the system does not say."""
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # some sandboxes leave it out
        pass
    return None


def filesystem_type(path: str) -> str | None:
    """The type of the file system that holds (or would hold) the path, as mount(8) names it."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            table = file.read()
    except FileNotFoundError:
        return None
    return type_of(os.path.realpath(path), table)


def _verdict_on_unseen(pid: int) -> str:
    """On a pid that /proc does not show: mounted with hidepid it hides what is not ours."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return DEAD
    except PermissionError:
        return UNKNOWN
    return UNKNOWN


def _check_and_kill(identity: Identity, signum: int) -> bool:
    if liveness(identity) != ALIVE:
        return False
    try:
        os.kill(identity.pid, signum)
    except ProcessLookupError:
        return False
    return True


def resident_kb() -> int | None:
    """What this process holds of the memory."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    except (OSError, ValueError, IndexError):
        return None
