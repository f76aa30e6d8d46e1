"""Settings that weaken what is promised, a store that only grows, half a copy.

What the values mean is left to `config`.
"""

from __future__ import annotations

from queuectl.config import sources
from queuectl.config.kinds import can_be_run
from queuectl.core.states import TERMINAL
from queuectl.errors import InvalidInput, Refused
from queuectl.paths import config_file
from queuectl.store import health
from queuectl.store.health import NOTE, OK, PROBLEM, WARNING, Finding
from queuectl.transfer.rules import refuse_unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from queuectl.config.settings import Settings
    from queuectl.paths import Location

_MANY, _VERY_MANY = 100_000, 1_000_000
_SHORT_LEASE_MS, _SHORT_KEPT_MS = 10_000, 86_400_000
_LITTLE_OUTPUT, _MUCH_INLINE = 1_024, 2**20

# Name, level, whether it is so, why that matters, what would be better.
_WEAK: tuple[tuple[str, str, Callable[[Settings], bool], str, str], ...] = (
    (
        "worker-lease",
        WARNING,
        lambda values: values.worker_lease < _SHORT_LEASE_MS,
        "a busy machine may not renew it in time: then commands are ended and run again",
        "30",
    ),
    (
        "output-max",
        WARNING,
        lambda values: values.output_max < _LITTLE_OUTPUT,
        "what commands print is thrown away, and so is the reason of a failure",
        "10m",
    ),
    (
        "output-inline",
        NOTE,
        lambda values: values.output_inline > _MUCH_INLINE,
        "long output within the store makes it large, and every backup with it",
        "16k",
    ),
    (
        "keep-dead",
        NOTE,
        lambda values: values.keep_dead is not None and values.keep_dead < _SHORT_KEPT_MS,
        "jobs that failed for good are deleted before somebody has looked at them",
        "30d",
    ),
    (
        "crash-limit",
        NOTE,
        lambda values: values.crash_limit < 2,
        "a job is dead as soon as its worker dies once, though that may be no fault of the job",
        "5",
    ),
    (
        "kill-grace",
        NOTE,
        lambda values: values.kill_grace < 1,
        "a command that is stopped has no time to clean up behind itself",
        "5",
    ),
)


def settings(stored: dict[str, str]) -> list[Finding]:
    try:
        values = sources.load(stored)
    except InvalidInput as error:
        why = "nothing starts with settings that do not fit together"
        mend = error.hint or "queuectl config list"
        return [Finding(PROBLEM, "settings", error.message, why=why, mend=mend)]
    found = []
    if values.durability == "normal":
        found.append(
            Finding(
                WARNING,
                "settings",
                "durability = normal",
                why="a power loss can take the last moments of confirmed jobs and results along",
                mend=_undo("durability", stored, "queuectl config set durability full"),
            )
        )
    if values.shutdown:
        found.append(
            Finding(
                NOTE,
                "settings",
                "shutdown = true",
                why="every worker stops as soon as it sees it",
                mend=_undo("shutdown", stored, "queuectl worker start"),
            )
        )
    if not can_be_run(values.shell):
        found.append(
            Finding(
                PROBLEM,
                "settings",
                f"shell = {values.shell}, which cannot be run on this machine",
                why="no shell line can be started here",
                mend=_undo("shell", stored, "queuectl config unset shell"),
            )
        )
    found += [_weak(stored, *one) for one in _WEAK if one[2](values)]
    return found or [Finding(OK, "settings", "durability = full: confirmed means on the disk")]


def _weak(
    stored: dict[str, str], name: str, level: str, _: Callable[[Settings], bool], why: str, better: str
) -> Finding:
    text, _origin = sources.gather(stored)[name]
    mend = _undo(name, stored, f"queuectl config set {name} {better}")
    return Finding(level, "settings", f"{name} = {text}", why=why, mend=mend)


def retention(stored: dict[str, str], depths: Mapping[str, Mapping[str, int]]) -> list[Finding]:
    """A store that only grows."""
    ended = sum(states.get(state, 0) for states in depths.values() for state in TERMINAL)
    try:
        values = sources.load(stored)
    except InvalidInput:
        return []  # said already
    kept = [values.keep_completed, values.keep_completed_count]
    if ended < _MANY or any(kept):
        return [Finding(OK, "retention", f"{health.count(ended, 'ended job')} kept")]
    return [
        Finding(
            WARNING if ended >= _VERY_MANY else NOTE,
            "retention",
            f"{health.count(ended, 'ended job')} kept, and nothing is ever deleted",
            why="the store grows with every job",
            mend="queuectl config set keep-completed 30d",
        )
    ]


def unfinished_copy(stored: dict[str, str], location: Location) -> list[Finding]:
    try:
        refuse_unfinished(stored, location)
    except Refused as error:
        why = "every command refuses to use half a queue"
        mend = error.hint or "queuectl copy --restart --to " + location.shown
        return [Finding(PROBLEM, "settings", error.message, why=why, mend=mend)]
    return []


def _undo(name: str, stored: dict[str, str], command: str) -> str:
    """Where it was set decides where it can be mended."""
    _, origin = sources.gather(stored)[name]
    if origin == sources.ENVIRONMENT:
        return "unset QUEUECTL_" + name.upper().replace("-", "_")
    return f"change {name} in {config_file()}" if origin == sources.FILE else command
