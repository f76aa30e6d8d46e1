"""queuectl edit: changes jobs that neither run nor have ended."""

from __future__ import annotations

import argparse

from queuectl.cli.acting import Action, act
from queuectl.cli.jobspec import current_directory, given_fields
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import say
from queuectl.cli.selection import number
from queuectl.clock import SYSTEM_CLOCK
from queuectl.core.spec import Defaults
from queuectl.core.times import describe_when
from queuectl.editing import CLEARABLE, EDITABLE, WAITING, Changes, edit, edit_matching
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

_ABOUT = """Change jobs that wait: what they run, when, where and how. What is not named stays as it is.
Running jobs and those that have ended are not changed."""

_EXAMPLES = """
  queuectl edit job1 --priority 10 --at "tomorrow 9am"
  queuectl edit job1 --command "make report"
  queuectl edit job1 -- convert "my photo.png" out.jpg
  queuectl edit job1 --memory 2G --clear timeout,tags
  queuectl edit --in-queue mail --with-tag nightly --max-retries 5 --dry-run
"""

_INTEGERS = number(-(2**62))


def build_parser() -> Parser:
    result = parser("edit", _ABOUT, _EXAMPLES)
    result.add_argument("ids", nargs="*", metavar="ID", help="the jobs, by id")
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
    add("--backoff-base", type=_decimal, metavar="X", help="wait X**n seconds after the n-th failure")
    add("--backoff-strategy", metavar="S", help="exponential, linear or fixed")
    add("--backoff-max", metavar="TIME", help="the longest wait between two runs")
    add("--retry-delay", metavar="TIME", help="the wait of linear and fixed backoff")
    add("--timeout", metavar="TIME", help="stop it after this: 90s, 10m")
    add("--tag", "-t", action="append", dest="tags", metavar="T", help="its tags from now on; repeatable")
    add("--env", "-e", action="append", metavar="K=V", help="set a variable; its others stay")
    add("--cwd", metavar="DIR", help="where it runs")
    add("--retry-on", metavar="CODES", help="retry only after these exit codes: 1,2,10-20")
    add("--no-retry-on", metavar="CODES", help="never retry after these")
    add("--ok-codes", metavar="CODES", help="exit codes that mean success, besides 0")
    add("--memory", metavar="SIZE", help="how much memory it may use: 512M, 2G")
    add("--cpu-time", metavar="TIME", help="how much processor time it may use: 1h")
    add("--files", type=_INTEGERS, metavar="N", help="how many files it may have open")
    add("--processes", type=_INTEGERS, metavar="N", help="how many processes it may have")
    add("--nice", type=_INTEGERS, metavar="N", help="its niceness: 10 is modest")
    add("--needs", action="append", metavar="R=N", help="resources of a worker: gpu=1")
    add("--clear", action="append", metavar="FIELD", help="take this away from it: timeout, tags, env, …")


def main(words: list[str]) -> int:
    options = _parse(words)
    fields = _fields(options)
    cwd = current_directory(options) if options.cwd else "/"
    # Before a store is opened, so that none is made for nothing.
    Changes(fields, Defaults(now=SYSTEM_CLOCK.now(), cwd=cwd))
    if ("command" in fields or "argv" in fields) and len(set(options.ids)) != 1:
        raise InvalidInput("a command is changed for one job at a time", "give its id and no filter")
    with open_queue(options) as queue:
        return act(queue, _targets(options), _changing(Changes(fields, queue.defaults(cwd=cwd))))


def _changing(changes: Changes) -> Action:
    told = changes.run_at is None

    def tell_time(queue: Queue) -> None:
        nonlocal told
        if not told and changes.run_at is not None:
            told = True
            say(f"runs {describe_when(changes.run_at, now_ms=queue.clock.now())}")

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
    fields = given_fields(options)
    for word in ",".join(options.clear or []).split(","):
        name = word.strip().replace("-", "_")
        name = {"tag": "tags"}.get(name, name)
        if not name:
            continue
        if name not in CLEARABLE:
            wrong = "a job always has that" if name in EDITABLE else "a job has no such field"
            raise InvalidInput(f"--clear {word.strip()[:60]}: {wrong}", "choose from " + ", ".join(CLEARABLE))
        if name in fields:
            raise InvalidInput(f"{name} is both given and taken away", "do one of the two")
        fields[name] = None
    if not fields:
        raise InvalidInput(
            "nothing to change", "like --priority 10; what can be changed: " + ", ".join(EDITABLE)
        )
    return fields


def _targets(options: argparse.Namespace) -> argparse.Namespace:
    """The same options, with the filter under the names that other commands have for it."""
    names = ("ids", "states", "tag", "search", "all", "yes", "dry_run", "json")
    chosen = {name: getattr(options, name) for name in names}
    return argparse.Namespace(queue=options.in_queue, **chosen)


def _decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number") from None
