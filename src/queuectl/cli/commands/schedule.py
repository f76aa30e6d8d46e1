"""queuectl schedule: recurring jobs."""

from __future__ import annotations

import os

from queuectl import schedules
from queuectl.cli.formats import SCHEDULE, add_format, check_format, print_documents
from queuectl.cli.jobspec import (
    NamingOptions,
    add_job_options,
    current_directory,
    fields_from_options,
    note_missing_directory,
    parse_words,
)
from queuectl.cli.options import look_at_queue, open_queue, parser, subcommand
from queuectl.cli.output import print_facts, print_json, print_table, say
from queuectl.cli.selection import number
from queuectl.clock import SYSTEM_CLOCK
from queuectl.core.fields import Defaults
from queuectl.core.recurrence import CATCH_UP, OVERLAP, in_words
from queuectl.core.times import describe_when
from queuectl.documents import schedule_document
from queuectl.errors import InvalidInput, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.core.schedules import Schedule
    from queuectl.queue import Queue

_ABOUT = """Recurring jobs. The workers fire them: each time exactly once, on however many machines.

  schedule add      when, and what: cron fields, @hourly, @daily, @every 10m
  schedule list     all of them (also: bare schedule)
  schedule show     one of them, with its next times
  schedule pause    fire no more; resume goes on with the next time
  schedule resume
  schedule trigger  make a job of it now
  schedule rm       delete it; its jobs stay"""

_EXAMPLES = """
  queuectl schedule add nightly "0 3 * * *" -- pg_dump -f /backup/db.sql db
  queuectl schedule add report "0 9 * * MON-FRI" --tz Europe/Rome "make report"
  queuectl schedule add poll "@every 30s" --timeout 1m "./poll.sh | mail boss"
  queuectl schedule show nightly --next 10
  queuectl schedule trigger nightly
"""

_ADD_ABOUT = """Store a schedule. RECURRENCE has five fields: minute, hour, day, month, weekday; or it is
@hourly, @daily, @weekly, @monthly, @yearly, or @every 10m. Clocks are those of --tz. When they are set
forward, a job at a fixed time that they skip runs right after; when they are set back, it runs once. The id
of each job carries its time: NAME-20261201T030000Z."""

_ALIASES = {"ls": "list", "info": "show", "get": "show", "delete": "rm", "remove": "rm", "run": "trigger"}
_HEADER = ("NAME", "SCHEDULE", "NEXT", "LAST", "FIRED", "COMMAND")
_FIRST_TIMES = 3
_FACTS_WIDTH = 13


def build_parser() -> Parser:
    return parser("schedule", _ABOUT, _EXAMPLES)


def main(words: list[str]) -> int:
    name, rest = subcommand(words, tuple(_COMMANDS), "schedule", _ALIASES)
    if name is None and {"-h", "--help"} & set(rest):
        build_parser().parse_args(rest)
    return _COMMANDS[name or "list"](rest)


# --- add ----------------------------------------------------------------------------------------------------


def add_parser(*, named: bool = True) -> Parser:
    result = parser("schedule add", _ADD_ABOUT, _EXAMPLES)
    if named:
        # Not `name`: that is a field of a job.
        result.add_argument("schedule_name", metavar="NAME", help="its name")
        result.add_argument(
            "recurrence", metavar="RECURRENCE", help='when: "0 3 * * *", @daily, "@every 10m"'
        )
    group = result.add_argument_group("the schedule")
    group.add_argument("--tz", "--zone", dest="tz", metavar="ZONE", help="Europe/Berlin (default: as here)")
    group.add_argument(
        "--catch-up",
        choices=CATCH_UP,
        default="one",
        help="what was missed while no worker ran: skip it, make up for one (default), or for all",
    )
    group.add_argument(
        "--overlap",
        choices=OVERLAP,
        help="if the last job has not ended: skip this one (default), queue it behind (default with "
        "--catch-up all), or allow both to run",
    )
    group.add_argument("--replace", action="store_true", help="lay a schedule of this name down anew")
    add_job_options(result)
    return result


