"""The fields of a job: one setter each, which refuses what cannot be and says what could.

Which fields there are together, and which exclude each other, is left to `spec`.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache

from queuectl.core.backoff import STRATEGIES
from queuectl.core.durations import quoted
from queuectl.core.ids import check_id
from queuectl.core.job import NewJob
from queuectl.core.times import parse_duration, parse_when
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Linux gives one argument of exec 128 KiB (MAX_ARG_STRLEN, the closing NUL included).
MAX_ARGUMENT_BYTES = 131_071
MAX_ENV_BYTES = 1_000_000
MAX_RETRIES = 1_000_000
MAX_TAGS = 32
_INT32 = 2**31 - 1

# Text, not compiled: `re` compiles each at its first use, so importing costs nothing.
_QUEUE = r"[A-Za-z0-9_][A-Za-z0-9._\-:@=+]{0,63}"
_TAG = r"[A-Za-z0-9_@+][A-Za-z0-9._\-:@=+/]{0,63}"
_ENV_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


class Defaults:
    """What a job gets that does not say otherwise. `now` is epoch milliseconds."""

    __slots__ = ("cwd", "max_retries", "now")

    def __init__(self, *, now: int, max_retries: int = 3, cwd: str | None = None) -> None:
        self.now = now
        self.max_retries = max_retries
        self.cwd = cwd


def check_command(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"command must be text, not {kind_of(value)}", 'like "echo hi"')
    if not value.strip():
        raise InvalidInput("the command is empty", "give a shell line, like: echo hi")
    _check_argument(value, "the command")
    return value


def _check_argument(value: str, what: str) -> None:
    if "\0" in value:
        raise InvalidInput(f"{what} contains a NUL byte", "no program can be given one")
    if value.isascii():
        size = len(value)
    else:
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            raise InvalidInput(
                f"{what} contains a lone surrogate, which is not text", "use valid UTF-8"
            ) from None
    if size > MAX_ARGUMENT_BYTES:
        raise InvalidInput(
            f"{what} is {size:,} bytes long; the system can execute at most {MAX_ARGUMENT_BYTES:,}",
            "put it into a script file and enqueue that",
        )


@lru_cache(maxsize=256)  # a file of a million jobs holds few different queues and tags
def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def quote_argv(argv: list[str]) -> str:
    """An argument list as a shell line, for reading."""
    import shlex

    return shlex.join(argv)


def _set_id(job: NewJob, value: object, _: Defaults) -> None:
    job.id = None if value is None else check_id(value)


def _set_command(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        job.command = check_command(value)


def _set_argv(job: NewJob, value: object, _: Defaults) -> None:
    if value is None:
        return
    if not isinstance(value, list | tuple) or not value:
        raise InvalidInput("argv must be a list of words", 'like ["ls", "-l"]')
    for word in value:
        if not isinstance(word, str):
            raise InvalidInput(f"argv must hold text only, not {kind_of(word)}", 'like ["ls", "-l"]')
        _check_argument(word, "a word of argv")
    if not value[0].strip():
        raise InvalidInput("the first word of argv is empty", "it names the program to run")
    job.argv = json.dumps(value, ensure_ascii=False)
    job.command = job.command or quote_argv(list(value))


def _set_queue(job: NewJob, value: object, _: Defaults) -> None:
    job.queue = check_queue(value)


def check_queue(value: object) -> str:
    if not isinstance(value, str) or not _fits(_QUEUE, value):
        raise InvalidInput(
            f"queue name {str(value)[:40]!r} is not allowed",
            "use 1 to 64 letters, digits and . _ - : @ = +, not starting with - or .",
        )
    return value


def _set_priority(job: NewJob, value: object, _: Defaults) -> None:
    job.priority = check_int(value, "priority", -_INT32, _INT32)


def _set_max_retries(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        job.max_retries = check_int(value, "max_retries", 0, MAX_RETRIES)
        job.own_retries = True


def _set_max_attempts(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        job.max_retries = check_int(value, "max_attempts", 1, MAX_RETRIES + 1) - 1
        job.own_retries = True


def _set_strategy(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None and value not in STRATEGIES:
        raise InvalidInput(
            f"unknown backoff_strategy {str(value)[:40]!r}",
            "choose one of " + ", ".join(STRATEGIES),
        )
    job.backoff_strategy = None if value is None else str(value)


def _set_base(job: NewJob, value: object, _: Defaults) -> None:
    job.backoff_base = None if value is None else check_base(value)


def check_base(value: object, what: str = "backoff_base") -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 0 < number <= 1_000_000:  # NaN fails this too
        raise InvalidInput(f"{what} must be a number above 0, not {_shown(value)}", "like 2 or 1.5")
    return float(number)


def _set_backoff_max(job: NewJob, value: object, _: Defaults) -> None:
    job.backoff_max = None if value is None else parse_duration(value, what="backoff_max")


def _set_retry_delay(job: NewJob, value: object, _: Defaults) -> None:
    job.retry_delay = None if value is None else parse_duration(value, what="retry_delay")


def _set_timeout(job: NewJob, value: object, _: Defaults) -> None:
    if value is None:
        return
    if isinstance(value, str) and value.rstrip().endswith("%"):
        from queuectl.core.conditions import set_percent

        set_percent(job, value, "timeout")
        return
    job.timeout = parse_duration(value, what="timeout")
    if job.timeout <= 0:
        raise InvalidInput(
            "the timeout must be more than 0", "leave it out for none; edit --timeout none removes it"
        )


def _set_run_at(job: NewJob, value: object, defaults: Defaults) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidInput(f"run_at must be text, not {kind_of(value)}", "like 2026-12-01T09:00:00Z")
    job.run_at = parse_when(value, now_ms=defaults.now, what="run_at")


def _set_delay(job: NewJob, value: object, defaults: Defaults) -> None:
    if value is not None:
        job.run_at = defaults.now + parse_duration(value, what="delay")


def _set_tags(job: NewJob, value: object, _: Defaults) -> None:
    if value is None:
        return
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        raise InvalidInput(f"tags must be a list, not {kind_of(value)}", 'like ["nightly", "gpu"]')
    for word in words:
        if not isinstance(word, str) or not _fits(_TAG, word):
            raise InvalidInput(
                f"tag {str(word)[:40]!r} is not allowed",
                "use 1 to 64 letters, digits and . _ - : @ = + /",
            )
    if len(words) > MAX_TAGS:
        raise InvalidInput(f"{len(words)} tags are too many", f"at most {MAX_TAGS}")
    job.tags = f",{','.join(dict.fromkeys(words))}," if words else None


def _set_env(job: NewJob, value: object, _: Defaults) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        raise InvalidInput(f"env must be an object, not {kind_of(value)}", 'like {"MODE": "fast"}')
    for name, text in value.items():
        _check_env_entry(name, text)
    job.env = json.dumps(value, ensure_ascii=False) if value else None
    if job.env and len(job.env.encode()) > MAX_ENV_BYTES:
        raise InvalidInput(f"env is larger than {MAX_ENV_BYTES:,} bytes", "put it into a file")


def _check_env_entry(name: object, text: object) -> None:
    if not isinstance(name, str) or not _fits(_ENV_NAME, name):
        raise InvalidInput(
            f"environment name {str(name)[:40]!r} is not allowed",
            "use letters, digits and _, not starting with a digit",
        )
    if name.startswith("QUEUECTL_"):
        raise InvalidInput(f"{name} is set by the queue itself", "choose another name")
    if not isinstance(text, str):
        raise InvalidInput(f"the value of {name} must be text, not {kind_of(text)}", "quote it")
    if text == "***":
        raise InvalidInput(f"the value of {name} is masked (***)", "give the real value, or leave it out")
    _check_argument(text, f"the value of {name}")


def _set_cwd(job: NewJob, value: object, defaults: Defaults) -> None:
    if value is None:
        return
    if not isinstance(value, str) or not value:
        raise InvalidInput("cwd must be the path of a directory", "like /srv/data")
    _check_argument(value, "cwd")
    job.cwd = value if value.startswith("/") else f"{default_cwd(defaults) or ''}/{value}"


def default_cwd(defaults: Defaults) -> str | None:
    """Where the job was enqueued; a directory's name can be bytes that are not text."""
    if defaults.cwd is not None and not defaults.cwd.isascii():
        _check_argument(defaults.cwd, "the name of the current directory")
    return defaults.cwd


