"""Tasks of pueue, as `pueue status --json` prints them and its daemon keeps them: versions 3 and 4.

Which of them come over is decided in `pueue_plan`.
"""

from __future__ import annotations

from datetime import UTC, datetime

from queuectl.core.fields import kind_of
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DELAYED",
    "FAILED",
    "PAUSED",
    "QUEUED",
    "RUNNING",
    "STASHED",
    "SUCCEEDED",
    "State",
    "Task",
    "read",
]

QUEUED = "queued"
STASHED = "stashed"  # until somebody enqueues it
DELAYED = "delayed"  # until its time
RUNNING = "running"
PAUSED = "paused"  # a process that was stopped
SUCCEEDED = "succeeded"
FAILED = "failed"

_HINT = "give what `pueue status --json` prints, or the state.json of its daemon"
_PLAIN = {"Queued": QUEUED, "Running": RUNNING, "Paused": PAUSED}
_UNSUCCESSFUL = ("Failed", "FailedToSpawn", "Killed", "Errored", "DependencyFailed")


class Task:
    """One task; `number` is what pueue calls its id."""

    __slots__ = (
        "command",
        "dependencies",
        "enqueue_at",
        "envs",
        "group",
        "label",
        "number",
        "path",
        "priority",
        "state",
    )

    number: int
    command: str
    path: str
    envs: dict[str, str]
    group: str
    dependencies: list[int]
    priority: int
    label: str | None
    state: str
    enqueue_at: str | None


class State:
    """All tasks by number, and of each group whether it is paused and how many of its tasks run at a time."""

    __slots__ = ("groups", "tasks")

    def __init__(self) -> None:
        self.tasks: dict[int, Task] = {}
        self.groups: dict[str, tuple[bool, int]] = {}


def read(document: object) -> State:
    """The state, or an error that names the place in it."""
    if not isinstance(document, dict) or not isinstance(document.get("tasks"), dict):
        raise InvalidInput("this is no state of pueue: it has no tasks", _HINT)
    state = State()
    for key, raw in document["tasks"].items():
        task = _task(raw, f"tasks.{str(key)[:20]}")
        if task.number in state.tasks:
            raise InvalidInput(f"tasks.{key}: task {task.number} is there twice", _HINT)
        state.tasks[task.number] = task
    groups = _get(document, "groups", "the state", dict, {})
    for name, raw in groups.items():
        place = f"groups.{str(name)[:40]}"
        group = _expect(raw, place, dict)
        paused = _get(group, "status", place, str) == "Paused"
        state.groups[name] = (paused, _get(group, "parallel_tasks", place, int))
    return state


def _task(raw: object, place: str) -> Task:
    found = _expect(raw, place, dict)
    task = Task()
    task.number = _get(found, "id", place, int)
    task.command = _get(found, "command", place, str)
    task.path = _get(found, "path", place, str)
    task.envs = _get(found, "envs", place, dict, {})
    task.group = _get(found, "group", place, str, "default")
    task.dependencies = _get(found, "dependencies", place, list, [])
    for one in task.dependencies:
        _expect(one, f"{place}.dependencies", int)
    task.priority = _get(found, "priority", place, int, 0)
    task.label = _get(found, "label", place, str, None) if found.get("label") is not None else None
    task.enqueue_at = None
    task.state = _status(task, found.get("status"), found.get("prev_status"), f"{place}.status")
    return task


def _status(task: Task, raw: object, before: object, place: str) -> str:
    """A word, or an object whose only name it is. `before`: what version 3 keeps beside a lock."""
    name, more = raw, None
    if isinstance(raw, dict) and len(raw) == 1:
        name, more = next(iter(raw.items()))
    if name == "Locked":  # somebody edits it just now
        previous = more.get("previous_status") if isinstance(more, dict) else before
        return QUEUED if _is_locked(previous) else _status(task, previous, None, place)
    if name == "Stashed":
        when = more.get("enqueue_at") if isinstance(more, dict) else None
        task.enqueue_at = None if when is None else _time(when, f"{place}.enqueue_at")
        return STASHED if when is None else DELAYED
    if name == "Done":
        return _result(more, place)
    if isinstance(name, str) and name in _PLAIN:
        return _PLAIN[name]
    raise InvalidInput(f"{place}: unknown status {str(name)[:60]!r}", _HINT)


def _is_locked(raw: object) -> bool:
    """Nobody locks what is locked; and a state that says so must not keep us here."""
    return raw == "Locked" or (isinstance(raw, dict) and "Locked" in raw)


def _result(raw: object, place: str) -> str:
    if isinstance(raw, dict) and "result" in raw:  # since version 4 it has times beside it
        raw = raw["result"]
    name = next(iter(raw)) if isinstance(raw, dict) and len(raw) == 1 else raw
    if name == "Success":
        return SUCCEEDED
    if name in _UNSUCCESSFUL:
        return FAILED
    raise InvalidInput(f"{place}: unknown result {str(name)[:60]!r}", _HINT)


def _time(raw: object, place: str) -> str:
    try:
        found = datetime.fromisoformat(str(raw))
    except ValueError:
        raise InvalidInput(f"{place}: {str(raw)[:40]!r} is no time", _HINT) from None
    if found.tzinfo is None:
        raise InvalidInput(f"{place}: {str(raw)[:40]!r} has no time zone", _HINT)
    return found.astimezone(UTC).isoformat(timespec="milliseconds")


_NOTHING = object()
_NAMES = {dict: "an object", list: "a list", str: "text", int: "a whole number"}


def _get(found: dict[str, Any], name: str, place: str, kind: type, default: object = _NOTHING) -> Any:
    if name not in found:
        if default is _NOTHING:
            raise InvalidInput(f"{place}: {name} is missing", _HINT)
        return default
    return _expect(found[name], f"{place}.{name}", kind)


def _expect(value: object, place: str, kind: type) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidInput(f"{place} must be {_NAMES[kind]}, not {kind_of(value)}", _HINT)
    return value
