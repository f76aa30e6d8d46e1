"""What somebody sets for a queue -> columns of its rule, or an error that names the field and the remedy.

Every way in comes through here, as jobs come through `spec`. None, or the word none, removes a value.
"""

from __future__ import annotations

from queuectl.core.backoff import STRATEGIES
from queuectl.core.durations import parse_duration, quoted
from queuectl.core.fields import MAX_RETRIES, check_base, check_int, kind_of
from queuectl.core.job import PERCENT
from queuectl.core.notices import AS_USUAL, changed
from queuectl.core.rates import MAX_COUNT, parse_rate
from queuectl.core.runtimes import one_timeout, parse_percent
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_CONCURRENCY = 1_000_000
MAX_REASON = 500  # characters


def read_changes(given: Mapping[str, object]) -> dict[str, object]:
    """The new values of these columns; those that are not named stay as they are."""
    changes: dict[str, object] = {}
    for name, value in one_timeout(given).items():
        reader = _READERS.get(name)
        if reader is None:
            raise _unknown(name)
        try:
            changes[name] = _read(reader, value, name)
        except InvalidInput as error:
            error.about(name)
            raise
    if "rate" in changes and changes["rate"] is None:
        if changes.get("burst") is not None:
            raise InvalidInput(
                "burst is given without rate", "leave it out, or give a rate like 100/min"
            ).about("burst", "rate")
        changes["burst"] = None  # a burst of no rate
    return changes


def _read(reader: Callable[[object, str], object], value: object, name: str) -> object:
    if name in _NOTICES:
        return reader(AS_USUAL if value is None else value, name)
    is_none = value is None or (isinstance(value, str) and value.strip().lower() == "none")
    return None if is_none else reader(value, name)


def check_reason(value: object) -> str | None:
    """Why a queue is paused, in somebody's own words."""
    if value is None:
        return None
    if not isinstance(value, str) or "\0" in value:
        raise InvalidInput(f"the reason must be text, not {kind_of(value)}", "like 'server is down'")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput("the reason is not valid UTF-8", "give plain text") from None
    if len(value) > MAX_REASON:
        raise InvalidInput(f"the reason is longer than {MAX_REASON} characters", "say it in fewer words")
    return value.strip() or None


def _read_concurrency(value: object, name: str) -> int:
    number = _number(value)
    if number == 0:
        raise InvalidInput("with a concurrency of 0 nothing would ever run", "pause the queue instead")
    return check_int(number, name, 1, MAX_CONCURRENCY)


def _read_rate(value: object, name: str) -> str:
    return str(parse_rate(value, name))


def _read_burst(value: object, name: str) -> int:
    return check_int(_number(value), name, 1, MAX_COUNT)


def _read_timeout(value: object, name: str) -> int:
    timeout = parse_duration(value, what=name)
    if timeout <= 0:
        raise InvalidInput("the timeout must be more than 0", "write none for no timeout")
    return timeout


def _read_retries(value: object, name: str) -> int:
    return check_int(_number(value), name, 0, MAX_RETRIES)


def _read_strategy(value: object, name: str) -> str:
    if value not in STRATEGIES:
        raise InvalidInput(f"unknown {name} {quoted(value)}", "choose one of " + ", ".join(STRATEGIES))
    return str(value)


def _read_base(value: object, name: str) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            pass  # refused as the text that it is
    return check_base(value, name)


def _read_duration(value: object, name: str) -> int:
    return parse_duration(value, what=name)


def _read_notify(value: object, name: str) -> object:
    """As it is: none says that nobody is told, and default takes that away again."""
    changed(None, **{name: value})
    return value


def _number(value: object) -> object:
    """What a command line gives is text; what is no number in it is refused by the check that follows."""
    if isinstance(value, str) and len(value) < 20 and value.strip().lstrip("+-").isdecimal():
        try:
            return int(value)
        except ValueError:  # --5
            pass
    return value


def _unknown(name: str) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(name, list(_READERS), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(_READERS)
    return InvalidInput(f"a queue has no {name[:60]!r}", hint)


_READERS: dict[str, Callable[[object, str], object]] = {
    "concurrency": _read_concurrency,
    "rate": _read_rate,
    "burst": _read_burst,
    "timeout": _read_timeout,
    PERCENT: parse_percent,
    "max_retries": _read_retries,
    "backoff_strategy": _read_strategy,
    "backoff_base": _read_base,
    "backoff_max": _read_duration,
    "retry_delay": _read_duration,
    "notify": _read_notify,
    "notify_on": _read_notify,
}
_NOTICES = ("notify", "notify_on")  # share a column: `queues` joins them with what is stored
