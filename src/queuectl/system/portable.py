"""The same answers as linux.py on other systems, as well as psutil can tell them.

What Linux alone has (subreapers, pidfds, a table of mounts) is answered with "no" here.
"""

from __future__ import annotations

import os

from queuectl.system import anywhere
from queuectl.system.anywhere import TOKEN_VARIABLE, hostname, in_group
from queuectl.system.identity import ALIVE, BY_PSUTIL, DEAD, UNKNOWN, Identity, boot_override

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import psutil

_MEASURED_BOOT = "btime-"


def boot_id() -> str:
    """The time of the boot; with the host's name, as many machines may boot in one second."""
    override = boot_override()
    if override:
        return override
    import psutil

    return f"{_MEASURED_BOOT}{psutil.boot_time():.0f}-{hostname()}"


def identify(pid: int | None = None) -> Identity | None:
    """The identity of that process (by default: this one), or None if there is none."""
    pid = os.getpid() if pid is None else pid
    boot = boot_id()
    start = _start(pid) if pid > 0 else None
    if not start:
        return None
    return Identity(pid=pid, start=start, boot=boot, namespace=BY_PSUTIL)


def liveness(identity: Identity, same_host: bool = False) -> str:
    """Whether that very process lives: "alive", "dead" or "unknown"; same_host as on Linux."""
    if identity.namespace != BY_PSUTIL:
        return UNKNOWN
    start = None if _has_ended(identity.pid) else _start(identity.pid)
    here = boot_id()
    if identity.boot != here:
        if not same_host:
            return UNKNOWN
        if not (identity.boot.startswith(_MEASURED_BOOT) and here.startswith(_MEASURED_BOOT)):
            return DEAD
    if start is None:
        return DEAD
    if start == identity.start:
        return ALIVE
    # Both times are of the wall clock: if the boot's moved as well, somebody may have set the
    # clock, and the lease has to tell. The same boot with another start is another process.
    return DEAD if start and identity.boot == here else UNKNOWN


def signal_process(identity: Identity, signum: int) -> bool:
    """Signal that very process; False unless it surely lives. PermissionError if not ours."""
    if liveness(identity, same_host=True) != ALIVE:
        return False
    try:
        os.kill(identity.pid, signum)
    except ProcessLookupError:
        return False
    return True


def become_subreaper() -> bool:
    """Not here: orphans go to init, and only their token finds them."""
    return False


def birth_mark(pid: int) -> int:
    """Not told: what is measured here moves with the wall clock."""
    del pid
    return 0


def group_alive(pgid: int) -> bool:
    """Whether the group has a member that has not ended: init, who gets orphans, may be slow to reap them."""
    if not anywhere.group_alive(pgid):
        return False
    try:
        return any(_group_of(process.pid) == pgid and not _has_ended(process.pid) for process in _others())
    except OSError:  # no descriptor left to look with
        return True


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def kin(token: str, pgid: int | None = None, session: int | None = None) -> list[int]:
    """Living processes that carry the token, or are of that group of that session."""
    found = []
    for process in _others():
        if (token and _token_of(process) == token) or in_group(process.pid, pgid, session):
            found.append(process.pid)
    return sorted(pid for pid in found if not _has_ended(pid))


def kin_of_many(tokens: Iterable[str]) -> dict[str, list[int]]:
    """The living processes that carry each of the tokens, in one pass."""
    found: dict[str, list[int]] = {token: [] for token in tokens}
    for process in _others():
        token = _token_of(process)
        if token and token in found and not _has_ended(process.pid):
            found[token].append(process.pid)
    return {token: sorted(pids) for token, pids in found.items()}


def tokens_of(pid: int) -> list[str]:
    """None: without birth marks nobody asks."""
    del pid
    return []


def available_memory() -> int | None:
    """Bytes that could be used without swapping."""
    import psutil

    return int(psutil.virtual_memory().available)


def filesystem_type(path: str) -> str | None:
    """Not told here."""
    del path
    return None


def _start(pid: int) -> str | None:
    """When the process started; None if it is gone, empty if the system does not say."""
    import psutil

    try:
        return repr(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        return ""


def _has_ended(pid: int) -> bool:
    """Whether the process is gone or waits to be reaped."""
    import psutil

    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False


def _others() -> Iterator[psutil.Process]:
    import psutil

    own = os.getpid()
    return (process for process in psutil.process_iter() if process.pid != own)


def _token_of(process: psutil.Process) -> str | None:
    import psutil

    try:
        return process.environ().get(TOKEN_VARIABLE)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None


def resident_kb() -> int | None:
    """What this process holds of the memory."""
    import psutil

    try:
        return int(psutil.Process().memory_info().rss // 1024)
    except psutil.Error:
        return None
