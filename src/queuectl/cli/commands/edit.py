"""queuectl edit: changes jobs that neither run nor have ended."""

from __future__ import annotations

import argparse
import os

from queuectl.cli.acting import Action, act
from queuectl.cli.jobspec import NamingOptions, current_directory, given_fields, note_missing_directory
from queuectl.cli.optionnames import option_of
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import say
from queuectl.cli.selection import number
from queuectl.cli.selectors import IDS_HELP, select
from queuectl.clock import SYSTEM_CLOCK
from queuectl.core.job import PERCENT
from queuectl.core.spec import Defaults
from queuectl.core.times import describe_start
from queuectl.editing import CLEARABLE, EDITABLE, WAITING, Changes, edit, edit_matching
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

_ABOUT = """Change jobs that wait: what they run, when, where and how. What is not named stays as it is;
none removes what a job need not have, as --clear does: --timeout none. Running jobs and those that have
ended are not changed."""

_EXAMPLES = """
  queuectl edit job1 --priority 10 --at "tomorrow 9am"
  queuectl edit job1 --command "make report"
  queuectl edit job1 -- convert "my photo.png" out.jpg
  queuectl edit job1 --memory 2G --timeout none --clear tags
  queuectl edit --in-queue mail --with-tag nightly --max-retries 5 --dry-run
"""

_INTEGERS = number(-(2**62))
_NONE = "none"  # takes away, as with `queue set`
# Tags and variables are lists, and of a notification none says that nobody is told.
_MAY_BE_NONE = tuple(name for name in CLEARABLE if name not in ("tags", "env", "notify", "notify_on"))


def build_parser() -> Parser:
    result = parser("edit", _ABOUT, _EXAMPLES)
    result.add_argument("ids", nargs="*", metavar="ID", help=IDS_HELP)
    _add_filters(result)
    _add_changes(result)
    return result


def _add_filters(parser: Parser) -> None:
    """Those of the other commands, but for --queue and --tag, which say what a job shall get."""
    add = parser.add_argument_group("which jobs").add_argument
    add("--state", "-s", action="append", dest="states", metavar="STATE", help="in this state")
    add("--in-queue", metavar="NAME", help="in this queue")
    add("--with-tag", dest="tag", metavar="T", help="with this tag")
    add("--search", metavar="TEXT", help="with this text in the command or id")
    parser.add_argument("--all", action="store_true", help="all jobs for which it is possible")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _add_changes(parser: Parser) -> None:
    add = parser.add_argument_group("what to change").add_argument
    add("--command", "-c", "--cmd", metavar="LINE", help="the shell line; or give words after --")
    add("--queue", "-q", metavar="NAME", help="move it to this queue")
    add("--priority", "-p", type=_INTEGERS, metavar="N", help="higher runs first")
    add("--delay", metavar="TIME", help="run it that much later than now: 10m, 1h30m")
    add("--at", "--run-at", dest="run_at", metavar="WHEN", help='"2026-12-01 09:00", 17:30, +5s, now')
    add("--max-retries", "-r", "--retries", type=_INTEGERS, metavar="N", help="retries after the first run")
    add(
        "--backoff-base",
        type=_or_none(_decimal),
        metavar="X",
        help="wait X**n seconds after the n-th failure",
    )
    add("--backoff-strategy", metavar="S", help="exponential, linear or fixed")
    add("--backoff-max", metavar="TIME", help="the longest wait between two runs")
    add("--retry-delay", metavar="TIME", help="the wait of linear and fixed backoff")
    add("--timeout", metavar="TIME", help="stop it after this: 90s, 10m; 300%%: of its usual run time")
    add("--tag", "-t", action="append", dest="tags", metavar="T", help="its tags from now on; repeatable")
    add("--env", "-e", action="append", metavar="K=V", help="set a variable; its others stay")
    add("--cwd", metavar="DIR", help="where it runs")
    add("--retry-on", metavar="CODES", help="retry only after these exit codes: 1,2,10-20")
    add("--no-retry-on", metavar="CODES", help="never retry after these")
    add("--ok-codes", metavar="CODES", help="exit codes that mean success, besides 0")
    add("--memory", metavar="SIZE", help="how much memory it may use: 512M, 2G")
    add("--cpu-time", metavar="TIME", help="how much processor time it may use: 1h")
    add("--files", type=_or_none(_INTEGERS), metavar="N", help="how many files it may have open")
    add("--processes", type=_or_none(_INTEGERS), metavar="N", help="how many processes it may have")
    add("--nice", type=_or_none(_INTEGERS), metavar="N", help="its niceness: 10 is modest")
    add("--needs", action="append", metavar="R=N", help="resources of a worker: gpu=1")
    add("--notify", metavar="LINE", help="the command that is told of its end; none: nobody")
    add("--notify-on", metavar="ENDS", help="of which ends: completed, dead, cancelled, any")
    add("--clear", action="append", metavar="FIELD", help="take this away from it: timeout, tags, env, …")


