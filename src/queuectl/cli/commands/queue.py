"""queuectl queue: limits and defaults of whole queues, pauses, draining."""

from __future__ import annotations

import sys

from queuectl import queues
from queuectl.cli.formats import QUEUE, add_format, check_format, print_documents
from queuectl.cli.jobspec import NamingOptions
from queuectl.cli.options import look_at_queue, open_queue, parser, subcommand
from queuectl.cli.output import can_redraw, plural, print_json, say
from queuectl.cli.queueview import print_queue, print_queues, rules_in_words, running_in_words, until
from queuectl.core.durations import parse_duration
from queuectl.core.states import ALL, TERMINAL
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.queue import Queue
    from queuectl.queues import QueueView

_ABOUT = """Queues: what waits in each, and the rules that hold for it on all machines.
A queue exists as soon as a job, a rule or a worker names it.

  queue list      all of them (also: bare queue)
  queue show      everything about one
  queue set       limits, and defaults for its jobs
  queue pause     start no more of its jobs
  queue resume    end a pause or a draining
  queue drain     take no new jobs, and wait until the others have ended"""

_EXAMPLES = """
  queuectl queue list
  queuectl queue set mail --concurrency 4 --rate 100/min
  queuectl queue set mail --rate none
  queuectl queue pause mail --for 2h --reason 'server is moving'
  queuectl queue resume mail
  queuectl queue drain mail --timeout 10m
"""

TIMED_OUT = 124  # as in `wait`
_ALIASES = {"ls": "list", "status": "show", "info": "show", "get": "show", "stop": "pause", "start": "resume"}


def build_parser() -> Parser:
    return parser("queue", _ABOUT, _EXAMPLES)


def main(words: list[str]) -> int:
    name, rest = subcommand(words, tuple(_COMMANDS), "queue", _ALIASES)
    if name is None and {"-h", "--help"} & set(rest):
        build_parser().parse_args(rest)
    return _COMMANDS[name or "list"](rest)


def _of_one(command: str, about: str, examples: str) -> Parser:
    result = parser(f"queue {command}", about, examples)
    result.add_argument("name", metavar="NAME", help="the queue")
    return result


def _list(words: list[str]) -> int:
    about = "List the queues: their jobs, the limits that hold, the workers that serve them."
    options_of = parser("queue list", about, "  queuectl queue list\n  queuectl queue list --json")
    add_format(options_of, QUEUE)
    options = options_of.parse_args(words)
    check_format(options)
    with look_at_queue(options) as queue:
        views = queues.overview(queue)
    if print_documents(options, (view.to_dict() for view in views)):
        return 0
    if views:
        print_queues(views)
    else:
        say("no queues yet: a job makes its own. Try: queuectl enqueue 'echo hello'")
    return 0


def _show(words: list[str]) -> int:
    about = "Show everything about a queue: its jobs, its rules, and until when it is paused."
    options = _of_one("show", about, "  queuectl queue show mail").parse_args(words)
    with look_at_queue(options) as queue:
        view = queues.find(queue, options.name)
    if options.json:
        print_json(view.to_dict())
    else:
        print_queue(view)
    return 0


def _set(words: list[str]) -> int:
    about = """Lay down limits for a queue, over all workers and machines, and defaults for its jobs.
What is not named stays as it is; none removes a value. A job's own values win over defaults,
which are taken when it is enqueued."""
    examples = """
  queuectl queue set mail --concurrency 4
  queuectl queue set mail --rate 100/min --burst 10
  queuectl queue set reports --timeout 10m --max-retries 1
  queuectl queue set reports --notify 'mail -s "$QUEUECTL_NOTIFY_ID died" ops'
  queuectl queue set mail --concurrency none --rate none"""
    options_of = _of_one("set", about, examples)
    add = options_of.add_argument_group("limits (none: no limit)").add_argument
    add("--concurrency", "-j", metavar="N", help="jobs that run at once")
    add("--rate", metavar="N/TIME", help="jobs that start in a time: 5/s, 100/min, 10/30s")
    add("--burst", metavar="N", help="of the rate, how many at once after a rest (default: a second's worth)")
    add = options_of.add_argument_group("defaults for its jobs (none: as configured)").add_argument
    add("--timeout", metavar="TIME", help="stop a job after this: 90s, 10m; 300%% of its usual time")
    add("--max-retries", "-r", "--retries", metavar="N", help="retries after the first run")
    add("--backoff-strategy", metavar="S", help="exponential, linear or fixed")
    add("--backoff-base", metavar="X", help="wait X**n seconds after the n-th failure")
    add("--backoff-max", metavar="TIME", help="the longest wait between two runs")
    add("--retry-delay", metavar="TIME", help="the wait of linear and fixed backoff")
    add = options_of.add_argument_group("who is told of the end of its jobs").add_argument
    add("--notify", metavar="LINE", help="a command; none: nobody; default: as configured")
    add("--notify-on", metavar="ENDS", help="completed, dead, cancelled, any (default: dead)")
    options = options_of.parse_args(words)
    given = {
        name: value
        for name, value in vars(options).items()
        if value is not None and name not in ("db", "json", "debug", "name")
    }
    with NamingOptions(options, given):
        queues.checked_rules(options.name, given)  # first: a mistake must not make a store
    with open_queue(options) as queue:
        with NamingOptions(options, given):
            rule = queues.configure(queue, options.name, **given)
        if options.json:
            print_json(queues.look(queue, options.name).to_dict())
        else:
            print(f"✓ Queue {options.name}: {rules_in_words(rule) or 'no limits, no defaults of its own'}")
    return 0


