"""What the bodies of requests look like, as JSON schemas for the OpenAPI document.

They are not checked by these, but by the same code as the command line's words.
"""

from __future__ import annotations

from typing import Any

from queuectl.core.fields import FIELDS
from queuectl.editing import CLEARABLE, EDITABLE

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_SPAN = {"type": ["string", "number"], "description": "seconds, or like 10m"}
_CODES = {"type": ["string", "integer", "array"], "description": "exit codes, like 1,2,10-20"}
_LIST = {"type": ["array", "string"], "items": _TEXT}
_KINDS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("id", "command", "queue", "cwd", "run_at", "backoff_strategy"), _TEXT),
    **dict.fromkeys(("unique_key", "if_live", "group", "name"), _TEXT),
    "on_success": {"description": "a command, or the fields of a job"},
    "on_failure": {"description": "a command, or the fields of a job"},
    **dict.fromkeys(
        ("max_retries", "max_attempts", "max_tries", "group_limit", "files", "processes"), _COUNT
    ),
    **dict.fromkeys(("delay", "backoff_max", "retry_delay", "cpu_time"), _SPAN),
    "timeout": {
        "type": ["string", "number"],
        "description": "seconds, or like 10m; 300%: of its usual run time",
    },
    "timeout_percent": {"type": ["string", "integer"], "description": "of its usual run time, once known"},
    **dict.fromkeys(("tags", "after", "depends_on", "after_any", "after_fail"), _LIST),
    **dict.fromkeys(("retry_on", "no_retry_on", "ok_codes"), _CODES),
    "memory": {"type": ["string", "integer"], "description": "bytes, or like 512M"},
    "needs": {"type": ["string", "array", "object"], "description": "resources of a worker: gpu=1"},
    "argv": {"type": "array", "items": _TEXT},
    "priority": {"type": "integer"},
    "nice": {"type": "integer"},
    "backoff_base": {"type": "number"},
    "env": {"type": "object", "additionalProperties": _TEXT},
    "hold": {"type": "boolean"},
    "notify": {**_TEXT, "description": "a command that is told of its end, or none"},
    "notify_on": {**_LIST, "description": "of which ends: completed, dead, cancelled, any"},
    "input": {**_TEXT, "description": "what its command reads"},
}


def _object(properties: dict[str, Any], required: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    result = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return result | ({"required": list(required)} if required else {})


def _nullable(kind: dict[str, Any]) -> dict[str, Any]:
    types = kind.get("type")
    if types is None:
        return kind
    return {**kind, "type": [*(types if isinstance(types, list) else [types]), "null"]}


JOB_FIELDS = _object({name: _KINDS.get(name, {}) for name in FIELDS})
CHANGES = _object(
    {n: _nullable(_KINDS.get(n, {})) if n in CLEARABLE else _KINDS.get(n, {}) for n in EDITABLE}
)
BATCH = _object(
    {
        "jobs": {"type": "array", "minItems": 1, "items": {"anyOf": [_TEXT, JOB_FIELDS]}},
        "if_exists": {"enum": ["fail", "skip"]},
    },
    ("jobs",),
)
_FILTER = _object(
    {
        "state": {"type": ["array", "string"], "items": _TEXT},
        **dict.fromkeys(("queue", "tag", "search", "since", "before", "cause"), _TEXT),
        "held": {"type": "boolean"},
    }
)
ACTION = _object(
    {
        "action": {"enum": ["cancel", "retry", "delete", "hold", "release", "edit"]},
        "ids": {"type": "array", "items": _TEXT},
        "filter": _FILTER,
        "all": {"type": "boolean"},
        "dry_run": {"type": "boolean"},
        "changes": CHANGES,
    },
    ("action",),
)
PAUSE = _object({"reason": _nullable(_TEXT), "until": _nullable(_TEXT)})
RULES = (
    *("concurrency", "rate", "burst", "timeout", "timeout_percent", "max_retries"),
    *("backoff_strategy", "backoff_base", "backoff_max", "retry_delay", "notify", "notify_on"),
)
QUEUE_RULES = _object({name: {} for name in RULES})
SCHEDULE = _object(
    {
        **dict.fromkeys(("recurrence", "time_zone", "catch_up", "overlap"), _TEXT),
        "job": JOB_FIELDS,
    },
    ("recurrence", "job"),
)
SETTING = _object({"value": {"type": ["string", "number", "boolean"]}}, ("value",))
LOGIN = _object({"token": _TEXT, "code": _TEXT})
