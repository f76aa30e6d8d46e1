"""queuectl dlq: the dead letter queue, where jobs go whose retries are used up."""

from __future__ import annotations

from queuectl.cli.acting import act, add_targets
from queuectl.cli.listing import add_paging, print_jobs
from queuectl.cli.options import open_queue, parser, subcommand
from queuectl.cli.output import is_terminal, say
from queuectl.cli.selection import add_filters, filter_from, has_filter
from queuectl.core.states import DEAD
from queuectl.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.core.job import Job

_ABOUT = """The dead letter queue holds jobs whose retries are used up.

  dlq list     what is in it (also: bare dlq)
  dlq show     one of its jobs, with every attempt
  dlq retry    back to pending, with all attempts anew
  dlq purge    delete from it (also: clear, delete)"""

_EXAMPLES = """
  queuectl dlq list
  queuectl dlq show job1
  queuectl dlq retry job1
  queuectl dlq retry --all --yes
  queuectl dlq purge --queue mail
"""

_HEADER = ("ID", "STATE", "ATTEMPTS", "LAST ERROR", "COMMAND")
_ERROR_WIDTH = 40  # on a terminal, so that the command has room too; `dlq show` has all of it
_ALIASES = {"ls": "list", "info": "show", "get": "show", "clear": "purge", "delete": "purge"}


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
    add_paging(options_of)
    options = options_of.parse_args(words)
    with open_queue(options) as queue:
        wanted = filter_from(options, now=queue.clock.now()).replaced(states=(DEAD,))
        if not print_jobs(queue, wanted, options, header=_HEADER, row=_row):
            say("no dead jobs match" if has_filter(options) else "no dead jobs")
    return 0


def _row(job: Job) -> tuple[str, ...]:
    attempts = f"{job.attempts}/{job.max_retries + 1}"
    error = job.last_error or "-"
    if is_terminal() and len(error) > _ERROR_WIDTH:
        error = error[: _ERROR_WIDTH - 1] + "…"
    return job.id, job.state, attempts, error, job.command


def _show(words: list[str]) -> int:
    from queuectl.cli.commands.show import show_jobs

    about = "Show jobs of the dead letter queue, with every attempt."
    options_of = parser("dlq show", about, "  queuectl dlq show job1")
    options_of.add_argument("ids", nargs="+", metavar="ID")
    options = options_of.parse_args(words)
    with open_queue(options) as queue:

        def find(id: str) -> Job:
            job = queue.get(id)
            if job.state != DEAD:
                raise Refused(f"job {id} is {job.state}, not dead", f"see: queuectl show {id}")
            return job

        return show_jobs(queue, options, find)


def _retry(words: list[str]) -> int:
    from queuectl.cli.commands.retry import retrying

    about = "Put dead jobs back to pending, with all their attempts anew."
    examples = "  queuectl dlq retry job1\n  queuectl dlq retry --all --yes"
    options_of = parser("dlq retry", about, examples)
    add_targets(options_of, state=False)
    options = options_of.parse_args(words)
    with open_queue(options) as queue:
        return act(queue, options, retrying((DEAD,)))


def _purge(words: list[str]) -> int:
    from queuectl.cli.commands.rm import removing

    about = "Delete dead jobs with their attempts and output: those named, or all. Cannot be undone."
    examples = "  queuectl dlq purge job1\n  queuectl dlq purge --all --yes"
    options_of = parser("dlq purge", about, examples)
    add_targets(options_of, state=False)
    options = options_of.parse_args(words)
    options.all = options.all or not (options.ids or has_filter(options))
    with open_queue(options) as queue:
        return act(queue, options, removing((DEAD,)))


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "list": _list,
    "show": _show,
    "retry": _retry,
    "purge": _purge,
}