def _parse_add(words: list[str]) -> argparse.Namespace:
    """NAME and RECURRENCE may have options on both sides; what follows is parsed as `enqueue` does it."""
    position = words.index("--") if "--" in words else len(words)
    options = add_parser().parse_args(words[:position])
    rest = options.words
    del options.words
    return parse_words(add_parser(named=False), rest + words[position:], options)


def _add(words: list[str]) -> int:
    options = _parse_add(words)
    if not options.words and options.command is None:
        raise InvalidInput("there is no command", 'like: schedule add nightly "0 3 * * *" -- ./backup.sh')
    cwd = current_directory(options)
    what = (options.schedule_name, options.recurrence, fields_from_options(options))
    rules = {"zone": options.tz, "catch_up": options.catch_up, "overlap": options.overlap}
    # Refused before a store is opened, so that none is made for nothing.
    with NamingOptions(options, what[-1]):
        schedules.described(*what, Defaults(now=SYSTEM_CLOCK.now(), cwd=cwd), **rules)
    with open_queue(options) as queue:
        schedule = schedules.add(queue, *what, **rules, replace=options.replace, cwd=cwd)
        times = schedules.next_times(queue, schedule, _FIRST_TIMES)
        if options.json:
            print_json(schedule_document(schedule, times))
        else:
            print(f"✓ Schedule {schedule.name}: {in_words(schedule.parsed())}")
            for ms in times:
                print(f"  next {describe_when(ms, now_ms=queue.clock.now())}")
        if schedule.paused_at is not None:
            say(f"note: it is paused. Resume it: queuectl schedule resume {schedule.name}")
        if options.cwd:
            note_missing_directory(os.path.join(cwd, options.cwd))
        _warn_without_workers(queue)
    return 0


def _warn_without_workers(queue: Queue) -> None:
    from queuectl.app import living_workers

    try:
        if living_workers(queue.store):
            return
    except StoreError:
        return  # the schedule is stored; whoever cannot be asked now has no say in that
    say("note: no worker is running, so nobody fires schedules. Start one: queuectl worker start")


# --- look ---------------------------------------------------------------------------------------------------


def _list(words: list[str]) -> int:
    about = "List the schedules by name, with their next and last times."
    options_of = parser("schedule list", about, "  queuectl schedule list\n  queuectl schedule --json")
    add_format(options_of, SCHEDULE)
    options = options_of.parse_args(words)
    check_format(options)
    with look_at_queue(options) as queue:
        found = schedules.every(queue)
        if print_documents(options, (schedule.to_dict() for schedule in found)):
            return 0
        if not found:
            say("no schedules")
        else:
            now = queue.clock.now()
            print_table(_HEADER, (_row(schedule, now) for schedule in found))
            _warn_without_workers(queue)
    return 0


def _row(schedule: Schedule, now: int) -> tuple[str, ...]:
    zone = "" if schedule.recurrence.startswith("@every") else f" {schedule.zone}"
    following = "paused" if schedule.paused_at is not None else _short(schedule.next_at, now)
    last = _short(schedule.last_at, now)
    return schedule.name, schedule.recurrence + zone, following, last, str(schedule.fired), _command(schedule)


def _short(ms: int | None, now: int) -> str:
    """A time without its weekday and zone: rows have to fit on a screen."""
    if ms is None:
        return "-"
    words = describe_when(ms, now_ms=now).split(" ")
    return f"{words[1]} {words[2]}"


def _command(schedule: Schedule) -> str:
    try:
        fields = schedule.fields()
    except InvalidInput as error:
        return error.message
    if fields.get("argv") is None:
        return str(fields.get("command", ""))
    from queuectl.core.fields import quote_argv

    return quote_argv([str(word) for word in fields["argv"]])


def _show(words: list[str]) -> int:
    about = "Show a schedule: in words, its rules, what it has done, and its next times."
    options_of = parser("schedule show", about, "  queuectl schedule show nightly --next 10")
    options_of.add_argument("schedule_name", metavar="NAME")
    options_of.add_argument(
        "--next", type=number(0, 1_000), default=5, metavar="N", help="how many next times (default: 5)"
    )
    options = options_of.parse_args(words)
    with look_at_queue(options) as queue:
        schedule = schedules.get(queue, options.schedule_name)
        try:
            times = schedules.next_times(queue, schedule, options.next)
        except InvalidInput:
            times = []  # it is damaged, as its words say
        if options.json:
            print_json(schedule_document(schedule, times))
            return 0
        _print(schedule, times, queue.clock.now())
        if schedule.paused_at is None:
            _warn_without_workers(queue)
    return 0


