"""What this machine keeps of a store: who can read and write it, on which disk it lies, how full that is.

What is inside the store is left to the store.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from shlex import quote

from queuectl import system
from queuectl.address import Address, is_server
from queuectl.errors import InvalidInput
from queuectl.paths import config_file, config_table
from queuectl.store.health import NOTE, OK, PROBLEM, WARNING, Finding, shown_size
from queuectl.system.mounts import is_network_type
from queuectl.transfer.wholefile import is_running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuectl.paths import Location

_LITTLE_ROOM, _NO_ROOM = 2**30, 100 * 2**20
_LARGE_LOG = 256 * 2**20
_ALLOW_NETWORK = "QUEUECTL_ALLOW_NETWORK_FS"
_POSIX = hasattr(os, "getuid")  # elsewhere the modes of files say nothing


def look(location: Location) -> list[Finding]:
    found = [*_store_file(location), *_directories(location), *_config()]
    kept = location.file or location.state_dir
    if not found and os.path.exists(kept):
        found.append(Finding(OK, "files", f"only you can read {kept}"))
    if location.file:
        place = existing(os.path.dirname(location.file))
        found += file_system(place, system.filesystem_type(place))
        found += log_size(location.file)
        found += leftovers(location.file)
    place = existing(kept)
    return found + disk(place, shutil.disk_usage(place).free)


def existing(path: str) -> str:
    """The path, or the nearest directory above it that exists."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


# --- who can read and write it --------------------------------------------------------------------------


def _store_file(location: Location) -> Iterator[Finding]:
    file = location.file
    if not file or not os.path.exists(file):
        return
    for path in (file, file + "-wal", file + "-shm"):
        yield from private(path, 0o600)
    parent = os.path.dirname(file)
    closed = [path for path in (file, parent) if not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        yield Finding(
            PROBLEM,
            "files",
            f"this user cannot write {file} or its directory",
            why="nothing can be enqueued, claimed or finished",
            mend=how_to_open(closed),
        )
    yield from replaceable(parent)


def how_to_open(closed: list[str]) -> str:
    """What is ours has only the wrong mode; what is somebody else's is only theirs to give."""
    ours = [path for path in closed if _POSIX and os.stat(path).st_uid == os.geteuid()]
    theirs = [path for path in closed if path not in ours]
    commands = [f"chmod u+rwX {' '.join(map(quote, ours))}"] if ours else []
    if theirs:
        commands.append(f"chown {_owner_name()} {' '.join(map(quote, theirs))}")
    return ("become its owner, or: " if theirs else "") + " && ".join(commands)


def replaceable(parent: str) -> Iterator[Finding]:
    mode = os.stat(parent).st_mode
    if _POSIX and mode & 0o022 and not mode & stat.S_ISVTX:
        yield Finding(
            PROBLEM,
            "files",
            f"others can replace what is in {parent} (mode {stat.S_IMODE(mode):04o})",
            why="who replaces the store decides which commands run as you",
            mend=f"chmod go-w {quote(parent)}",
        )


def _directories(location: Location) -> Iterator[Finding]:
    for path in (location.state_dir, location.run_dir, location.logs_dir):
        yield from private(path, 0o700)


def private(path: str, wanted: int) -> Iterator[Finding]:
    try:
        info = os.stat(path)
    except OSError:
        return
    mode = stat.S_IMODE(info.st_mode)
    if not _POSIX or not mode & 0o077:
        return
    writable = mode & 0o022
    yield Finding(
        PROBLEM if writable else WARNING,
        "files",
        f"{path} is open to others (mode {mode:04o})",
        why="who writes a job decides what runs as you"
        if writable
        else "others can read commands and output",
        mend=f"chmod {wanted:o} {quote(path)}",
    )


def _owner_name() -> str:
    return str(os.getuid()) if _POSIX else "you"


def _config() -> Iterator[Finding]:
    """A password in the config file is for nobody else's eyes."""
    path = config_file()
    try:
        address = config_table().get("db")
        secret = isinstance(address, str) and is_server(address) and Address(address).password
    except InvalidInput:
        return  # said where the settings are looked at
    if secret and _POSIX and os.stat(path).st_mode & 0o077:
        yield Finding(
            PROBLEM,
            "files",
            f"others can read {path}, which holds a password",
            why="who has it can read and change every job",
            mend=f"chmod 600 {quote(path)}",
        )


# --- the disk -------------------------------------------------------------------------------------------


def file_system(place: str, kind: str | None) -> list[Finding]:
    if not is_network_type(kind):
        return [Finding(OK, "files", f"{place} is on a local disk" + (f" ({kind})" if kind else ""))]
    allowed = bool(os.environ.get(_ALLOW_NETWORK))
    return [
        Finding(
            WARNING if allowed else PROBLEM,
            "files",
            f"{place} is on a network file system ({kind})",
            why="SQLite's locks do not work there: two machines at once ruin the file",
            mend="move it to a local disk, or use PostgreSQL or MySQL for several machines",
        )
    ]


def log_size(file: str) -> list[Finding]:
    """The write-ahead log, which is folded into the file as long as no reader keeps it."""
    try:
        size = os.stat(file + "-wal").st_size
    except OSError:
        return []
    if size < _LARGE_LOG:
        return [Finding(OK, "files", f"write-ahead log: {shown_size(size)}")]
    return [
        Finding(
            WARNING,
            "files",
            f"write-ahead log: {shown_size(size)}",
            why="somebody has been reading for long, which keeps it from being folded in",
            mend=f"fuser {quote(file)} tells who has it open; when it has ended: queuectl vacuum",
        )
    ]


_LEFT = {
    ".before-v": "the store as it was before an upgrade",
    ".replaced-": "a store that a restore has replaced",
    ".tmp-": "of a backup that was killed",
    ".restoring-": "of a restore that was killed",
}


def leftovers(file: str) -> list[Finding]:
    """What upgrades, backups and restores have left beside the store; nobody else deletes it."""
    parent, name = os.path.split(file)
    found = []
    for other in sorted(os.listdir(parent)) if os.path.isdir(parent) else ():
        kind = next((end for end in _LEFT if other.startswith(name + end)), None)
        if kind is None:
            continue
        pid = re.split(r"\D", other.removeprefix(name + kind), maxsplit=1)[0]
        if kind in (".tmp-", ".restoring-") and pid.isdigit() and is_running(int(pid)):
            continue
        path = os.path.join(parent, other)
        size = "" if os.path.isdir(path) else f" ({shown_size(os.lstat(path).st_size)})"
        remove = "rm -r" if os.path.isdir(path) else "rm"
        what = f"{path}{size} is {_LEFT[kind]}"
        why = "it takes room, and it holds commands and output"
        found.append(Finding(NOTE, "backups", what, why=why, mend=f"{remove} {quote(path)}"))
    return found


def disk(place: str, free: int) -> list[Finding]:
    shown = f"{shown_size(free)} free on the disk of {place}"
    if free >= _LITTLE_ROOM:
        return [Finding(OK, "files", shown)]
    why = "on a full disk nothing can be stored, neither jobs nor output"
    level = PROBLEM if free < _NO_ROOM else WARNING
    return [
        Finding(level, "files", shown, why=why, mend="queuectl cleanup --older-than 7d && queuectl vacuum")
    ]
