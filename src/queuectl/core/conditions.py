"""When and how a job may run, beyond its time and priority: what a NewJob carries only if somebody asked.

One setter for each field, as in `fields`; loaded when one of them is used.
"""

from __future__ import annotations

import re

from queuectl.core.fields import check_command, check_int, kind_of
from queuectl.core.ids import check_id
from queuectl.core.job import PERCENT
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.core.fields import Defaults
    from queuectl.core.job import NewJob

SUCCESS, ANY, FAILURE = "success", "any", "failure"  # what a job waits for
UNIQUE_RULES = ("skip", "replace", "fail")
_GROUP = r"[A-Za-z0-9_][A-Za-z0-9._\-:@=+/]{0,63}"
_MOST_PARENTS = 10_000
_LONGEST_KEY = 191  # what MySQL can index


class Conditions:
    """What of this a new job has."""

    __slots__ = (
        "about",
        "after",
        "group",
        "group_limit",
        "held",
        "input",
        "instead",
        "name",
        "needs",
        "notify",
        "on_failure",
        "on_success",
        "rules",
        "schedule",
        "unique_key",
        "unique_rule",
    )

    def __init__(self) -> None:
        self.rules: dict[str, object] = {}  # exit codes and limits of the process
        self.needs: str | None = None
        self.unique_key: str | None = None
        self.unique_rule = "fail"  # if a job with this key has not ended yet
        self.group: str | None = None
        self.group_limit: int | None = None
        self.held = False
        # What of which job: its id, its name in the same batch, or the new job itself.
        self.after: list[tuple[str, str | NewJob]] = []
        self.name: str | None = None  # what other jobs of the same batch may call it
        self.on_success: str | None = None  # commands of jobs to follow
        self.on_failure: str | None = None
        self.schedule: str | None = None
        self.notify: str | None = None  # JSON: the command that is told of its end, and when
        self.input: str | None = None  # what its command reads
        self.about: str | None = None  # the id of the job that it tells of
        self.instead: str | None = None  # the live job with its key, if it was left out for that


def conditions(job: NewJob) -> Conditions:
    if job.conditions is None:
        job.conditions = Conditions()
    return job.conditions


def _codes(name: str) -> Callable[[NewJob, object, Defaults], None]:
    def setter(job: NewJob, value: object, _: Defaults) -> None:
        if value is not None:
            from queuectl.core.exit_codes import parse_codes

            conditions(job).rules[name] = parse_codes(value, name)

    return setter


def _size(name: str) -> Callable[[NewJob, object, Defaults], None]:
    def setter(job: NewJob, value: object, _: Defaults) -> None:
        if value is not None:
            from queuectl.core.amounts import parse_size

            size = parse_size(value, name)
            if size < 1:
                raise InvalidInput(f"{name} must be more than nothing", f"like {name}: 512M")
            conditions(job).rules[name] = size

    return setter


