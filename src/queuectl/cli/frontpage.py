"""What `queuectl` alone shows: how things stand, and what to try next. It only looks: no store is made.

All figures in full are left to `queuectl status`, all commands to `queuectl --help`.
"""

from __future__ import annotations

from queuectl import schedules
from queuectl.cli.crashes import tell_of_crashes
from queuectl.cli.nextsteps import Situation, next_steps
from queuectl.cli.options import Parser, open_queue
from queuectl.cli.output import bold, clean, has_room, paint, pasteable, plural, print_json
from queuectl.core import states
from queuectl.core.durations import format_age
from queuectl.errors import StoreMissing
from queuectl.overview import Overview
from queuectl.paths import is_made, locate
from queuectl.selecting import make_filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuectl.paths import Location
    from queuectl.queue import Queue

# The lines, if there are such jobs: their title, what is said of them, and the state that colours them.
_LINES = (
    ("Running", "", states.PROCESSING),
    ("Failed", ", to be tried again", states.FAILED),
    ("Dead", ", in the dead letter queue", states.DEAD),
    ("Completed", "", states.COMPLETED),
    ("Cancelled", "", states.CANCELLED),
)
_WAITING = {states.PENDING: "ready", states.SCHEDULED: "scheduled", states.BLOCKED: "blocked"}
_TITLE_WIDTH = 11
_MOST_QUEUES = 3  # that are paused
_NEEDED_BY_TOP = "textual"


class _Moment:
    """How things stand, read once; `overview` is None where there is no store."""

    def __init__(self, queue: Queue | None, *, figures: bool = False) -> None:
        self.overview: Overview | None = None
        self.figures: dict[str, object] | None = None
        self.next_firing_ms: int | None = None
        if queue is None:
            self.situation = Situation(dict.fromkeys(states.ALL, 0))
            return
        self.overview = overview = Overview(queue, None)
        if figures:
            self.figures = overview.document()
        firing = [
            schedule.next_at
            for schedule in schedules.every(queue)
            if schedule.paused_at is None and schedule.next_at is not None
        ]
        if firing:
            self.next_firing_ms = max(min(firing) - queue.clock.now(), 0)
        paused = [rule.name for rule in overview.resting if rule.paused_at]
        self.situation = Situation(
            overview.counts,
            workers=overview.workers,
            schedules=len(firing),
            paused=paused,
            stuck=None if paused else _stuck(queue, overview),
            has_top=_has_top(),
        )


def main(words: list[str]) -> int:
    options_of = Parser(prog="queuectl", add_help=False, allow_abbrev=False)
    options_of.add_argument("--db")
    options_of.add_argument("--json", action="store_true")
    options_of.add_argument("--debug", action="store_true")
    options = options_of.parse_args(words)
    location = locate(options.db)
    try:
        if not location.shared and not is_made(location.file):
            raise StoreMissing(f"there is no database at {location.file}")
        with open_queue(options, create=False) as queue:
            moment = _Moment(queue, figures=options.json)
            tell_of_crashes(queue)
    except StoreMissing:
        moment = _Moment(None)
    steps = [(pasteable(f"queuectl {words}"), purpose) for words, purpose in next_steps(moment.situation)]
    if options.json:
        print_json(_document(location, moment, steps))
    else:
        print("\n".join(_page(location, moment, steps)))
    return 0


def _stuck(queue: Queue, overview: Overview) -> str | None:
    """A job that is ready and not taken, though there are workers that run nothing."""
    if not overview.workers or not overview.counts[states.PENDING] or overview.counts[states.PROCESSING]:
        return None
    ready = queue.list(filter=make_filter(now=0, states=[states.PENDING]), limit=1)
    return ready[0].id if ready else None


def _has_top() -> bool:
    from importlib.machinery import PathFinder

    return PathFinder.find_spec(_NEEDED_BY_TOP) is not None


def _document(location: Location, moment: _Moment, steps: list[tuple[str, str]]) -> dict[str, object]:
    empty = {"jobs": moment.situation.counts, "total": 0, "workers": 0}
    return {
        "store": location.shown,
        "exists": moment.overview is not None,
        **(moment.figures or empty),
        "next": [{"command": command, "purpose": purpose} for command, purpose in steps],
    }


def _page(location: Location, moment: _Moment, steps: list[tuple[str, str]]) -> Iterator[str]:
    yield "queuectl, a durable job queue for shell commands"
    yield ""
    yield _line("Store", clean(location.shown))
    if moment.overview is None:
        yield _line("Jobs", "none; the store is made by the first one")
    else:
        yield from _figures(moment.overview)
        if moment.next_firing_ms is not None:
            next_one = f"the next fires in {format_age(moment.next_firing_ms)}"
            yield _line("Schedules", f"{moment.situation.schedules:,}, {next_one}")
    yield ""
    yield bold("Try next:")
    yield from _beside_or_below(steps)
    yield ""
    yield "All commands: queuectl --help"


def _beside_or_below(steps: list[tuple[str, str]]) -> list[str]:
    """What each is for beside it, if the screen has room for that, or else below."""
    width = max(len(command) for command, _ in steps) + 2
    lines = [f"  {clean(command):<{width}}{purpose}" for command, purpose in steps]
    if all(map(has_room, lines)):
        return lines
    return [line for command, purpose in steps for line in (f"  {clean(command)}", f"      {purpose}")]


def _figures(overview: Overview) -> Iterator[str]:
    counts = overview.counts
    workers = f"{plural(overview.slots, 'job')} at once" if overview.workers else ""
    yield _line("Workers", f"{overview.workers:,} running, {workers}" if workers else "none is running")
    waiting = [f"{counts[state]:,} {word}" for state, word in _WAITING.items() if counts[state]]
    if waiting:
        age = "" if overview.oldest_ms is None else f"; the oldest for {format_age(overview.oldest_ms)}"
        yield _line("Waiting", ", ".join(waiting) + age)
    for title, remark, state in _LINES:
        if counts[state]:
            yield _line(title, paint(f"{counts[state]:,}", state) + remark)
    if not overview.total:
        yield _line("Jobs", "none")
    for rule in overview.resting[:_MOST_QUEUES]:
        word = "paused" if rule.paused_at else "takes no new jobs"
        yield _line(
            "Queue", clean(f"{rule.name} {word}" + (f": {rule.pause_reason}" * bool(rule.pause_reason)))
        )
    if len(overview.resting) > _MOST_QUEUES:
        more = len(overview.resting) - _MOST_QUEUES
        yield _line("", pasteable(f"and {more:,} more: queuectl queue list"))


def _line(title: str, text: str) -> str:
    return f"{title:<{_TITLE_WIDTH}}{text}"
