"""Amounts: sizes in bytes (`1.5G`), and resources that jobs need and workers provide (`gpu=2`).

A size unit is a power of 1024, however it is spelled: K, KB and KiB are all 1024 bytes.

A job needs a number of each resource; a worker provides single pieces, each with an id that the job
is told, so that it uses its own and no other's. `gpu=2` provides the pieces 0 and 1; where the ids
are not 0, 1, 2 …, they are listed: `gpu=ids:0+3`. Pieces are handed out in the order of their ids,
numbers first. Who hands them out to whom is left to the worker.
"""

from __future__ import annotations

import re

from queuectl.core.durations import quoted
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MAX_NEEDED",
    "MAX_PIECES",
    "MAX_SIZE",
    "NEEDS_FORMS",
    "PROVIDES_FORMS",
    "SIZE_FORMS",
    "fits",
    "format_needs",
    "give",
    "parse_needs",
    "parse_provides",
    "parse_size",
    "show_size",
    "take",
]

SIZE_FORMS = "Write a number of bytes (4096), or one with K, M, G or T, powers of 1024: 512M, 1.5G, 2GiB."
NEEDS_FORMS = "Write names and numbers, separated by commas: gpu=1,license=2."
PROVIDES_FORMS = (
    "Write how many there are of each, separated by commas: gpu=2,license=5. "
    "Pieces with ids of their own are listed: gpu=ids:0+3."
)

MAX_SIZE = 2**63 - 1
MAX_NEEDED = 1_000_000
MAX_PIECES = 100_000  # of one resource; each is an entry of a list
_MAX_NAMES = 64

_MAX_NUMBER = 64
_MAX_TEXT = 100_000
_UNITS = "BKMGT"
_SIZE = r"([0-9]+)(?:\.([0-9]+))? ?(?:([kmgt])(?:i?b)?|b)?"
_NAME = r"[a-z][a-z0-9_-]{0,31}"
_ID = r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}"
_IDS = "ids:"


def parse_size(value: object, what: str = "size") -> int:
    """Bytes in `value`: a whole number of them, or text such as `512M` or `1.5GiB`.

    Parts of a byte are rounded to the nearest one, but never to nothing.
    """
    try:
        return _size(value)
    except ValueError as error:
        raise InvalidInput(f"{what}{_shown(value)}: {error}", SIZE_FORMS) from error


def show_size(size: int) -> str:
    """`512B`, `4K`, `1.5G`: the largest fitting unit, rounded to two decimals."""
    if size < 0:
        return "-" + show_size(-size)
    power = 0
    while _hundredths(size, power) >= 102_400 and power < len(_UNITS) - 1:
        power += 1
    whole, part = divmod(_hundredths(size, power), 100)
    return f"{whole}.{part:02d}".rstrip("0").rstrip(".") + _UNITS[power]


def parse_needs(value: object, what: str = "needs") -> dict[str, int]:
    """How many of each resource, from `gpu=1,license=2`, a list of such texts, or a mapping.

    A name alone means one of it. An empty list or mapping needs nothing.
    """
    try:
        return {name: _count(name, item, 1, MAX_NEEDED) for name, item in _entries(value)}
    except ValueError as error:
        raise InvalidInput(f"{what}{_shown(value)}: {error}", NEEDS_FORMS) from error


def format_needs(needs: dict[str, int]) -> str:
    """`gpu=1,license=2`: the one spelling, sorted by name; reads back the same unless empty."""
    return ",".join(f"{name}={count}" for name, count in sorted(needs.items()))


def parse_provides(value: object, what: str = "provides") -> dict[str, list[str]]:
    """The ids of the pieces of each resource, in order.

    From `gpu=2`, `gpu=ids:0+3`, a list of such texts, or a mapping of names to numbers or to lists
    of ids. None of a resource (`gpu=0`) is allowed: a script may have counted them.
    """
    try:
        return {name: _pieces(name, item) for name, item in _entries(value)}
    except ValueError as error:
        raise InvalidInput(f"{what}{_shown(value)}: {error}", PROVIDES_FORMS) from error


def fits(needs: dict[str, int], free: dict[str, list[str]]) -> bool:
    """Whether there is enough of everything."""
    return all(len(free.get(name, ())) >= count for name, count in needs.items())


def take(needs: dict[str, int], free: dict[str, list[str]]) -> dict[str, list[str]]:
    """The first pieces of each, removed from `free`: all that is needed, or ValueError and nothing."""
    if not fits(needs, free):
        raise ValueError(f"{format_needs(needs)} is more than there is")
    taken = {name: free[name][:count] for name, count in needs.items()}
    for name, ids in taken.items():
        del free[name][: len(ids)]
    return taken


