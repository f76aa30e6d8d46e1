"""What there is to set: every key with its type, default and meaning; and the values' object.

Where a value comes from is left to `sources`.
"""

from __future__ import annotations

from queuectl.core.backoff import STRATEGIES, Backoff
from queuectl.core.durations import format_duration, parse_duration
from queuectl.core.lifecycle import Policy
from queuectl.core.states import DEAD
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Key:
    """One setting. `parse` turns text into the value, `show` the value into text."""

    __slots__ = ("default", "help", "name", "parse", "show")

    def __init__(
        self,
        name: str,
        parse: Callable[[str, str], object],
        default: str,
        help: str,
        show: Callable[[object], str] = str,
    ) -> None:
        self.name = name
        self.parse = parse
        self.default = default
        self.help = help
        self.show = show

    @property
    def choices(self) -> tuple[str, ...]:
        """Its values, if they can be counted."""
        if self.parse is _flag:
            return ("true", "false")
        return self.parse.words if isinstance(self.parse, _Choice) else ()


def _whole(lowest: int, highest: int) -> Callable[[str, str], object]:
    def parse(text: str, name: str) -> object:
        try:
            number = int(text)
        except ValueError:
            raise InvalidInput(
                f"{name} must be a whole number, not {text!r}",
                f"like: queuectl config set {name} {max(lowest, 3)}",
            ) from None
        if not lowest <= number <= highest:
            raise InvalidInput(f"{name} must be between {lowest:,} and {highest:,}, not {number}")
        return number

    return parse


def _decimal(lowest: float, highest: float) -> Callable[[str, str], object]:
    def parse(text: str, name: str) -> object:
        try:
            number = float(text)
        except ValueError:
            raise InvalidInput(f"{name} must be a number, not {text!r}", "like 2 or 1.5") from None
        if not lowest <= number <= highest:  # NaN fails this too
            raise InvalidInput(f"{name} must be between {lowest:g} and {highest:g}, not {text}")
        return number

    return parse


def _duration(lowest_ms: int = 0) -> Callable[[str, str], object]:
    def parse(text: str, name: str) -> object:
        value = parse_duration(text, what=name)
        if value < lowest_ms:
            raise InvalidInput(f"{name} must be at least {format_duration(lowest_ms)}, not {text}")
        return value

    return parse


_NONE = ("", "none", "never", "off", "0")


def _optional_duration(text: str, name: str) -> object:
    """A duration above 0, or none."""
    if text.strip().lower() in _NONE:
        return None
    return _duration(1)(text, name)


def _optional_number(text: str, name: str) -> object:
    """A whole number above 0, or none."""
    if text.strip().lower() in _NONE:
        return None
    return _whole(1, 10**12)(text, name)


def _optional_size(text: str, name: str) -> object:
    """A size above 0, or none."""
    if text.strip().lower() in _NONE:
        return None
    return _size(text, name) or None


class _Choice:
    """One of some words."""

    __slots__ = ("words",)

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, text: str, name: str) -> object:
        if text not in self.words:
            raise InvalidInput(f"{name} cannot be {text!r}", "choose one of " + ", ".join(self.words))
        return text


def _flag(text: str, name: str) -> object:
    word = text.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise InvalidInput(f"{name} must be true or false, not {text!r}")


_SIZES = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}


def _size(text: str, name: str) -> object:
    digits = text.strip().lower()
    unit = digits.lstrip("0123456789")
    number = digits[: len(digits) - len(unit)]
    if not 0 < len(number) < 16 or unit.strip() not in _SIZES:
        raise InvalidInput(f"{name} must be a size, not {text!r}", "like 64k, 10m or 1g")
    return int(number) * _SIZES[unit.strip()]


def _notify(text: str, name: str) -> object:
    """A shell line, or none."""
    if text.strip().lower() in ("", "none", "off"):
        return None
    from queuectl.core.fields import check_command

    try:
        return check_command(text)
    except InvalidInput as error:
        error.message = f"{name}: {error.message}"
        raise


