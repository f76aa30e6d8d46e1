"""Which jobs are meant: the options that filter, and what they come to.

Looking at those jobs is left to `listing`, changing them to `acting`.
"""

from __future__ import annotations

import argparse

from queuectl.cli.options import hidden
from queuectl.core import states
from queuectl.errors import InvalidInput
from queuectl.queue import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MOMENTS = "like 10m, 2h or 3d (ago), '2026-12-01 09:00', 'today 17:00', 9:00 or mon"
_FILTERS = ("states", "queue", "tag", "search", "since", "before")


def add_filters(parser: argparse.ArgumentParser, *, state: bool = True, age: bool = False) -> None:
    """Options that say which jobs are meant."""
    group = parser.add_argument_group("which jobs")
    add = group.add_argument
    if state:
        add(
            "--state",
            "-s",
            action="append",
            dest="states",
            metavar="STATE",
            help="in this state; repeat it or give a list: dead,failed",
        )
        hidden(group, "--status", action="append", dest="states", metavar="STATE")
    add("--queue", "-q", metavar="NAME", help="in this queue")
    add("--tag", "-t", metavar="T", help="with this tag")
    add("--search", metavar="TEXT", help="with this text in the command or id")
    if age:
        add("--since", metavar="WHEN", help='enqueued since then: 10m (ago), "2026-12-01 09:00"')
        add("--before", metavar="WHEN", help="enqueued before then")


def filter_from(options: argparse.Namespace, *, now: int) -> JobFilter:
    """The filter that the options describe; with none given it is every job."""
    since, before = getattr(options, "since", None), getattr(options, "before", None)
    return JobFilter(
        states=parse_states(getattr(options, "states", None) or []),
        queue=_text(options.queue, "--queue"),
        tag=_text(options.tag, "--tag"),
        text=_text(options.search, "--search"),
        created_after=None if since is None else moment(since, now=now, what="--since"),
        created_before=None if before is None else moment(before, now=now, what="--before"),
    )


def has_filter(options: argparse.Namespace) -> bool:
    return any(getattr(options, name, None) is not None for name in _FILTERS)


def in_states(filter: JobFilter, wanted: tuple[str, ...]) -> JobFilter:
    """The same filter for these states."""
    return JobFilter(
        ids=filter.ids,
        states=wanted,
        queue=filter.queue,
        tag=filter.tag,
        text=filter.text,
        created_after=filter.created_after,
        created_before=filter.created_before,
        held=filter.held,
    )


def parse_states(words: list[str]) -> tuple[str, ...]:
    """States in any case, repeated or as a comma list; `all` restricts nothing."""
    if not words:
        return ()
    found: list[str] = []
    for word in ",".join(words).split(","):
        if word.strip().lower() == "all":
            return ()
        state = states.parse_state(word)
        if state is None:
            raise InvalidInput(f"unknown state {word[:40]!r}", "the states are: " + ", ".join(states.ALL))
        if state not in found:
            found.append(state)
    return tuple(found)


def moment(text: str, *, now: int, what: str) -> int:
    """A time in the past: how long ago (10m, 90), or when (a date, 9:00, `mon`)."""
    from queuectl.core.durations import parse_duration

    if text.strip()[:1].isdigit():
        try:
            return max(now - parse_duration(text, what=what), 0)
        except InvalidInput:
            pass  # a date or a clock time begins with a digit too
    try:
        return _latest(text, now=now, what=what)
    except InvalidInput as error:
        raise InvalidInput(error.message, _MOMENTS) from None


def _latest(text: str, *, now: int, what: str) -> int:
    """`9:00` and `mon` are the coming ones to the parser; a look back means the last ones."""
    from queuectl.core.times import parse_when

    found = parse_when(text, now_ms=now, what=what)
    if any(sign in text.lower() for sign in ("-", "+", "in ", "tomorrow")):
        return found
    for days in range(1, 8):
        if found <= now:
            break
        found = parse_when(text, now_ms=now - days * 86_400_000, what=what)
    return found


def _text(text: str | None, what: str) -> str | None:
    """Text that a store can hold: bytes that are no UTF-8 would arrive as lone surrogates."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is not valid UTF-8", "give plain text") from None
    return text


def number(lowest: int, highest: int = 2**62 - 1) -> Callable[[str], int]:
    """For argparse: a whole number within these bounds."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number") from None
        if value < lowest:
            raise argparse.ArgumentTypeError(f"{text[:40]} is not {lowest} or more")
        if value > highest:
            raise argparse.ArgumentTypeError(f"{text[:40]} is more than {highest:,}")
        return value

    return parse
