"""Which jobs are meant: the options that filter, and what they come to.

Looking at those jobs is left to `listing`, changing them to `acting`.
"""

from __future__ import annotations

import argparse

from queuectl.cli.options import hidden
from queuectl.selecting import make_filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.queue import JobFilter

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
    return make_filter(
        now=now,
        states=getattr(options, "states", None),
        queue=options.queue,
        tag=options.tag,
        search=options.search,
        since=getattr(options, "since", None),
        before=getattr(options, "before", None),
    )


def has_filter(options: argparse.Namespace, *, but: tuple[str, ...] = ()) -> bool:
    """Whether any of them is given; those of `but` do not count."""
    return any(getattr(options, name, None) is not None for name in _FILTERS if name not in but)


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