def _print(schedule: Schedule, times: list[int], now: int) -> None:
    document = schedule.to_dict()
    job = document["job"]
    assert isinstance(job, dict)
    env = job.get("env")
    others = {k: v for k, v in job.items() if k not in ("command", "argv", "cwd", "env")}

    def when(ms: int | None) -> str | None:
        return None if ms is None else describe_when(ms, now_ms=now)

    facts: list[tuple[str, object]] = [
        ("Name", schedule.name),
        ("Schedule", schedule.recurrence),
        ("In words", document["in_words"]),
        ("Time zone", schedule.zone),
        ("Catch-up", schedule.catch_up),
        ("Overlap", schedule.overlap),
        ("Paused", when(schedule.paused_at)),
        ("Command", _command(schedule)),
        ("Directory", job.get("cwd")),
        ("Environment", ", ".join(env) if env else None),
        ("Job", ", ".join(f"{name} {_plain(value)}" for name, value in others.items())),
        ("Fired", f"{schedule.fired:,}"),
        ("Skipped", f"{schedule.skipped:,}"),
        ("Last", when(schedule.last_at)),
        ("Last job", schedule.last_job),
        ("Created", when(schedule.created_at)),
        ("Changed", when(schedule.updated_at)),
    ]
    print_facts(facts, width=_FACTS_WIDTH)
    for place, ms in enumerate(times):
        title = "If resumed:" if schedule.paused_at is not None else "Next:"
        print(f"{title if place == 0 else '':<{_FACTS_WIDTH}}{describe_when(ms, now_ms=now)}")


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


# --- act ----------------------------------------------------------------------------------------------------


def _one(
    name: str, about: str, act: Callable[[Queue, str], Schedule], say_done: Callable[[Schedule, int], str]
) -> Callable[[list[str]], int]:
    def run(words: list[str]) -> int:
        options_of = parser(f"schedule {name}", about, f"  queuectl schedule {name} nightly")
        options_of.add_argument("schedule_name", metavar="NAME")
        options = options_of.parse_args(words)
        with open_queue(options) as queue:
            schedule = act(queue, options.schedule_name)
            if options.json:
                print_json(schedule.to_dict())
            else:
                print(f"✓ Schedule {schedule.name} {say_done(schedule, queue.clock.now())}")
        return 0

    return run


def _resumed(schedule: Schedule, now: int) -> str:
    if schedule.next_at is None:
        return "resumed; it will never fire"
    return f"resumed; next {describe_when(schedule.next_at, now_ms=now)}"


def _trigger(words: list[str]) -> int:
    about = "Make a job of a schedule now, also if it is paused. Its times stay as they are."
    options_of = parser("schedule trigger", about, "  queuectl schedule trigger nightly")
    options_of.add_argument("schedule_name", metavar="NAME")
    options = options_of.parse_args(words)
    with open_queue(options) as queue:
        job = schedules.trigger(queue, options.schedule_name)
        if options.json:
            print_json(job.to_dict())
        else:
            print(f"✓ Job {job.id} enqueued successfully")
    return 0


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "add": _add,
    "list": _list,
    "show": _show,
    "pause": _one(
        "pause",
        "Fire a schedule no more until it is resumed. Jobs that it has made go on.",
        schedules.pause,
        lambda schedule, now: "paused",  # noqa: ARG005
    ),
    "resume": _one(
        "resume",
        "Fire a schedule again, from its next time on: what fell into the pause is not made up for.",
        schedules.resume,
        _resumed,
    ),
    "trigger": _trigger,
    "rm": _one(
        "rm",
        "Delete a schedule. The jobs that it has made stay.",
        schedules.remove,
        lambda schedule, now: "removed",  # noqa: ARG005
    ),
}
