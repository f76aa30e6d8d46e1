"""The kinds of values that a setting can have: text read as one, and one shown as text.

A parser also takes the name of the setting, for what it says of text that it refuses. Which setting is of
which kind is left to `settings`.
"""

from __future__ import annotations

from queuectl.core.durations import format_duration, parse_duration
from queuectl.core.states import DEAD
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Parser = Callable[[str, str], object]


def whole(lowest: int, highest: int) -> Parser:
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


def decimal(lowest: float, highest: float) -> Parser:
    def parse(text: str, name: str) -> object:
        try:
            number = float(text)
        except ValueError:
            raise InvalidInput(f"{name} must be a number, not {text!r}", "like 2 or 1.5") from None
        if not lowest <= number <= highest:  # NaN fails this too
            raise InvalidInput(f"{name} must be between {lowest:g} and {highest:g}, not {text}")
        return number

    return parse


def duration(lowest_ms: int = 0) -> Parser:
    def parse(text: str, name: str) -> object:
        value = parse_duration(text, what=name)
        if value < lowest_ms:
            raise InvalidInput(f"{name} must be at least {format_duration(lowest_ms)}, not {text}")
        return value

    return parse


_NONE = ("", "none", "never", "off", "0")


def optional(parse: Parser) -> Parser:
    """The same, if it is above 0; or none."""

    def parse_or_none(text: str, name: str) -> object:
        if text.strip().lower() in _NONE:
            return None
        return parse(text, name) or None

    return parse_or_none


class Choice:
    """One of some words."""

    __slots__ = ("words",)

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, text: str, name: str) -> object:
        if text not in self.words:
            raise InvalidInput(f"{name} cannot be {text!r}", "choose one of " + ", ".join(self.words))
        return text


def flag(text: str, name: str) -> object:
    word = text.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise InvalidInput(f"{name} must be true or false, not {text!r}")


_SIZES = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}


def size(text: str, name: str) -> object:
    digits = text.strip().lower()
    unit = digits.lstrip("0123456789")
    number = digits[: len(digits) - len(unit)]
    if not 0 < len(number) < 16 or unit.strip() not in _SIZES:
        raise InvalidInput(f"{name} must be a size, not {text!r}", "like 64k, 10m or 1g")
    return int(number) * _SIZES[unit.strip()]


def command(text: str, name: str) -> object:
    """A shell line, or none."""
    if text.strip().lower() in ("", "none", "off"):
        return None
    from queuectl.core.fields import check_command

    try:
        return check_command(text)
    except InvalidInput as error:
        error.message = f"{name}: {error.message}"
        raise


def ends(text: str, name: str) -> object:
    if text == DEAD:
        return (DEAD,)
    from queuectl.core.notices import check_ends

    return check_ends(text, name)


def program(text: str, name: str) -> object:
    if not text.startswith("/") or "\0" in text:
        raise InvalidInput(f"{name} must be the full path of a program, not {text!r}")
    return text


def can_be_run(path: object) -> bool:
    """Whether this machine has such a program; another one may."""
    import os

    return os.path.isfile(str(path)) and os.access(str(path), os.X_OK)


def show_duration(value: object) -> str:
    assert value is None or isinstance(value, int)
    # Seconds print as typed: `config set job-retry-delay 5` reads back as 5.
    if value is None:
        return "none"
    return str(value // 1000) if value % 1000 == 0 and value < 60_000 else format_duration(value)


def show_ends(value: object) -> str:
    assert isinstance(value, tuple)
    return ",".join(value)


def show_number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def show_optional(value: object) -> str:
    return "none" if value is None else str(value)


def show_flag(value: object) -> str:
    return "true" if value else "false"
