"""Which jobs are meant: the words of a filter, from whatever interface they come.

The options of the command line are left to `cli.selection`, the query of a request to `web`.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.errors import InvalidInput, Refused
from queuectl.store.messages import JobFilter

__all__ = ["checked_text", "make_filter", "moment", "parse_states", "possible"]

_MOMENTS = "like 10m, 2h or 3d (ago), '2026-12-01 09:00', 'yesterday 17:00', 9:00 or mon"


def make_filter(
    *,
    now: int,
    states: list[str] | None = None,
    queue: str | None = None,
    tag: str | None = None,
    search: str | None = None,
    since: str | None = None,
    before: str | None = None,
    sign: str = "--",
) -> JobFilter:
    """The filter that these words describe; with none given it is every job. `sign` goes before the name of
    what is wrong in a message.
    """
    return JobFilter(
        states=parse_states(states or []),
        queue=checked_text(queue, sign + "queue"),
        tag=checked_text(tag, sign + "tag"),
        text=checked_text(search, sign + "search"),
        created_after=None if since is None else moment(since, now=now, what=sign + "since"),
        created_before=None if before is None else moment(before, now=now, what=sign + "before"),
    )


def possible(
    filter: JobFilter, verb: str, sources: tuple[str, ...], *, held: bool | None = None
) -> JobFilter:
    """The filter, narrowed to the states that an action may start from."""
    wanted = tuple(s for s in sources if not filter.states or s in filter.states)
    if not wanted:
        raise Refused(
            f"cannot {verb} jobs that are {' or '.join(filter.states)}",
            "only these: " + ", ".join(sources),
        )
    return filter.replaced(states=wanted, held=filter.held if held is None else held)


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
    from queuectl.core.durations import quoted
    from queuectl.core.times import parse_when

    day, _, clock = text.strip().lower().partition(" ")
    if day == "yesterday" or (day, clock) == ("today", ""):
        if day == "yesterday":  # by way of noon: a day of 23 or 25 hours cannot lead into another one
            now = parse_when("today 12:00", now_ms=now) - 86_400_000
        try:
            return parse_when(f"today {clock or '0:00'}", now_ms=now, what=what)
        except InvalidInput:
            raise InvalidInput(f"{what} {quoted(text)}: not a time in a known form") from None
    found = parse_when(text, now_ms=now, what=what)
    if any(sign in text.lower() for sign in ("-", "+", "in ", "tomorrow")):
        return found
    for days in range(1, 8):
        if found <= now:
            break
        found = parse_when(text, now_ms=now - days * 86_400_000, what=what)
    return found


def checked_text(text: str | None, what: str) -> str | None:
    """Text that a store can hold: bytes that are no UTF-8 would arrive as lone surrogates."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is not valid UTF-8", "give plain text") from None
    return text
