"""The one place for what only some systems have: processes, signals, clocks, places, mounts.

Chooses between linux.py and portable.py; what to do with the answers is left to the callers.
"""

from __future__ import annotations

import os
import sys

from queuectl.system.anywhere import (
    RETIRE_SIGNAL,
    STOP_SIGNALS,
    TOKEN_VARIABLE,
    detached_spawn_options,
    hostname,
    kill_pids,
    load_average,
    signal_name,
)
from queuectl.system.identity import ALIVE, DEAD, UNKNOWN, Identity
from queuectl.system.mounts import is_network_type

# QUEUECTL_PORTABLE=1 lets the whole test-suite run on Linux as it would elsewhere.
if sys.platform == "linux" and os.environ.get("QUEUECTL_PORTABLE") != "1":
    from queuectl.system.anywhere import group_alive
    from queuectl.system.linux import (
        available_memory,
        become_subreaper,
        birth_mark,
        boot_id,
        filesystem_type,
        identify,
        kin,
        kin_of_many,
        liveness,
        resident_kb,
        signal_process,
        tokens_of,
    )
else:
    from queuectl.system.portable import (
        available_memory,
        become_subreaper,
        birth_mark,
        boot_id,
        filesystem_type,
        group_alive,
        identify,
        kin,
        kin_of_many,
        liveness,
        resident_kb,
        signal_process,
        tokens_of,
    )

__all__ = [
    "ALIVE",
    "DEAD",
    "RETIRE_SIGNAL",
    "STOP_SIGNALS",
    "TOKEN_VARIABLE",
    "UNKNOWN",
    "Identity",
    "available_memory",
    "become_subreaper",
    "birth_mark",
    "boot_id",
    "detached_spawn_options",
    "filesystem_type",
    "group_alive",
    "hostname",
    "identify",
    "is_network_filesystem",
    "kill_pids",
    "kin",
    "kin_of_many",
    "liveness",
    "load_average",
    "resident_kb",
    "signal_name",
    "signal_process",
    "tokens_of",
]


def is_network_filesystem(path: str) -> bool:
    """Whether the path lies on another machine, as far as this system tells."""
    return is_network_type(filesystem_type(path))