def check_int(value: object, what: str, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{what} must be a whole number, not {_shown(value)}", f"like {what}: 3")
    if not lowest <= value <= highest:
        raise InvalidInput(
            f"{what} must be between {lowest:,} and {highest:,}, not {quoted(value)}",
            f"like {what}: 3",
        )
    return value


def _shown(value: object) -> str:
    return quoted(value) if isinstance(value, str | int | float | bool) else kind_of(value)


_KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def kind_of(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


def _condition(name: str) -> Callable[[NewJob, object, Defaults], None]:
    """A field that few jobs have: its setter is loaded when it is used."""

    def setter(job: NewJob, value: object, defaults: Defaults) -> None:
        from queuectl.core.conditions import SETTERS

        SETTERS[name](job, value, defaults)

    return setter


CONDITIONS = (
    *("retry_on", "no_retry_on", "ok_codes", "memory", "cpu_time", "files", "processes", "nice", "needs"),
    *("unique_key", "if_live", "group", "group_limit", "hold", "after", "depends_on", "after_any"),
    *("after_fail", "name", "on_success", "on_failure", "notify", "notify_on", "input", "timeout_percent"),
)

SETTERS: dict[str, Callable[[NewJob, object, Defaults], None]] = {
    "id": _set_id,
    "command": _set_command,
    "argv": _set_argv,
    "queue": _set_queue,
    "priority": _set_priority,
    "max_retries": _set_max_retries,
    "max_attempts": _set_max_attempts,
    "max_tries": _set_max_attempts,
    "backoff_strategy": _set_strategy,
    "backoff_base": _set_base,
    "backoff_max": _set_backoff_max,
    "retry_delay": _set_retry_delay,
    "timeout": _set_timeout,
    "run_at": _set_run_at,
    "delay": _set_delay,
    "tags": _set_tags,
    "env": _set_env,
    "cwd": _set_cwd,
    **{name: _condition(name) for name in CONDITIONS},
}
FIELDS = tuple(SETTERS)