def give(taken: dict[str, list[str]], free: dict[str, list[str]]) -> None:
    """Puts the pieces back, each at its place. `free` is in order, as `parse_provides` made it."""
    from bisect import bisect_left

    for name, ids in taken.items():
        pieces = free.setdefault(name, [])
        for id in ids:
            place = bisect_left(pieces, _by_id(id), key=_by_id)
            if pieces[place : place + 1] == [id]:  # given back twice, it would be handed out twice
                raise ValueError(f"{name} {id} is free already")
            pieces.insert(place, id)


def _hundredths(size: int, power: int) -> int:
    """The size in hundredths of a unit, rounded to the nearest."""
    return ((200 * size >> 10 * power) + 1) // 2


def _by_id(id: str) -> tuple[int, int, str]:
    return (0, int(id), id) if id.isdecimal() else (1, 0, id)


def _size(value: object) -> int:
    """The bytes, or ValueError with the reason."""
    if isinstance(value, str):
        size = _text_size(" ".join(value.split()))
    elif isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("not a size")
    else:
        size = value
    if size < 0:
        raise ValueError("must not be negative")
    if size > MAX_SIZE:
        raise ValueError("too large")
    return size


def _text_size(text: str) -> int:
    if not text:
        raise ValueError("empty")
    if len(text) > _MAX_NUMBER:
        raise ValueError("too long")
    if text.startswith("-"):
        raise ValueError("must not be negative")
    match = re.fullmatch(_SIZE, text, re.IGNORECASE) if text.isascii() else None
    if match is None:
        raise ValueError("not a size")
    whole, fraction, letter = match[1], match[2] or "", match[3]
    if fraction and not letter:
        raise ValueError("a part of a byte; its unit may be missing")
    unit = 1 << 10 * _UNITS.index(letter.upper() if letter else "B")
    number = int(whole + fraction) * unit
    scale: int = 10 ** len(fraction)
    size = (2 * number + scale) // (2 * scale)
    if number and not size:
        raise ValueError("less than a byte")
    return size


def _entries(value: object) -> Iterator[tuple[str, object]]:
    """Each name with its amount as it was written, once."""
    seen: set[str] = set()
    for name, item in _pairs(value):
        if not isinstance(name, str) or not re.fullmatch(_NAME, name):
            raise ValueError(
                f"the name{_shown(name)} is not allowed: up to 32 small letters, digits, _ and -, "
                "beginning with a letter"
            )
        if name in seen:
            raise ValueError(f"{name} is named twice")
        seen.add(name)
        if len(seen) > _MAX_NAMES:
            raise ValueError(f"more than {_MAX_NAMES} names")
        yield name, item


def _pairs(value: object) -> Iterator[tuple[object, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, str | list | tuple):
        for text in [value] if isinstance(value, str) else value:
            yield from _split(text)
    else:
        raise ValueError("neither text nor a list nor a mapping")


def _split(text: object) -> Iterator[tuple[str, str]]:
    if not isinstance(text, str):
        raise ValueError(f"an entry{_shown(text)} of the list is not text")
    if len(text) > _MAX_TEXT:
        raise ValueError("too long")
    for entry in text.split(","):
        name, equals, amount = entry.partition("=")
        if not entry.strip():
            raise ValueError("a name is missing")
        yield name.strip(), amount.strip() if equals else "1"


def _count(name: str, item: object, lowest: int, highest: int) -> int:
    number = int(item) if isinstance(item, str) and re.fullmatch(r"[0-9]{1,10}", item) else item
    if isinstance(number, bool) or not isinstance(number, int) or not lowest <= number <= highest:
        raise ValueError(
            f"the number{_shown(item)} of {name} is not a whole one from {lowest} to {highest:,}"
        )
    return number


def _pieces(name: str, item: object) -> list[str]:
    if isinstance(item, str) and item.startswith(_IDS):
        return _ids(name, item.removeprefix(_IDS).split("+"))
    if isinstance(item, list | tuple):
        return _ids(name, item)
    return [str(number) for number in range(_count(name, item, 0, MAX_PIECES))]


def _ids(name: str, items: list[object] | tuple[object, ...] | list[str]) -> list[str]:
    if len(items) > MAX_PIECES:
        raise ValueError(f"more than {MAX_PIECES:,} ids of {name}")
    ids = [_id(name, item) for item in items]
    if len(set(ids)) < len(ids):
        raise ValueError(f"an id of {name} is named twice")
    return sorted(ids, key=_by_id)


def _id(name: str, item: object) -> str:
    small = isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 2**63
    text = str(item).strip() if small or isinstance(item, str) else ""
    if not re.fullmatch(_ID, text):
        raise ValueError(
            f"the id{_shown(item)} of {name} is not allowed: up to 64 letters, digits and . _ : / -"
        )
    return text


def _shown(value: object) -> str:
    """The value for a message, with a space before it; nothing if it has no short form."""
    return f" {quoted(value)}" if isinstance(value, str | int | float) else ""
