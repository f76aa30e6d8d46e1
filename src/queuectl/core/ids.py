"""Ids of jobs: which ones we accept, and the short sortable ones that we make.

An id of ours is 13 letters and digits: milliseconds since 2025 (40 bits), then 25 random bits,
counted up within one batch. Ids made later sort later.
"""

from __future__ import annotations

import re
from itertools import chain

from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Text, not compiled: `re` compiles it at its first use, so importing costs nothing.
_VALID = r"[A-Za-z0-9_:@=+][A-Za-z0-9._\-:@=+]{0,127}"
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o, u: nothing to misread
_PAIRS = [a + b for a in _DIGITS for b in _DIGITS]
_EPOCH = 1_735_689_600_000  # 2025-01-01
_RANDOM_BITS = 25


def check_id(text: object, what: str = "id") -> str:
    """The id if it is a good one; ids go into URLs and shell lines, so we are strict."""
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be text, not {type(text).__name__}", 'like "job1"')
    if not re.fullmatch(_VALID, text):
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise InvalidInput(
            f"{what} {shown!r} is not allowed",
            "use 1 to 128 letters, digits and . _ - : @ = +, not starting with - or .",
        )
    return text


def is_made(id: str) -> bool:
    """Whether it is one of ours, by its looks."""
    return len(id) == 13 and all(character in _DIGITS for character in id)


def new_ids(now_ms: int, random_bits: int) -> Iterator[str]:
    """Endless ids, each sorting after the one before; `random_bits` is 25 bits of randomness."""
    number = ((now_ms - _EPOCH) & (2**40 - 1)) << _RANDOM_BITS
    number |= random_bits & (2**_RANDOM_BITS - 1)
    return chain.from_iterable(_blocks(number))


def _blocks(number: int) -> Iterator[Iterator[str]]:
    """Some at a time: those that differ only in the last two characters are made without a step in Python."""
    while True:
        front = _encode(number >> 10)
        yield map(front.__add__, _PAIRS[number & 1023 :])
        number = (number | 1023) + 1


def _encode(high: int) -> str:
    digits = []
    for _ in range(11):
        digits.append(_DIGITS[high & 31])
        high >>= 5
    return "".join(reversed(digits))