def _ends(text: str, name: str) -> object:
    if text == DEAD:
        return (DEAD,)
    from queuectl.core.notices import check_ends

    return check_ends(text, name)


def _program(text: str, name: str) -> object:
    if not text.startswith("/") or "\0" in text:
        raise InvalidInput(f"{name} must be the full path of a program, not {text!r}")
    return text


def can_be_run(path: object) -> bool:
    """Whether this machine has such a program; another one may."""
    import os

    return os.path.isfile(str(path)) and os.access(str(path), os.X_OK)


def _show_duration(value: object) -> str:
    assert value is None or isinstance(value, int)
    # Seconds print as typed: `config set job-retry-delay 5` reads back as 5.
    if value is None:
        return "none"
    return str(value // 1000) if value % 1000 == 0 and value < 60_000 else format_duration(value)


def _show_command(value: object) -> str:
    return "none" if value is None else str(value)


def _show_ends(value: object) -> str:
    assert isinstance(value, tuple)
    return ",".join(value)


def _show_number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _show_optional(value: object) -> str:
    return "none" if value is None else str(value)


def _show_flag(value: object) -> str:
    return "true" if value else "false"


KEYS = {
    key.name: key
    for key in (
        Key("max-retries", _whole(0, 1_000_000), "3", "retries after the first run of a job"),
        Key(
            "backoff-strategy",
            _Choice(*STRATEGIES),
            "exponential",
            "how the wait grows: exponential, linear or fixed",
        ),
        Key(
            "backoff-base",
            _decimal(0.001, 1_000_000),
            "2",
            "exponential: wait base**n seconds after the n-th failed run",
            _show_number,
        ),
        Key("backoff-max", _duration(), "1h", "the longest wait between two runs", _show_duration),
        Key(
            "backoff-jitter",
            _decimal(0, 1),
            "0",
            "spread waits by up to this fraction, 0 to 1",
            _show_number,
        ),
        Key(
            "job-retry-delay",
            _duration(),
            "5",
            "linear: wait n times this; fixed: always this",
            _show_duration,
        ),
        Key(
            "job-timeout",
            _optional_duration,
            "none",
            "stop jobs that run longer than this (none: never)",
            _show_duration,
        ),
        Key("crash-limit", _whole(1, 1000), "5", "a job that loses its worker this often is dead"),
        Key("max-concurrent-jobs", _whole(1, 10_000), "1", "commands at once in a worker process"),
        Key(
            "claim-ahead",
            _whole(0, 1000),
            "128",
            "most jobs a worker takes beyond its free slots while jobs are short (0: none)",
        ),
        Key("kill-grace", _duration(), "5", "between TERM and KILL for a job", _show_duration),
        Key("stop-grace", _duration(), "30", "how long a stop lets jobs finish", _show_duration),
        Key(
            "worker-heartbeat-interval",
            _duration(100),
            "5",
            "how often a worker renews its lease",
            _show_duration,
        ),
        Key(
            "worker-lease",
            _duration(1000),
            "30",
            "how long a silent worker keeps its jobs",
            _show_duration,
        ),
        Key(
            "poll-interval",
            _duration(10),
            "1",
            "how often an idle worker looks without being rung",
            _show_duration,
        ),
        Key("worker-mode", _Choice("background", "foreground"), "background", "of `worker start`"),
        Key(
            "worker-log-max",
            _size,
            "10485760",
            "workers.log is begun anew at this size, and three old ones are kept (0: never)",
        ),
        Key("shell", _program, "/bin/sh", "runs shell lines with -c"),
        Key("output-inline", _size, "16384", "output up to this size is kept in the store"),
        Key("output-max", _size, "10485760", "most output kept of one attempt, head and tail"),
        Key(
            "keep-completed",
            _optional_duration,
            "none",
            "delete completed jobs after this (none: never)",
            _show_duration,
        ),
        Key(
            "keep-cancelled",
            _optional_duration,
            "none",
            "delete cancelled jobs after this",
            _show_duration,
        ),
        Key("keep-dead", _optional_duration, "none", "delete dead jobs after this", _show_duration),
        Key(
            "keep-completed-count",
            _optional_number,
            "none",
            "most completed jobs kept of each queue; the oldest go first (none: all)",
            _show_optional,
        ),
        Key(
            "keep-cancelled-count",
            _optional_number,
            "none",
            "most cancelled jobs kept of each queue",
            _show_optional,
        ),
        Key(
            "keep-dead-count",
            _optional_number,
            "none",
            "most dead jobs kept of each queue",
            _show_optional,
        ),
        Key(
            "keep-output",
            _optional_size,
            "none",
            "most output kept of all ended jobs; that of the oldest goes first, the jobs stay",
            _show_optional,
        ),
        Key(
            "durability",
            _Choice("full", "normal"),
            "full",
            "full: acknowledged means fsynced; normal: the last moments can be lost at power loss",
        ),
        Key(
            "notify",
            _notify,
            "none",
            "a command that is told when a job has ended, unless its queue or itself has another",
            _show_command,
        ),
        Key("notify-on", _ends, DEAD, "which ends that is: dead, completed, cancelled or any", _show_ends),
        Key(
            "shutdown",
            _flag,
            "false",
            "true stops all workers; `worker start` resets it",
            _show_flag,
        ),
    )
}

# Other names of the same thing; `max-attempts` counts the first run too, see `sources`.
ALIASES = {
    "default-max-retries": "max-retries",
    "retry-delay": "job-retry-delay",
    "heartbeat-interval": "worker-heartbeat-interval",
    "lease": "worker-lease",
    "timeout": "job-timeout",
    "concurrency": "max-concurrent-jobs",
    "stop-timeout": "stop-grace",
}
ATTEMPTS_ALIASES = ("max-attempts", "default-max-tries", "max-tries")


class Settings:
    """All values, parsed. Durations are milliseconds, sizes bytes."""

    __slots__ = (*(name.replace("-", "_") for name in KEYS), "policy")

    max_retries: int
    backoff_strategy: str
    backoff_base: float
    backoff_max: int
    backoff_jitter: float
    job_retry_delay: int
    job_timeout: int | None
    crash_limit: int
    max_concurrent_jobs: int
    claim_ahead: int
    kill_grace: int
    stop_grace: int
    worker_heartbeat_interval: int
    worker_lease: int
    poll_interval: int
    worker_mode: str
    worker_log_max: int
    shell: str
    output_inline: int
    output_max: int
    keep_completed: int | None
    keep_cancelled: int | None
    keep_dead: int | None
    keep_completed_count: int | None
    keep_cancelled_count: int | None
    keep_dead_count: int | None
    keep_output: int | None
    durability: str
    notify: str | None
    notify_on: tuple[str, ...]
    shutdown: bool
    policy: Policy  # what decides the fate of a failed job

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        for name, key in KEYS.items():
            text = (texts or {}).get(name, key.default)
            setattr(self, name.replace("-", "_"), key.parse(text, name))
        if self.worker_lease < 2 * self.worker_heartbeat_interval:
            raise InvalidInput(
                "worker-lease must be at least twice worker-heartbeat-interval",
                "one late heartbeat must not cost a worker its jobs",
            )
        self.policy = Policy(
            Backoff(
                strategy=self.backoff_strategy,
                base=self.backoff_base,
                delay=self.job_retry_delay,
                longest=self.backoff_max,
                jitter=self.backoff_jitter,
            ),
            self.crash_limit,
        )

    @staticmethod
    def names() -> list[str]:
        return [name.replace("-", "_") for name in KEYS]
