"""queuectl copy: the whole queue to another store."""

from __future__ import annotations

from queuectl.cli.moving import Bar, as_json, in_words, logs_note
from queuectl.cli.options import hidden, parser
from queuectl.cli.output import clean, plural, print_json, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.transfer.copy import Copied

_ABOUT = """Copy the whole queue (jobs, attempts with their output, settings) to another store, of the
same engine or another one, and compare both sides by counts and checksums. The source stays as it is;
it must be at rest, so stop its workers first. The target must be empty. A copy that was interrupted
goes on where it stopped when it is started again; until it is finished, nobody can use the target."""

_EXAMPLES = """
  queuectl copy --to postgresql://user@host/database
  queuectl copy --to /backup/queue.db
  queuectl copy --db mysql://user@host/database --to ~/queue.db
  queuectl copy --to /backup/queue.db --restart
"""


def build_parser() -> Parser:
    result = parser("copy", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add("--to", metavar="URL", required=True, help="the target: a file, postgresql://… or mysql://…")
    add("--resume", action="store_true", help="go on with a target that holds the beginning of this queue")
    add("--restart", action="store_true", help="delete what an interrupted copy left, and begin anew")
    hidden(result, "--from", dest="db")
    return result


def main(words: list[str]) -> int:
    from queuectl.app import copy_queue
    from queuectl.errors import InvalidInput

    options = build_parser().parse_args(words)
    if options.resume and options.restart:
        raise InvalidInput("both --resume and --restart are given", "give one of the two")
    if not options.to.strip():
        raise InvalidInput("--to is empty", "like: queuectl copy --to /backup/queue.db")
    with Bar() as bar:
        done, here, there = copy_queue(
            options.db, options.to, resume=options.resume, restart=options.restart, progress=bar
        )
    if options.json:
        print_json(
            {
                "from": here.shown,
                "to": there.shown,
                "tables": as_json(done.seals),
                "logs": {"copied": done.logs, "missing": done.logs_missing},
                "resumed": done.resumed,
                "verified": True,
            }
        )
    else:
        _tell(done, there.shown)
    return 0


def _tell(done: Copied, target: str) -> None:
    print(f"✓ {in_words(done.seals)} copied and verified")
    if done.logs:
        say(f"with them {plural(done.logs, 'log file')} of long output")
    if done.logs_missing:
        say(logs_note(done.logs_missing, "is not on this machine, or was deleted, and was not copied"))
    say(f"note: the jobs are in both places now; start workers only for {clean(target)}")