def main(words: list[str]) -> int:
    options = _parse(words)
    fields = _fields(options)
    cwd = current_directory(options) if options.cwd else "/"
    # Before a store is opened, so that none is made for nothing.
    with NamingOptions(options, fields):
        Changes(fields, Defaults(now=SYSTEM_CLOCK.now(), cwd=cwd))
    one = "command" in fields or "argv" in fields
    if one and len(set(options.ids)) != 1:
        raise _one_at_a_time()
    with open_queue(options) as queue:
        if options.cwd:
            note_missing_directory(os.path.join(cwd, options.cwd))
        if one and select(queue, options.ids).several:
            raise _one_at_a_time()
        return act(queue, _targets(options), _changing(Changes(fields, queue.defaults(cwd=cwd))))


def _one_at_a_time() -> InvalidInput:
    return InvalidInput("a command is changed for one job at a time", "give its id and no filter")


def _changing(changes: Changes) -> Action:
    told = changes.run_at is None

    def tell_time(queue: Queue) -> None:
        nonlocal told
        if not told and changes.run_at is not None:
            told = True
            say(describe_start(changes.run_at, now_ms=queue.clock.now()))

    def one(queue: Queue, id: str) -> Job:
        job = edit(queue, id, changes)
        tell_time(queue)
        return job

    def many(queue: Queue, filter: JobFilter) -> int:
        count = edit_matching(queue, filter, changes)
        tell_time(queue)
        return count

    return Action("change", "changed", sources=WAITING, one=one, many=many, example="--in-queue mail")


def _parse(words: list[str]) -> argparse.Namespace:
    """What comes after -- is the command, in the forms that `enqueue` takes."""
    ours, command = words, []
    if "--" in words:
        position = words.index("--")
        ours, command = words[:position], words[position + 1 :]
    options = build_parser().parse_args(ours)
    if command and options.command is not None:
        raise InvalidInput("both --command and words are given", "give one of the two")
    if len(command) == 1:
        options.command = command[0]
    elif command:
        options.argv = command
    return options


def _fields(options: argparse.Namespace) -> dict[str, object]:
    fields = _without_nones(given_fields(options))
    for word in ",".join(options.clear or []).split(","):
        name = word.strip().replace("-", "_")
        name = {"tag": "tags"}.get(name, name)
        if not name:
            continue
        if name not in CLEARABLE:
            wrong = "a job always has that" if name in EDITABLE else "a job has no such field"
            raise InvalidInput(f"--clear {word.strip()[:60]}: {wrong}", "choose from " + _clearable())
        if fields.get(name) is not None:
            raise InvalidInput(f"{option_of(name)} is both given and taken away", "do one of the two")
        fields[name] = None
    if not fields:
        names = [option_of(name) for name in EDITABLE if name not in ("argv", PERCENT)]
        raise InvalidInput(
            "nothing to change", "like --priority 10; what can be changed: " + ", ".join(names)
        )
    return fields


def _without_nones(fields: dict[str, object]) -> dict[str, object]:
    """The word none in place of a value takes it away."""

    def is_none(name: str, value: object) -> bool:
        text = ",".join(value) if isinstance(value, list) else value
        return name in _MAY_BE_NONE and isinstance(text, str) and text.strip().lower() == _NONE

    return {name: None if is_none(name, value) else value for name, value in fields.items()}


def _clearable() -> str:
    return ", ".join(option_of(name).removeprefix("--") for name in CLEARABLE if name != PERCENT)


def _targets(options: argparse.Namespace) -> argparse.Namespace:
    """The same options, with the filter under the names that other commands have for it."""
    names = ("ids", "states", "tag", "search", "all", "yes", "dry_run", "json")
    chosen = {name: getattr(options, name) for name in names}
    return argparse.Namespace(queue=options.in_queue, **chosen)


def _or_none(parse: Callable[[str], float]) -> Callable[[str], float | str]:
    return lambda text: _NONE if text.strip().lower() == _NONE else parse(text)


def _decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number") from None
