"""Which command somebody means by a word that is none: one of another tool, part of one, or misspelt."""

from __future__ import annotations

from difflib import get_close_matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["meant"]

# What other tools call it, and our commands of two words without their first. These come before any likeness:
# `resume` is but two letters from `remove`, which deletes.
_ELSEWHERE = {
    "start": "worker start",
    "stop": "worker stop",
    "restart": "worker restart",
    "scale": "worker scale",
    "pause": "queue pause",
    "resume": "queue resume",
    "drain": "queue drain",
    "purge": "dlq purge",
    "clear": "dlq purge",
    "groups": "dlq groups",
    "dead": "dlq list",
    "failed": "dlq list",
    "trigger": "schedule trigger",
    "set": "config set",
    "unset": "config unset",
    "settings": "config list",
    "install": "service install",
    "jobs": "list",
    "ps": "list",
    "history": "list",
    "describe": "show",
    "inspect": "show",
    "push": "enqueue",
    "create": "enqueue",
    "new": "enqueue",
    "exec": "run",
    "kill": "cancel",
    "abort": "cancel",
    "rerun": "retry",
    "requeue": "retry",
    "stash": "hold",
    "tail": "logs -f",
    "follow": "logs -f",
    "output": "logs",
    "watch": "status --watch",
    "prune": "cleanup",
    "gc": "cleanup",
    "dump": "export",
    "check": "doctor",
    "tour": "demo",
}


def meant(word: str, known: Sequence[str]) -> str | None:
    word = word.lower()
    if word in _ELSEWHERE:
        return _ELSEWHERE[word]
    return next(iter(get_close_matches(word, known, n=1, cutoff=0.6)), None)
