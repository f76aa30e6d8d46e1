"""The exception tree: every error that a user can meet, with its exit code and what to do next.

How an error is printed is left to the command line.

    QueuectlError            1   something failed
    ├── InvalidInput         2   the caller gave us something we cannot take
    │   └── DuplicateId      2   a job with this id exists already
    ├── NotFound             1   the thing asked about does not exist
    ├── Refused              4   its state does not allow it
    └── StoreError           3   the store cannot be used
        ├── StoreMissing     3   there is none at this place yet
        ├── StoreBusy        3   locked by somebody else; worth trying again
        ├── StoreAway        3   the server cannot be reached now
        │   └── OutcomeUnknown  3   it went away, or the disk failed, before a commit was confirmed
        ├── StoreReplaced    3   the file under us is not the one we opened
        ├── StoreCorrupt     3   not a database, or a damaged one
        ├── SchemaTooNew     3   written by a newer queuectl
        └── WorkerFenced     3   this worker was declared dead; its claims are gone
"""

from __future__ import annotations


class QueuectlError(Exception):
    """Something failed; the message says what, the hint what to do about it."""

    exit_code = 1
    code = "failed"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidInput(QueuectlError):
    """The caller gave us something we cannot take. Nothing was written."""

    exit_code = 2
    code = "invalid_input"
    fields: tuple[str, ...] = ()  # of a job or a queue that the message speaks of, by these very words

    def about(self, *fields: str) -> InvalidInput:
        """Itself: whoever knows these fields by other names can put those in."""
        self.fields = fields
        return self


class DuplicateId(InvalidInput):
    """A job with this id exists already."""

    code = "duplicate_id"

    def __init__(self, message: str, hint: str | None = None, *, id: str | None = None) -> None:
        super().__init__(message, hint)
        self.id = id  # for the reader of a file, who knows in which line it stands


class NotFound(QueuectlError):
    """The thing asked about does not exist."""

    code = "not_found"


class Refused(QueuectlError):
    """The state of the thing does not allow what was asked."""

    exit_code = 4
    code = "refused"


class StoreError(QueuectlError):
    """The store cannot be reached or used."""

    exit_code = 3
    code = "store"
    lasting = False  # True: trying the same again later cannot help


class StoreMissing(StoreError):
    """There is no store at this place yet, and nobody asked to make one."""


class StoreBusy(StoreError):
    """Somebody else holds the store; the same call may succeed later."""

    code = "store_busy"


class StoreAway(StoreError):
    """The server cannot be reached, or the connection to it broke; the same call may succeed later."""

    code = "store_away"


class OutcomeUnknown(StoreAway):
    """The server was lost before it confirmed a commit, and did not come back to be asked.

    Or the disk failed at the end of one: what is in the log then may count for those who read it next.
    """

    code = "outcome_unknown"


class StoreReplaced(StoreError):
    """The database file was deleted or replaced under us."""

    code = "store_replaced"
    lasting = True


class StoreCorrupt(StoreError):
    """The file is not a queuectl database, or a damaged one."""

    code = "store_corrupt"
    lasting = True


class SchemaTooNew(StoreError):
    """The store was written by a newer queuectl."""

    code = "schema_too_new"
    lasting = True


class WorkerFenced(StoreError):
    """This worker was declared dead. Dead is final: it must register anew."""

    code = "worker_fenced"
    lasting = True