def _set_cpu_time(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        from queuectl.core.times import parse_duration

        milliseconds = parse_duration(value, what="cpu_time")
        if milliseconds < 1_000:
            raise InvalidInput("cpu_time must be at least one second", "like 10m")
        conditions(job).rules["cpu_time"] = milliseconds


def _set_timeout_percent(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        set_percent(job, value, PERCENT)


def set_percent(job: NewJob, value: object, what: str) -> None:
    """A timeout in percent, by the name of the field that it was given in."""
    from queuectl.core.runtimes import parse_percent

    conditions(job).rules[PERCENT] = parse_percent(value, what)


def _count(name: str, lowest: int, highest: int) -> Callable[[NewJob, object, Defaults], None]:
    def setter(job: NewJob, value: object, _: Defaults) -> None:
        if value is not None:
            conditions(job).rules[name] = check_int(value, name, lowest, highest)

    return setter


def _set_needs(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        from queuectl.core.amounts import format_needs, parse_needs

        text = format_needs(parse_needs(value))
        if len(text) > 255:
            raise InvalidInput("needs is longer than 255 characters", "use fewer or shorter names")
        conditions(job).needs = text or None


def _set_unique_key(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        key = _text(value, "unique_key")
        if len(key) > _LONGEST_KEY:
            raise InvalidInput(
                f"unique_key is longer than {_LONGEST_KEY} characters", "use a hash of what it stands for"
            )
        conditions(job).unique_key = key


def _set_unique_rule(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        if value not in UNIQUE_RULES:
            raise InvalidInput(
                f"unknown rule {str(value)[:40]!r} for if_live", "choose skip, replace or fail"
            )
        conditions(job).unique_rule = str(value)


def _set_group(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        if not isinstance(value, str) or not re.fullmatch(_GROUP, value):
            raise InvalidInput(
                f"group {str(value)[:40]!r} is not allowed", "use 1 to 64 letters, digits and . _ - : @ = + /"
            )
        conditions(job).group = value


def _set_group_limit(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        conditions(job).group_limit = check_int(value, "group_limit", 1, 1_000_000)


def _set_hold(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        if not isinstance(value, bool):
            raise InvalidInput(f"hold must be true or false, not {kind_of(value)}", "like true")
        conditions(job).held = value


def _after(kind: str, what: str) -> Callable[[NewJob, object, Defaults], None]:
    def setter(job: NewJob, value: object, _: Defaults) -> None:
        if value is None:
            return
        words = value.split(",") if isinstance(value, str) else value
        if not isinstance(words, list | tuple):
            raise InvalidInput(f"{what} must be a list of ids, not {kind_of(value)}", 'like ["job1", "job2"]')
        after = conditions(job).after
        known = {ref for _, ref in after}
        for word in words:
            ref = _within(what, check_id, word.strip() if isinstance(word, str) else word)
            if ref not in known:
                known.add(ref)
                after.append((kind, ref))
            elif (kind, ref) not in after:
                raise InvalidInput(f"{ref} is given as two kinds of dependency", "give it once")
        if len(after) > _MOST_PARENTS:
            raise InvalidInput(
                f"{what}: {len(after):,} dependencies are too many", f"at most {_MOST_PARENTS:,}"
            )

    return setter


def _set_name(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        conditions(job).name = _within("name", check_id, value)


def _command(name: str) -> Callable[[NewJob, object, Defaults], None]:
    def setter(job: NewJob, value: object, _: Defaults) -> None:
        if value is not None:
            setattr(conditions(job), name, _within(name, check_command, value))

    return setter


def _notice(name: str) -> Callable[[NewJob, object, Defaults], None]:
    def setter(job: NewJob, value: object, _: Defaults) -> None:
        if value is not None:
            from queuectl.core.notices import changed

            mine = conditions(job)
            mine.notify = changed(mine.notify, **{name: value})

    return setter


def _set_input(job: NewJob, value: object, _: Defaults) -> None:
    if value is not None:
        from queuectl.core.stdin import check_input

        conditions(job).input = check_input(value)


def _within(what: str, check: Callable[[object], str], value: object) -> str:
    """A check that knows nothing of the field, with its name in front of what it says."""
    try:
        return check(value)
    except InvalidInput as error:
        error.message = f"{what}: {error.message}"
        raise


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise InvalidInput(f"{what} must be text that is not empty", "like nightly-report")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"{what} contains a lone surrogate, which is not text", "use valid UTF-8"
        ) from None
    if value.endswith(" "):  # MySQL would take it for the same without
        raise InvalidInput(f"{what} ends with a blank", "leave that out")
    return value


SETTERS: dict[str, Callable[[NewJob, object, Defaults], None]] = {
    "retry_on": _codes("retry_on"),
    "no_retry_on": _codes("no_retry_on"),
    "ok_codes": _codes("ok_codes"),
    "memory": _size("memory"),
    "cpu_time": _set_cpu_time,
    "files": _count("files", 3, 1_000_000),
    "processes": _count("processes", 1, 4_000_000),
    "nice": _count("nice", -20, 19),
    "needs": _set_needs,
    "unique_key": _set_unique_key,
    "if_live": _set_unique_rule,
    "group": _set_group,
    "group_limit": _set_group_limit,
    "hold": _set_hold,
    "after": _after(SUCCESS, "after"),
    "depends_on": _after(SUCCESS, "depends_on"),
    "after_any": _after(ANY, "after_any"),
    "after_fail": _after(FAILURE, "after_fail"),
    "name": _set_name,
    "on_success": _command("on_success"),
    "on_failure": _command("on_failure"),
    "notify": _notice("notify"),
    "notify_on": _notice("notify_on"),
    "input": _set_input,
    PERCENT: _set_timeout_percent,
}


def check_conditions(raw: dict[str, object], job: NewJob) -> None:
    """What does not go together."""
    mine = job.conditions
    if mine is None:
        return
    from queuectl.core.exit_codes import common

    for one, other in (("retry_on", "no_retry_on"), ("ok_codes", "retry_on"), ("ok_codes", "no_retry_on")):
        both = common(_rule(mine, one), _rule(mine, other))
        if both:
            raise InvalidInput(
                f"exit code {both[0]} is both in {one} and in {other}", "name it in one of them"
            ).about(one, other)
    if mine.group_limit is not None and mine.group is None:
        raise InvalidInput("group_limit is given without group", "give group too").about(
            "group_limit", "group"
        )
    if raw.get("if_live") is not None and mine.unique_key is None:
        raise InvalidInput("if_live is given without unique_key", "give unique_key too").about(
            "if_live", "unique_key"
        )
    if any(ref in (job.id, mine.name) for _, ref in mine.after):
        raise InvalidInput("a job cannot wait for itself", f"the path is {job.id or mine.name} → itself")


def _rule(mine: Conditions, name: str) -> str | None:
    value = mine.rules.get(name)
    return None if value is None else str(value)
