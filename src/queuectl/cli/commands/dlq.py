"""queuectl dlq: the dead letter queue, where jobs go whose retries are used up."""

from __future__ import annotations

from queuectl.cli.acting import act, add_targets
from queuectl.cli.formats import JOB_DOCUMENT, add_format, check_format
from queuectl.cli.listing import add_paging, print_jobs
from queuectl.cli.options import look_at_queue, open_queue, parser, subcommand
from queuectl.cli.output import is_terminal, say
from queuectl.cli.selection import add_filters, filter_from, has_filter, number
from queuectl.cli.selectors import IDS_HELP
from queuectl.core.deaths import without_path
from queuectl.core.states import DEAD
from queuectl.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.acting import Action
    from queuectl.cli.options import Parser
    from queuectl.core.job import Job
    from queuectl.queue import Queue

_ABOUT = """The dead letter queue holds jobs whose retries are used up.

  dlq list     what is in it (also: bare dlq)
  dlq show     one of its jobs, with every attempt
  dlq retry    back to pending, with all attempts anew
  dlq purge    delete from it (also: clear, delete)
  dlq groups   what is in it by cause: command, exit code and last error line"""

_EXAMPLES = """
  queuectl dlq list
  queuectl dlq show job1
  queuectl dlq retry job1
  queuectl dlq retry --all --yes
  queuectl dlq purge --queue mail
  queuectl dlq groups
  queuectl dlq retry --group 26a5094b
"""

_HEADER = ("ID", "STATE", "ATTEMPTS", "LAST ERROR", "COMMAND")
_ERROR_WIDTH = 40  # on a terminal, so that the command has room too; `dlq show` has all of it
_ALIASES = {
    "ls": "list",
    "info": "show",
    "get": "show",
    "clear": "purge",
    "delete": "purge",
    "group": "groups",
}


def build_parser() -> Parser:
    return parser("dlq", _ABOUT, _EXAMPLES)


def main(words: list[str]) -> int:
    name, rest = subcommand(words, tuple(_COMMANDS), "dlq", _ALIASES)
    if name is None and {"-h", "--help"} & set(rest):
        build_parser().parse_args(rest)
    return _COMMANDS[name or "list"](rest)


def _list(words: list[str]) -> int:
    about = "List the jobs in the dead letter queue, the oldest first."
    options_of = parser("dlq list", about, "  queuectl dlq list\n  queuectl dlq list --queue mail")
    add_filters(options_of, state=False, age=True)
    _add_group(options_of)
    add_paging(options_of)
    options = options_of.parse_args(words)
    check_format(options)
    with look_at_queue(options) as queue:
        if options.group is not None:
            from queuectl.cli.groups import list_group

            list_group(queue, options, _HEADER, _row)
            return 0
        wanted = filter_from(options, now=queue.clock.now()).replaced(states=(DEAD,))
        if not print_jobs(queue, wanted, options, header=_HEADER, row=_row):
            say("no dead jobs match" if has_filter(options) else "no dead jobs")
    return 0


def _row(job: Job) -> tuple[str, ...]:
    attempts = f"{job.attempts}/{job.max_retries + 1}"
    error = without_path(job.last_error or "-")
    if is_terminal() and len(error) > _ERROR_WIDTH:
        error = error[: _ERROR_WIDTH - 1] + "…"
    return job.id, job.state, attempts, error, job.command


def _show(words: list[str]) -> int:
    from queuectl.cli.commands.show import show_jobs

    about = "Show jobs of the dead letter queue, with every attempt."
    options_of = parser("dlq show", about, "  queuectl dlq show job1")
    options_of.add_argument("ids", nargs="+", metavar="ID", help=IDS_HELP)
    add_format(options_of, JOB_DOCUMENT)
    options = options_of.parse_args(words)
    check_format(options)
    with look_at_queue(options) as queue:

        def find(id: str) -> Job:
            job = queue.get(id)
            if job.state != DEAD:
                raise Refused(f"job {id} is {job.state}, not dead", f"see: queuectl show {id}")
            return job

        return show_jobs(queue, options, find, among=(DEAD,))


def _retry(words: list[str]) -> int:
    from queuectl.cli.commands.retry import retrying

    about = "Put dead jobs back to pending, with all their attempts anew."
    examples = "  queuectl dlq retry job1\n  queuectl dlq retry --all --yes"
    options_of = parser("dlq retry", about, examples)
    add_targets(options_of, state=False)
    _add_group(options_of)
    options = options_of.parse_args(words)
    with open_queue(options) as queue:
        return _act(queue, options, retrying((DEAD,)))


def _purge(words: list[str]) -> int:
    from queuectl.cli.commands.rm import removing

    about = "Delete dead jobs with their attempts and output: those named, or all. Cannot be undone."
    examples = "  queuectl dlq purge job1\n  queuectl dlq purge --all --yes"
    options_of = parser("dlq purge", about, examples)
    add_targets(options_of, state=False)
    _add_group(options_of)
    options = options_of.parse_args(words)
    chosen = options.ids or options.group is not None or has_filter(options)
    options.all = options.all or not chosen
    with open_queue(options) as queue:
        return _act(queue, options, removing((DEAD,)))


def _act(queue: Queue, options: argparse.Namespace, action: Action) -> int:
    if options.group is None:
        return act(queue, options, action, among=(DEAD,))
    from queuectl.cli.groups import act_on_group

    return act_on_group(queue, options, action)


def _groups(words: list[str]) -> int:
    from queuectl.cli.groups import print_groups

    about = """Sort the dead letter queue by what the jobs died of: the same command, exit code or signal
and last error line, leaving aside the numbers, paths and hashes in them. The largest group comes
first. A group keeps its name, which --group of list, retry and purge takes."""
    examples = "  queuectl dlq groups\n  queuectl dlq groups --queue mail --json"
    options_of = parser("dlq groups", about, examples)
    options_of.add_argument("--queue", "-q", metavar="NAME", help="only of this queue")
    options_of.add_argument("--limit", "-n", type=number(1), metavar="N", help="only the N largest groups")
    options = options_of.parse_args(words)
    with look_at_queue(options) as queue:
        print_groups(queue, options)
    return 0


def _add_group(options_of: Parser) -> None:
    options_of.add_argument("--group", metavar="GROUP", help="of this group, as `dlq groups` names it")


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "list": _list,
    "show": _show,
    "retry": _retry,
    "purge": _purge,
    "groups": _groups,
}
