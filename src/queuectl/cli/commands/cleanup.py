"""queuectl cleanup: deletes jobs that have ended, with their attempts and output."""

from __future__ import annotations

from queuectl.cli.options import hidden, open_queue, parser
from queuectl.cli.output import confirm, plural, print_json, say, somebody_is_there
from queuectl.cli.selection import number
from queuectl.core.durations import format_duration, parse_duration
from queuectl.core.states import COMPLETED, TERMINAL, parse_state
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.cli.options import Parser
    from queuectl.queue import Queue

_ABOUT = """Delete jobs that have ended, with their attempts and output: completed ones, or those
of --state. With keep-completed, keep-completed-count and their kin set the workers do it themselves.
A job for which others still wait stays."""

_EXAMPLES = """
  queuectl cleanup
  queuectl cleanup --older-than 7d
  queuectl cleanup --keep 1000
  queuectl cleanup --state all-finished --older-than 30d --dry-run
  queuectl config set keep-completed 7d
"""

_ALL = "all-finished"


def build_parser() -> Parser:
    result = parser("cleanup", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add("--older-than", metavar="TIME", default="0", help="that ended longer ago: 12h, 7d")
    add("--keep", type=number(0), default=0, metavar="N", help="but for the N newest of each queue and state")
    add(
        "--state",
        "-s",
        action="append",
        metavar="STATE",
        help=f"{', '.join(TERMINAL)} or {_ALL} (default: {COMPLETED})",
    )
    add("--dry-run", action="store_true", help="only say how many there are")
    hidden(result, "--status", action="append", dest="state")
    hidden(result, "--yes", "-y", action="store_true")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    chosen = _parse(options.state or [COMPLETED])
    age = parse_duration(options.older_than, what="--older-than")
    with open_queue(options) as queue:
        if not options.dry_run and not _is_meant(queue, options, chosen, age):
            say("nothing was deleted")
            return 1
        do = queue.cleanable if options.dry_run else queue.cleanup
        counts = {state: do(state, older_than_ms=age, keep=options.keep) for state in chosen}
    total = sum(counts.values())
    if options.json:
        name = "would_delete" if options.dry_run else "deleted"
        print_json({name: total, "states": counts})
    elif options.dry_run:
        print(f"would delete {plural(total, 'job')}")
    else:
        print(f"✓ {plural(total, 'job')} deleted")
    return 0


def _is_meant(queue: Queue, options: argparse.Namespace, chosen: tuple[str, ...], age: int) -> bool:
    """A number alone is of seconds, here as everywhere. Who types 7 may mean a week; a script does not."""
    text = options.older_than
    if options.yes or not age or not text.strip().isdecimal() or not somebody_is_there():
        return True
    count = sum(queue.cleanable(state, older_than_ms=age, keep=options.keep) for state in chosen)
    told = f"--older-than {text} is {format_duration(age)}; days are {text}d"
    return not count or confirm(f"{told}. Delete {plural(count, 'job')}?", yes=False)


def _parse(words: list[str]) -> tuple[str, ...]:
    found: list[str] = []
    for word in ",".join(words).split(","):
        if word.strip().lower() in (_ALL, "all"):
            return TERMINAL
        state = parse_state(word)
        if state not in TERMINAL:
            raise InvalidInput(
                f"cleanup is for jobs that have ended, not {word[:40]!r}",
                f"choose {', '.join(TERMINAL)} or {_ALL}",
            )
        if state not in found:
            found.append(state)
    return tuple(found)
