"""The inputs of `map`: values and files after the command, how they combine, columns of a line.

Opening files is left to the caller, the command for each input to `templates`.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from functools import lru_cache
from itertools import chain, product

from queuectl.core.ids import check_id
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Lists = Sequence[tuple[Iterable[str], bool]]

__all__ = [
    "FILE",
    "VALUES",
    "Source",
    "columns",
    "combine",
    "count",
    "job_key",
    "split_records",
    "split_sources",
]

VALUES = "values"
FILE = "file"

_MARKS = {":::": VALUES, ":::+": VALUES, "::::": FILE, "::::+": FILE}
_KEY_BYTES = 8
_LONGEST_NAME = 128 - 1 - 2 * _KEY_BYTES  # with "-" and the hash it is still a good id


class Source:
    """One input source: its values, or one file to read them from (`-` is stdin).

    A linked source (`:::+`) goes in step with the one before it.
    """

    __slots__ = ("kind", "linked", "words")

    def __init__(self, kind: str, words: list[str], *, linked: bool = False) -> None:
        self.kind = kind
        self.words = words
        self.linked = linked


def split_sources(words: list[str]) -> tuple[list[str], list[Source]]:
    """`CMD… ::: a b :::: file` -> the words of the command, and the sources in their order."""
    command: list[str] = []
    groups: list[tuple[str, list[str]]] = []
    for word in words:
        if word in _MARKS:
            groups.append((word, []))
        else:
            (groups[-1][1] if groups else command).append(word)
    if groups and groups[0][0].endswith("+"):
        raise InvalidInput(
            f"{groups[0][0]} has no input source before it to go with", f"write {groups[0][0][:-1]} first"
        )
    return command, [source for mark, given in groups for source in _sources(mark, given)]


def _sources(mark: str, given: list[str]) -> list[Source]:
    linked = mark.endswith("+")
    if _MARKS[mark] == VALUES:
        return [Source(VALUES, given, linked=linked)]
    if not given:
        raise InvalidInput(f"{mark} needs a file name", f"like {mark} list.txt, or {mark} - for stdin")
    return [Source(FILE, [name], linked=linked) for name in given]


def combine(lists: Lists) -> Iterator[tuple[str, ...]]:
    """Every combination, the last source varying fastest; linked sources go in step.

    Linked sources end with the shortest. The first source (with those linked to it) is read as it
    comes and may be endless; the others are held in memory, for they are gone through again.
    """
    if not lists:
        return
    first, *others = [zip(*group, strict=False) for group in _groups(lists)]
    if not others:
        yield from first
        return
    held = [list(group) for group in others]
    if not all(held):
        return
    for head in first:
        for tail in product(*held):
            yield tuple(chain(head, *tail))


def count(lists: Lists) -> int | None:
    """How many combinations there will be; None if a source does not know its length."""
    total = 1 if lists else 0
    for group in _groups(lists):
        lengths = [len(values) for values in group if isinstance(values, Sized)]
        if len(lengths) < len(group):
            return None
        total *= min(lengths)
    return total


def _groups(lists: Lists) -> list[list[Iterable[str]]]:
    groups: list[list[Iterable[str]]] = []
    for values, linked in lists:
        if linked and groups:
            groups[-1].append(values)
        else:
            groups.append([values])
    return groups


def columns(line: str, separator: str) -> tuple[str, ...]:
    """The columns of a line, without the blanks around them.

    The separator is a regular expression, but one character is itself: `|` and `.` are what they
    look like.
    """
    return tuple([column.strip() for column in _splitter(separator)(line)])


@lru_cache(4)
def _splitter(separator: str) -> Callable[[str], list[str]]:
    if len(separator) == 1:
        return lambda line: line.split(separator)
    try:
        pattern = re.compile(separator)
    except re.error as error:
        raise _bad_separator(separator, f"is no regular expression: {error}") from error
    if pattern.groups:
        raise _bad_separator(separator, "has a group, which would become a column")
    if pattern.match(""):
        raise _bad_separator(separator, "matches the empty text, so every letter would be a column")
    return pattern.split


def _bad_separator(separator: str, problem: str) -> InvalidInput:
    return InvalidInput(
        f"the column separator {separator!r} {problem}",
        r"use one character, \t, or a regular expression like ', *' or (?:;|,)",
    )


def split_records(chunks: Iterable[str] | Iterable[bytes], nul: bool = False) -> Iterator[str]:
    """The records of a stream, read in chunks of any size: lines, or with `nul` what NULs separate.

    A line may end as Windows ends it, and the first may begin with a BOM. Bytes that are no UTF-8
    become lone surrogates, which the checks of a job refuse by name.
    """
    if nul:
        yield from _split(_decoded(chunks), "\0")
        return
    lines = _split(_decoded(chunks), "\n")
    for line in lines:
        yield line.removeprefix("\ufeff").removesuffix("\r")
        break
    for line in lines:
        yield line.removesuffix("\r")


def _decoded(chunks: Iterable[str] | Iterable[bytes]) -> Iterator[str]:
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    for chunk in chunks:
        yield chunk if isinstance(chunk, str) else decoder.decode(chunk)
    yield decoder.decode(b"", True)


def _split(texts: Iterable[str], separator: str) -> Iterator[str]:
    pending: list[str] = []  # joined once: a long record in many chunks must not be copied for each
    for text in texts:
        first, *rest = text.split(separator)
        pending.append(first)
        if rest:
            yield "".join(pending)
            yield from rest[:-1]
            pending = [rest[-1]]
    if last := "".join(pending):
        yield last


def job_key(name: str, row: Sequence[str]) -> str:
    """The job id of an input under `--resume NAME`: the same name and input give the same id.

    Ids outlive the program that made them, so how a row is hashed must never change.
    """
    from hashlib import blake2b

    check_id(name, "the name of --resume")
    if len(name) > _LONGEST_NAME:
        raise InvalidInput(f"the name of --resume has {len(name)} characters", f"use {_LONGEST_NAME} at most")
    values = [value.encode("utf-8", "surrogatepass") for value in row]
    packed = b"".join([b"%d:%b" % (len(value), value) for value in values])
    return f"{name}-{blake2b(packed, digest_size=_KEY_BYTES).hexdigest()}"
