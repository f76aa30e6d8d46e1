"""What every system has, though some spell it differently: names, places, signals, groups.

Telling processes apart and finding them is left to linux.py and portable.py.
"""

from __future__ import annotations

import os
import signal

from queuectl.system.identity import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Every command carries its claim token in this variable; its descendants inherit it.
TOKEN_VARIABLE = "QUEUECTL_ATTEMPT_TOKEN"

WINDOWS = os.name == "nt"

# From the Windows API; the subprocess module has them on Windows alone.
_CREATE_NEW_PROCESS_GROUP = 0x200
_DETACHED_PROCESS = 0x8


def _stop_signals() -> tuple[signal.Signals, ...]:
    ctrl_break: signal.Signals | None = getattr(signal, "SIGBREAK", None)
    asked = (signal.SIGTERM, signal.SIGINT)
    return asked if ctrl_break is None else (*asked, ctrl_break)


STOP_SIGNALS = _stop_signals()

# Tells a supervisor that its workers are being stopped. Not a stop signal: a second one of those is urgent,
# and two people may both ask for a gentle stop.
RETIRE_SIGNAL: signal.Signals = getattr(signal, "SIGUSR1", signal.SIGTERM)


def hostname() -> str:
    """This machine's name, fit for a file name, an id or a table."""
    name = os.environ.get("COMPUTERNAME", "") if WINDOWS else os.uname().nodename
    return plain(name)[:63] or "localhost"


def detached_spawn_options(*, windows: bool = WINDOWS) -> dict[str, object]:
    """What subprocess.Popen needs so that a process outlives the terminal it came from."""
    if windows:
        return {"creationflags": _CREATE_NEW_PROCESS_GROUP | _DETACHED_PROCESS}
    return {"start_new_session": True}


def signal_name(number: int) -> str:
    """The name of a signal, "SIGKILL", or "signal 37" for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def kill_pids(pids: Iterable[int], signum: int) -> None:
    """Signal all of them; those already gone do not matter.

    PermissionError if one of them is not ours, raised after all the others got theirs.
    """
    targets = list(pids)
    if any(pid < 1 for pid in targets):  # kill() would take it for a group or for everybody
        raise ValueError(f"not process ids: {targets}")
    refused = None
    for pid in targets:
        try:
            os.kill(pid, signum)
        except ProcessLookupError:
            continue
        except PermissionError as error:
            refused = error
    if refused is not None:
        raise refused


def group_alive(pgid: int) -> bool:
    """Whether the process group has a member, be it one that we may not signal."""
    if pgid < 2:  # killpg() would take it for our own group or for everybody
        raise ValueError(f"not a process group of a child: {pgid}")
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def in_group(pid: int, pgid: int | None, session: int | None) -> bool:
    """Whether the process is of that group and session, both given, and ours to signal."""
    if pgid is None or session is None or WINDOWS:
        return False
    try:
        if os.getpgid(pid) != pgid or os.getsid(pid) != session:
            return False
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def load_average() -> float | None:
    """Processes that ran or wanted to, over the last minute; None if the system does not say."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):  # Windows has none
        return None
