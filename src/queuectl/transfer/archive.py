"""A backup with log files: one tar with the queue and the log files of its attempts, written and read.

Also tells what kind of file a backup is.
"""

from __future__ import annotations

import os
import shutil
import tarfile

from queuectl.errors import InvalidInput, StoreError
from queuectl.logfiles import is_log_file, parse_log_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.transfer.progress import Progress

SQLITE, JSON_LINES, ARCHIVE = "sqlite", "jsonl", "tar"
_NAMES = {SQLITE: "queue.db", JSON_LINES: "queue.jsonl"}
_LOGS = "logs/"


def kind_of(path: str) -> str:
    """What a backup is, by its first bytes; refuses what is none."""
    try:
        with open(path, "rb") as file:
            head = file.read(512)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}", "check the path") from None
    if head.startswith(b"SQLite format 3\0"):
        return SQLITE
    if head.lstrip(b"\xef\xbb\xbf \n").startswith(b"{"):
        return JSON_LINES
    if head[257:262] == b"ustar":
        return ARCHIVE
    raise InvalidInput(f"{path} is no backup of queuectl", "name a file that queuectl backup has made")


def pack(target: str, content: str, logs_dir: str, progress: Progress) -> set[tuple[int, int]]:
    """Write the archive; the job and the run of every attempt whose log came along as a whole.

    Jobs go on: there may be logs of attempts that ended later than `content` knows.
    """
    files = sorted(_log_files(logs_dir))
    came, vanished = set[tuple[int, int]](), set[tuple[int, int]]()
    members = 1
    fd = os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w+b") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            tar.add(content, _NAMES[kind_of(content)], recursive=False, filter=_anonymous)
            for number, name in enumerate(files, 1):
                key = parse_log_file(name)
                assert key is not None, name
                added = _add(tar, os.path.join(logs_dir, name), _LOGS + name)
                (came if added else vanished).add(key)
                members += added
                progress("log files", number, len(files))
        _compare(target, members)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}", "free some space") from error
    return came - vanished


def _add(tar: tarfile.TarFile, path: str, name: str) -> bool:
    """A log may be cleaned away, or grow, while we read: what is there at this moment comes along."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with open(fd, "rb") as file:
        info = tar.gettarinfo(arcname=name, fileobj=file)
        if not info.isreg():
            return False
        # Taken as a whole first: one that is cut short meanwhile must not leave half a member.
        data = file.read(info.size)
        info.size = len(data)
        import io

        tar.addfile(_anonymous(info), io.BytesIO(data))
    return True


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode = 0o600
    return info


def _log_files(logs_dir: str) -> list[str]:
    found = []
    for directory in os.listdir(logs_dir) if os.path.isdir(logs_dir) else ():
        place = os.path.join(logs_dir, directory)
        names = os.listdir(place) if os.path.isdir(place) and not os.path.islink(place) else ()
        found += [f"{directory}/{name}" for name in names if is_log_file(f"{directory}/{name}")]
    return found


def _compare(target: str, members: int) -> None:
    with tarfile.open(target, "r:") as tar:
        found = sum(1 for _ in tar)
    if found != members:
        raise StoreError(f"{target} was not written as a whole", "try again")


def unpack(path: str, directory: str) -> tuple[str, int]:
    """Take an archive apart into `directory`; where the queue is, and how many log files there are.

    Only names that we would have written are taken, whatever else is in it.
    """
    content = None
    logs = 0
    try:
        with tarfile.open(path, "r:") as tar:
            for member in tar:
                name = member.name
                wanted = name in _NAMES.values() or (
                    name.startswith(_LOGS) and is_log_file(name[len(_LOGS) :])
                )
                if not (wanted and member.isreg() and not member.issparse()):
                    raise InvalidInput(
                        f"{path} holds {name[:60]!r}, which is not of queuectl", "take another backup"
                    )
                _extract(tar, member, os.path.join(directory, name))
                if name in _NAMES.values():
                    content = os.path.join(directory, name)
                else:
                    logs += 1
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", "take another backup") from None
    if content is None:
        raise InvalidInput(f"{path} holds no queue", "name a file that queuectl backup has made")
    return content, logs


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, target: str) -> None:
    source = tar.extractfile(member)
    assert source is not None
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
        if file.tell() != member.size:
            raise EOFError(f"{member.name} is cut off")
        file.flush()
        os.fsync(file.fileno())
