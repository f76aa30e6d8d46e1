"""Long output lies in files beside a store: they go along where source and target are on this machine."""

from __future__ import annotations

import os
import shutil

from queuectl.core.tables import ATTEMPTS
from queuectl.errors import StoreError
from queuectl.logfiles import log_name, segments
from queuectl.paths import make_private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.tables import Row

_JOB_SEQ, _RUN, _LOG = (ATTEMPTS.names.index(name) for name in ("job_seq", "run", "log"))


class LogCopier:
    """Copies the logs of attempts. Called before their rows are stored: no row points to a log to come."""

    __slots__ = ("_source", "_target", "copied", "missing")

    def __init__(self, source: str, target: str) -> None:
        self._source = source
        self._target = target
        self.copied = 0
        self.missing = 0  # on another machine, or deleted

    def __call__(self, attempts: Sequence[Row]) -> None:
        for row in attempts:
            # By its numbers, not by what the row says: a path out of a database is never followed.
            name = log_name(int(str(row[_JOB_SEQ])), int(str(row[_RUN])))
            # A lost attempt may have left a file that its row does not name.
            if row[_LOG] is not None or os.path.lexists(os.path.join(self._source, name)):
                self._copy(name, named=row[_LOG] is not None)

    def _copy(self, name: str, *, named: bool) -> None:
        found = segments(self._source, name)
        if not found:
            self.missing += named
            return
        directory = os.path.dirname(os.path.join(self._target, name))
        try:
            make_private_dir(directory)
            wanted = [os.path.join(directory, os.path.basename(path)) for path in found]
            for stale in set(segments(self._target, name)) - set(wanted):
                os.unlink(stale)  # of another life of this place; it would be read as a part of this log
            for path, target in zip(found, wanted, strict=True):
                _copy_private(path, target)
        except OSError as error:
            raise StoreError(f"cannot copy the log {name}: {error.strerror}", "free some space") from error
        self.copied += 1


def _copy_private(path: str, target: str) -> None:
    unfinished = target + ".tmp"
    if os.path.lexists(unfinished):
        os.unlink(unfinished)  # of a copy that died here
    source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(source, "rb") as reader:
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
            writer.flush()
            os.fsync(writer.fileno())
    os.replace(unfinished, target)