def _pause(words: list[str]) -> int:
    about = """Start no more jobs of a queue, on any machine. Those that run go on; new ones may be enqueued.
It ends with `queue resume`, or by itself at the time that is given."""
    examples = """
  queuectl queue pause mail --reason 'server is down'
  queuectl queue pause mail --for 2h
  queuectl queue pause mail --until 'tomorrow 9am'"""
    options_of = _of_one("pause", about, examples)
    options_of.add_argument("--reason", "-m", metavar="TEXT", help="why; shown wherever somebody looks")
    options_of.add_argument("--until", metavar="WHEN", help="its end: +2h, 17:30, 'tomorrow 9am', a date")
    options_of.add_argument("--for", dest="duration", metavar="TIME", help="how long: 30m, 2h")
    options = options_of.parse_args(words)
    with open_queue(options) as queue:
        rule = queues.pause(queue, options.name, reason=options.reason, until=_end(queue, options))
        view = queues.look(queue, options.name)
    if options.json:
        print_json(view.to_dict())
        return 0
    # As of the moment it was stored: some milliseconds later, 2h would read 1h.
    print(f"✓ Queue {view.name} paused until {until(rule, rule.updated_at)}")
    if view.running:
        say(running_in_words(view))
    elif not any(view.counts.values()):
        say(f"note: queue {view.name} has no jobs so far. All queues: queuectl queue list")
    return 0


def _end(queue: Queue, options: argparse.Namespace) -> int | None:
    if options.until is not None and options.duration is not None:
        raise InvalidInput("both --until and --for are given", "give one of the two")
    now = queue.clock.now()
    if options.duration is not None:
        return now + parse_duration(options.duration, what="--for")
    if options.until is None:
        return None
    from queuectl.core.times import parse_when

    return parse_when(options.until, now_ms=now, what="--until")


def _resume(words: list[str]) -> int:
    about = "End the pause of a queue, or its draining: its jobs start again, and it takes new ones."
    options = _of_one("resume", about, "  queuectl queue resume mail").parse_args(words)
    with open_queue(options) as queue:
        before = queues.resume(queue, options.name)
        if options.json:
            print_json(queues.look(queue, options.name).to_dict())
            return 0
    if before.paused or before.draining:
        print(f"✓ Queue {before.name} resumed")
    else:
        say(f"queue {before.name} was neither paused nor draining")
    return 0


def _drain(words: list[str]) -> int:
    about = """Take no new jobs into a queue, and wait until those in it have ended, also the scheduled ones.
It stays closed, also if this command is interrupted, until `queue resume`. The exit code is 124 if the time
was up first."""
    examples = """
  queuectl queue drain mail
  queuectl queue drain mail --timeout 10m
  queuectl queue drain mail --no-wait"""
    options_of = _of_one("drain", about, examples)
    options_of.add_argument("--no-wait", action="store_true", help="only close it")
    options_of.add_argument("--timeout", metavar="TIME", help="wait at most so long: 90s, 10m")
    options = options_of.parse_args(words)
    if options.no_wait and options.timeout is not None:
        raise InvalidInput("--timeout and --no-wait do not go together", "leave one of them out")
    timeout = None if options.timeout is None else parse_duration(options.timeout, what="--timeout") / 1000
    with open_queue(options) as queue:
        queues.drain(queue, options.name)
        view = queues.look(queue, options.name)
        if not options.no_wait and view.unfinished:
            _note_obstacles(view)
            _wait(queue, view.name, timeout)
            view = queues.look(queue, options.name)
    if options.json:
        print_json({**view.to_dict(), "drained": view.draining and not view.unfinished})
    return _drained(view, waited=not options.no_wait, silent=options.json)


def _note_obstacles(view: QueueView) -> None:
    if view.paused:
        say(f"note: queue {view.name} is paused until {until(view.rule, view.now)}")
    if not view.workers:
        say(f"note: no worker serves queue {view.name}, so this will wait. Start one: queuectl worker start")


def _wait(queue: Queue, name: str, timeout: float | None) -> None:
    """Until it is empty, the time is up, or somebody has opened it again: then it may never be empty."""
    progress = can_redraw(sys.stderr)
    shown = None
    try:
        for left in queues.emptying(queue, name, timeout=timeout):
            if not queues.is_draining(queue, name):
                return
            if progress and left and left != shown:
                shown = left
                sys.stderr.write(f"\rdraining {name}: {plural(left, 'job')} left\x1b[K")
                sys.stderr.flush()
    finally:
        if shown is not None:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _drained(view: QueueView, *, waited: bool, silent: bool) -> int:
    reopen = f"Open it again: queuectl queue resume {view.name}"
    if not view.draining:
        say(f"queue {view.name} was opened again meanwhile")
        return 1
    left = [f"{view.counts[s]:,} {s}" for s in ALL if s not in TERMINAL and view.counts[s]]
    if left and waited:
        say(f"the time was up: queue {view.name} still has jobs that have not ended ({', '.join(left)})")
        return TIMED_OUT
    if not silent:
        print(f"✓ Queue {view.name} takes no new jobs; {', '.join(left) or 'all of its jobs have ended'}")
        say(reopen)
    return 0


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "list": _list,
    "show": _show,
    "set": _set,
    "pause": _pause,
    "resume": _resume,
    "drain": _drain,
}
