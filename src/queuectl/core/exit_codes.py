"""Sets of exit codes as people write them, and what follows from the code of one attempt.

A set is kept as text in one spelling: `1,2,10-20`. How often a job is tried at all is left to
`lifecycle`, as are attempts that end without a code: timeouts, lost workers, cancellations.
"""

from __future__ import annotations

import re
from functools import lru_cache

from queuectl.core.durations import quoted
from queuectl.errors import InvalidInput

__all__ = [
    "CODE_FORMS",
    "DEAD",
    "EX_TEMPFAIL",
    "RETRY",
    "SUCCESS",
    "common",
    "in_codes",
    "parse_codes",
    "verdict",
]

SUCCESS = "success"
RETRY = "retry"
DEAD = "dead"

EX_TEMPFAIL = 75  # sysexits.h: "the user is invited to retry"

CODE_FORMS = (
    "Write exit codes from 0 to 255 and ranges of them, separated by commas: 1,2,10-20. "
    "Death by signal n is the code 128+n (137, or the word SIGKILL)."
)

_HIGHEST = 255
_MAX_TEXT = 2_000  # all 256 codes written out, with spaces, take 1,168
_MAX_ITEMS = 256
_RANGE = r"([0-9]+)(?: ?- ?([0-9]+))?"
_WORD = r"(?:SIG)?([A-Z]+[0-9]?)"

# Only the signals that have one number on every system: a job may run on another machine than the
# one that read the word.
_SIGNALS = {
    "HUP": 1,
    "INT": 2,
    "QUIT": 3,
    "ILL": 4,
    "TRAP": 5,
    "ABRT": 6,
    "FPE": 8,
    "KILL": 9,
    "SEGV": 11,
    "PIPE": 13,
    "ALRM": 14,
    "TERM": 15,
}


def parse_codes(value: object, what: str = "exit codes") -> str:
    """The set in its one spelling, from text (`1,2,10-20`), a number, or a list of both."""
    try:
        return _spelled(_read(value))
    except ValueError as error:
        shown = f" {quoted(value)}" if isinstance(value, str | int | float) else ""
        raise InvalidInput(f"{what}{shown}: {error}", CODE_FORMS) from error


def in_codes(codes: str | None, code: int) -> bool:
    """Whether the set, as `parse_codes` spells it, holds the code; None holds nothing."""
    return bool(codes) and code in _members(codes)


def common(a: str | None, b: str | None) -> list[int]:
    """The codes in both sets: what asks for two things at once."""
    return sorted(_members(a) & _members(b)) if a and b else []


def verdict(
    exit_code: int,
    *,
    retry_on: str | None = None,
    no_retry_on: str | None = None,
    ok_codes: str | None = None,
) -> str:
    """SUCCESS, RETRY (if the job has retries left) or DEAD (at once, whatever is left).

    A command that ends with 75 says itself that another try will help, so that code is retried
    even if `retry_on` does not name it. Death by signal n is asked about as 128 + n.
    """
    if exit_code == 0 or in_codes(ok_codes, exit_code):
        return SUCCESS
    if in_codes(no_retry_on, exit_code):
        return DEAD
    if exit_code == EX_TEMPFAIL or not retry_on or in_codes(retry_on, exit_code):
        return RETRY
    return DEAD


def _read(value: object) -> set[int]:
    """All codes in the value, or ValueError with the reason."""
    items = value if isinstance(value, list | tuple | set | frozenset) else [value]
    if len(items) > _MAX_ITEMS:
        raise ValueError(f"more than {_MAX_ITEMS} entries")
    codes = {code for item in items for part in _read_item(item) for code in part}
    if not codes:
        raise ValueError("no exit code given")
    return codes


def _read_item(item: object) -> list[range]:
    if isinstance(item, str):
        if len(item) > _MAX_TEXT:
            raise ValueError("too long")
        return [_read_text(" ".join(part.split())) for part in item.split(",")]
    if isinstance(item, bool) or not isinstance(item, int):
        shown = f"{quoted(item)} is " if isinstance(item, bool | float) else ""
        raise ValueError(f"{shown}not an exit code")
    return [_checked(item, item)]


def _read_text(text: str) -> range:
    if not text:
        raise ValueError("an exit code is missing")
    if text.startswith("-"):
        raise ValueError("an exit code is not negative")
    match = re.fullmatch(_RANGE, text)
    if match is None:
        return _read_signal(text)
    first, last = match[1], match[2] or match[1]
    if max(len(first), len(last)) > 10:  # before int(), which refuses thousands of digits its own way
        raise ValueError(f"{quoted(text)} is not between 0 and {_HIGHEST}")
    return _checked(int(first), int(last))


def _read_signal(text: str) -> range:
    word = re.fullmatch(_WORD, text.upper()) if text.isascii() else None
    if word is None:
        raise ValueError(f"{quoted(text)} is not an exit code")
    number = _SIGNALS.get(word[1])
    if number is None:
        raise ValueError(f"{quoted(text)} is neither a code nor a signal with one number everywhere")
    return range(128 + number, 128 + number + 1)


def _checked(first: int, last: int) -> range:
    for code in (first, last):
        if not 0 <= code <= _HIGHEST:
            raise ValueError(f"{quoted(code)} is not between 0 and {_HIGHEST}")
    if first > last:
        raise ValueError(f"the range {first}-{last} runs backwards")
    return range(first, last + 1)


def _spelled(codes: set[int]) -> str:
    """`1,2,10-20`: sorted; three codes in a row or more become a range."""
    parts: list[str] = []
    for first in sorted(codes):
        if first - 1 in codes:
            continue
        last = first
        while last + 1 in codes:
            last += 1
        few = last - first < 2
        parts.extend(map(str, range(first, last + 1)) if few else [f"{first}-{last}"])
    return ",".join(parts)


@lru_cache(maxsize=512)
def _members(codes: str) -> frozenset[int]:
    return frozenset(_read(codes))
