"""Who is told when a job has ended, and what: rules of the job, its queue and the store -> a job that tells.

Decides only. That the telling job is stored with the end itself is left to `store.notices`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256

from queuectl.core.conditions import conditions
from queuectl.core.durations import quoted
from queuectl.core.fields import check_command, kind_of
from queuectl.core.job import NewJob
from queuectl.core.states import COMPLETED, DEAD, TERMINAL
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Job

QUEUE = "notifications"  # where the jobs are that tell of others
TIMEOUT_MS = 300_000  # of one that neither its queue nor anybody else gives another
NOBODY, AS_USUAL = ("none", "off"), "default"  # words instead of a command
ANY = "any"
# The ends that are told of unless somebody chooses others: who asks for one job wants to know how it went,
# who asks for all of them, which need a hand.
OF_ITS_OWN, OF_MANY = (COMPLETED, DEAD), (DEAD,)
_PREFIX = "QUEUECTL_NOTIFY_"
VARIABLES = tuple(
    _PREFIX + name
    for name in ("ID", "STATE", "QUEUE", "COMMAND", "EXIT_CODE", "SIGNAL", "ERROR", "ATTEMPTS", "TAGS")
)
_LONGEST_ID = 90  # so much of a job's id is in that of its notification; ids have 128 characters at most
_LONGEST_VARIABLE = 8_000  # characters: what is longer is whole in the JSON, and no program can be given it


class Rule:
    """What one of them says. `silent`: nobody shall be told. `on`: which ends, None if it does not say."""

    __slots__ = ("command", "on", "silent")

    def __init__(
        self, command: str | None = None, *, silent: bool = False, on: tuple[str, ...] | None = None
    ) -> None:
        self.command = command
        self.silent = silent
        self.on = on

    def spelled(self) -> str | None:
        """As it is stored; None if it says nothing."""
        said: dict[str, object] = {}
        if self.silent or self.command is not None:
            said["command"] = self.command
        if self.on is not None:
            said["on"] = list(self.on)
        return json.dumps(said, ensure_ascii=False, sort_keys=True) if said else None

    def to_dict(self) -> dict[str, object]:
        """As every interface shows it, and takes it; what is not said is left out."""
        command = NOBODY[0] if self.silent else self.command
        shown = {"notify": command, "notify_on": None if self.on is None else list(self.on)}
        return {name: value for name, value in shown.items() if value is not None}


@lru_cache(maxsize=256)  # thousands of jobs have few different ones
def read_rule(text: str | None) -> Rule:
    """A stored rule. One that was damaged in the store says nothing: an end must be stored all the same."""
    try:
        said = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return Rule()
    if not isinstance(said, dict):
        return Rule()
    command, on = said.get("command"), said.get("on")
    if isinstance(command, str):
        command = command.encode(errors="replace").decode()
    ends = tuple(end for end in TERMINAL if end in on) if isinstance(on, list) else None
    return Rule(
        command if isinstance(command, str) and command.strip() and "\0" not in command else None,
        silent="command" in said and command is None,
        on=ends or None,
    )


def changed(text: str | None, *, notify: object = None, notify_on: object = None) -> str | None:
    """A stored rule, and what somebody says anew: a command, ends, or the words for nobody and as usual."""
    old = read_rule(text)
    rule = Rule(old.command, silent=old.silent, on=old.on)
    if notify is not None:
        rule.command = check_notify(notify)
        rule.silent = rule.command is None and not _is_as_usual(notify)
    if notify_on is not None:
        rule.on = None if _is_as_usual(notify_on) else check_ends(notify_on, "notify_on")
    return rule.spelled()


def _is_as_usual(value: object) -> bool:
    return isinstance(value, str) and value.strip().lower() == AS_USUAL


def check_notify(value: object) -> str | None:
    """The command; None for one of the words that are none."""
    if isinstance(value, str) and value.strip().lower() in (*NOBODY, AS_USUAL):
        return None
    try:
        return check_command(value)
    except InvalidInput as error:
        error.message = f"notify: {error.message}"
        raise


def check_ends(value: object, what: str) -> tuple[str, ...]:
    """Which ends, of a list or words with commas between them."""
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        raise InvalidInput(f"{what} must be a list of states, not {kind_of(value)}", 'like ["dead"]')
    found = [word.strip().lower() if isinstance(word, str) else word for word in words]
    found = ["cancelled" if word == "canceled" else word for word in found]
    for word in found:
        if word not in (*TERMINAL, ANY):
            hint = f"choose from {', '.join(TERMINAL)} and {ANY}"
            if word == "failed":
                hint = "a failed attempt is tried again, which is no end; the end is called dead"
            raise InvalidInput(f"{what}: a job does not end {quoted(word)}", hint)
    return TERMINAL if ANY in found else tuple(end for end in TERMINAL if end in found)


def resolve(state: str, rules: Sequence[Rule]) -> tuple[str, bool] | None:
    """The command that is told of this end, and whether it is the job's own; None if nobody is told.

    `rules` are those of the job, its queue and the store: the first that says something counts.
    """
    on: tuple[str, ...] | None = None
    for number, rule in enumerate(rules):
        on = on or rule.on
        if rule.silent:
            return None
        if rule.command is not None:
            own = number == 0
            return (rule.command, own) if state in (on or (OF_ITS_OWN if own else OF_MANY)) else None
    return None


def notification(job: Job, end: str, command: str, *, own: bool, max_retries: int) -> NewJob:
    """The job that tells of the end of another, which is as it is stored from now on.

    Nothing of its environment goes along: that may hold secrets. A command that the job brought with it runs
    where the job did; others where the worker is, since a job's directory may be gone with it.
    """
    told = NewJob(command, max_retries)
    told.id = id_prefix(job.id) + end
    told.queue = QUEUE
    told.cwd = job.cwd if own else None
    told.env = json.dumps(variables(job), ensure_ascii=False)
    mine = conditions(told)
    mine.about = job.id
    try:
        text = json.dumps(job.to_dict(), ensure_ascii=False) + "\n"
    except (ValueError, TypeError, OverflowError, RecursionError):
        text = (
            json.dumps({"id": job.id, "queue": job.queue, "state": job.state, "command": job.command}) + "\n"
        )
    mine.input = text.encode(errors="replace").decode()  # JSON that was damaged in the store may hold no text
    return told


def variables(job: Job) -> dict[str, str]:
    """What a shell line can use without reading JSON; all are set, so that none comes from elsewhere."""
    values = {
        "ID": job.id,
        "STATE": job.state,
        "QUEUE": job.queue,
        "COMMAND": job.command,
        "EXIT_CODE": job.exit_code,
        "SIGNAL": job.signal,
        "ERROR": job.last_error,
        "ATTEMPTS": job.attempts,
        "TAGS": ",".join(job.tag_list()),
    }
    return {name: _variable(values[name.removeprefix(_PREFIX)]) for name in VARIABLES}


def _variable(value: object) -> str:
    return "" if value is None else str(value).replace("\0", "")[:_LONGEST_VARIABLE]


def end_of_run(run: int) -> str:
    """What tells an end from other ends of the same job: no two runs have the same number."""
    return str(run)


def end_without_run(now: int) -> str:
    """The same for one that ended without having run: it may be retried and cancelled again."""
    return f"at-{now:x}"


def id_prefix(id: str) -> str:
    """What the ids of all notifications of a job begin with; of hardly any others."""
    short = id if len(id) <= _LONGEST_ID else f"{id[:70]}+{sha256(id.encode()).hexdigest()[:16]}"
    return f"{short}:notify-"
