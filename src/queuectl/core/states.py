"""The states of a job and the moves between them; docs/states.md draws the same picture."""

from __future__ import annotations

PENDING = "pending"
SCHEDULED = "scheduled"
BLOCKED = "blocked"
PROCESSING = "processing"
FAILED = "failed"
COMPLETED = "completed"
DEAD = "dead"
CANCELLED = "cancelled"

ALL = (PENDING, SCHEDULED, BLOCKED, PROCESSING, FAILED, COMPLETED, DEAD, CANCELLED)
TERMINAL = (COMPLETED, DEAD, CANCELLED)
TIMED = (SCHEDULED, FAILED)  # become pending when their time comes

# Which states a person's request may start from; the store guards its UPDATE with the same table.
CANCELLABLE = (PENDING, SCHEDULED, BLOCKED, FAILED)
RETRYABLE = (DEAD, CANCELLED, FAILED)
REMOVABLE = (PENDING, SCHEDULED, BLOCKED, FAILED, COMPLETED, DEAD, CANCELLED)

# Every legal move. What is not here cannot happen, and a test says so.
MOVES = {
    PENDING: (PROCESSING, CANCELLED, BLOCKED, SCHEDULED),
    SCHEDULED: (PENDING, CANCELLED, BLOCKED),
    BLOCKED: (PENDING, SCHEDULED, CANCELLED),
    PROCESSING: (COMPLETED, FAILED, DEAD, CANCELLED, PENDING),
    FAILED: (PENDING, CANCELLED, BLOCKED, SCHEDULED),
    COMPLETED: (),
    DEAD: (PENDING, BLOCKED),
    CANCELLED: (PENDING, BLOCKED),
}

_SPELLINGS = {"canceled": CANCELLED, "running": PROCESSING, "dlq": DEAD, "done": COMPLETED}


def parse_state(text: str) -> str | None:
    """A state as people write it, in any case and with the usual other words; None if unknown."""
    word = text.strip().lower()
    word = _SPELLINGS.get(word, word)
    return word if word in ALL else None
