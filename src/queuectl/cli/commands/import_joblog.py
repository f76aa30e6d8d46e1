"""queuectl import-joblog: what GNU parallel has not succeeded at becomes jobs."""

from __future__ import annotations

import io

from queuectl.cli.jobspec import current_directory
from queuectl.cli.options import parser
from queuectl.cli.takeover import add_options, check_prefix, read_file, take_over
from queuectl.core.joblog import plan_of, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """Take over from GNU parallel: the file that its --joblog wrote. Commands whose last run has
not succeeded become jobs with the ids joblog-1, joblog-2, … after their number. Commands that
parallel had not started yet are not in that file. All or nothing; importing again adds only what is
not there yet."""

_EXAMPLES = """
  queuectl import-joblog run.log --dry-run
  queuectl import-joblog run.log --queue convert --tag night
  queuectl import-joblog run.log --all --prefix again
"""


def build_parser() -> Parser:
    result = parser("import-joblog", _ABOUT, _EXAMPLES)
    add_options(result, "joblog", "command")
    add = result.add_argument
    add("--queue", "-q", metavar="NAME", help="into this queue (default: default)")
    add("--tag", "-t", action="append", dest="tags", metavar="T", help="a tag for each; may be repeated")
    add("--cwd", metavar="DIR", help="where they run (default: here)")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    prefix = check_prefix(options.prefix)
    text = read_file(options.file).decode("utf-8", "surrogateescape")
    # Only \n ends a line: a command may hold other characters that Python takes for one.
    plan = plan_of(read(io.StringIO(text, newline="\n")), prefix=prefix, everything=options.all)
    more = {"queue": options.queue, "tags": options.tags, "cwd": options.cwd}
    for _, fields in plan.jobs:
        fields.update((name, value) for name, value in more.items() if value is not None)
    return take_over(plan, options, current_directory(options))
