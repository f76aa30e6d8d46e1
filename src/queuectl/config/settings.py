"""What there is to set: every key with its kind, default and meaning; and the values' object.

How text becomes a value is left to `kinds`, where a value comes from to `sources`.
"""

from __future__ import annotations

from queuectl.config import kinds
from queuectl.core.backoff import STRATEGIES, Backoff
from queuectl.core.lifecycle import Policy
from queuectl.core.states import DEAD
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from queuectl.config.kinds import Parser


class Key:
    """One setting. `parse` turns text into the value, `show` the value into text."""

    __slots__ = ("default", "help", "name", "parse", "show")

    def __init__(
        self,
        name: str,
        parse: Parser,
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
        if self.parse is kinds.flag:
            return ("true", "false")
        return self.parse.words if isinstance(self.parse, kinds.Choice) else ()


KEYS = {
    key.name: key
    for key in (
        Key("max-retries", kinds.whole(0, 1_000_000), "3", "retries after the first run of a job"),
        Key(
            "backoff-strategy",
            kinds.Choice(*STRATEGIES),
            "exponential",
            "how the wait grows: exponential, linear or fixed",
        ),
        Key(
            "backoff-base",
            kinds.decimal(0.001, 1_000_000),
            "2",
            "exponential: wait base**n seconds after the n-th failed run",
            kinds.show_number,
        ),
        Key("backoff-max", kinds.duration(), "1h", "the longest wait between two runs", kinds.show_duration),
        Key(
            "backoff-jitter",
            kinds.decimal(0, 1),
            "0",
            "spread waits by up to this fraction, 0 to 1",
            kinds.show_number,
        ),
        Key(
            "job-retry-delay",
            kinds.duration(),
            "5",
            "linear: wait n times this; fixed: always this",
            kinds.show_duration,
        ),
        Key(
            "job-timeout",
            kinds.optional(kinds.duration(1)),
            "none",
            "stop jobs that run longer than this (none: never)",
            kinds.show_duration,
        ),
        Key("crash-limit", kinds.whole(1, 1000), "5", "a job that loses its worker this often is dead"),
        Key("max-concurrent-jobs", kinds.whole(1, 10_000), "1", "commands at once in a worker process"),
        Key(
            "claim-ahead",
            kinds.whole(0, 1000),
            "128",
            "most jobs a worker takes beyond its free slots while jobs are short (0: none)",
        ),
        Key("kill-grace", kinds.duration(), "5", "between TERM and KILL for a job", kinds.show_duration),
        Key("stop-grace", kinds.duration(), "30", "how long a stop lets jobs finish", kinds.show_duration),
        Key(
            "worker-heartbeat-interval",
            kinds.duration(100),
            "5",
            "how often a worker renews its lease",
            kinds.show_duration,
        ),
        Key(
            "worker-lease",
            kinds.duration(1000),
            "30",
            "how long a silent worker keeps its jobs",
            kinds.show_duration,
        ),
        Key(
            "poll-interval",
            kinds.duration(10),
            "1",
            "how often an idle worker looks without being rung",
            kinds.show_duration,
        ),
        Key("worker-mode", kinds.Choice("background", "foreground"), "background", "of `worker start`"),
        Key(
            "worker-log-max",
            kinds.size,
            "10485760",
            "workers.log is begun anew at this size, and three old ones are kept (0: never)",
        ),
        Key("shell", kinds.program, "/bin/sh", "runs shell lines with -c"),
        Key("output-inline", kinds.size, "16384", "output up to this size is kept in the store"),
        Key("output-max", kinds.size, "10485760", "most output kept of one attempt, head and tail"),
        Key(
            "keep-completed",
            kinds.optional(kinds.duration(1)),
            "none",
            "delete completed jobs after this (none: never)",
            kinds.show_duration,
        ),
        Key(
            "keep-cancelled",
            kinds.optional(kinds.duration(1)),
            "none",
            "delete cancelled jobs after this",
            kinds.show_duration,
        ),
        Key(
            "keep-dead",
            kinds.optional(kinds.duration(1)),
            "none",
            "delete dead jobs after this",
            kinds.show_duration,
        ),
        Key(
            "keep-completed-count",
            kinds.optional(kinds.whole(1, 10**12)),
            "none",
            "most completed jobs kept of each queue; the oldest go first (none: all)",
            kinds.show_optional,
        ),
        Key(
            "keep-cancelled-count",
            kinds.optional(kinds.whole(1, 10**12)),
            "none",
            "most cancelled jobs kept of each queue",
            kinds.show_optional,
        ),
        Key(
            "keep-dead-count",
            kinds.optional(kinds.whole(1, 10**12)),
            "none",
            "most dead jobs kept of each queue",
            kinds.show_optional,
        ),
        Key(
            "keep-output",
            kinds.optional(kinds.size),
            "none",
            "most output kept of all ended jobs; that of the oldest goes first, the jobs stay",
            kinds.show_optional,
        ),
        Key(
            "durability",
            kinds.Choice("full", "normal"),
            "full",
            "full: acknowledged means fsynced; normal: the last moments can be lost at power loss",
        ),
        Key(
            "notify",
            kinds.command,
            "none",
            "a command that is told when a job has ended, unless its queue or itself has another",
            kinds.show_optional,
        ),
        Key(
            "notify-on",
            kinds.ends,
            DEAD,
            "which ends that is: dead, completed, cancelled or any",
            kinds.show_ends,
        ),
        Key(
            "shutdown",
            kinds.flag,
            "false",
            "true stops all workers; `worker start` resets it",
            kinds.show_flag,
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
