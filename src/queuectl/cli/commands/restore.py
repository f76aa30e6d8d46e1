"""queuectl restore: a backup put back, over the present queue or into another place."""

from __future__ import annotations

from queuectl.cli.moving import Bar, rows_in_words
from queuectl.cli.options import parser
from queuectl.cli.output import clean, confirm, plural, print_json, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.keeping import Restored

_ABOUT = """Put a backup back: over the present queue, or into the place that --db names. It is read and
checked first, and put in its place in one step: whatever happens, there is the old queue or the new
one. The old one is kept aside. Refused while workers are active there: queuectl worker stop. Jobs that
were running when the backup was made count as lost with their workers, and run again."""

_EXAMPLES = """
  queuectl restore saved.db
  queuectl restore --db look.db --pause-schedules saved.db
  queuectl restore --db postgresql://user@host/database saved.db
"""


def build_parser() -> Parser:
    result = parser("restore", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add("file", metavar="FILE", help="what queuectl backup has written; an export will do too")
    add("--pause-schedules", action="store_true", help="no schedule fires until it is resumed")
    add("--yes", "-y", action="store_true", help="do not ask")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    from queuectl.keeping import restore

    with Bar() as bar:
        done = restore(
            options.db,
            options.file,
            pause=options.pause_schedules,
            agree=lambda question: confirm(question, yes=options.yes),
            progress=bar,
        )
    if done is None:
        say("nothing was changed")
        return 1
    if options.json:
        print_json(_as_json(done))
    else:
        when = f", made {clean(done.prepared.made_at)}" if done.prepared.made_at else ""
        print(f"✓ {rows_in_words(done.prepared.rows)} restored to {clean(done.target.shown)}{when}")
        _tell(done)
    _warn(done)
    return 0


def _as_json(done: Restored) -> dict[str, object]:
    return {
        "to": done.target.shown,
        "from": done.prepared.origin,
        "made_at": done.prepared.made_at,
        "tables": done.prepared.rows,
        "freed": done.prepared.freed,
        "log_files": done.prepared.log_files,
        "schedules": done.prepared.schedules,
        "replaced": done.aside,
    }


def _tell(done: Restored) -> None:
    if done.prepared.freed:
        said = plural(done.prepared.freed, "job")
        say(f"note: {said} running when the backup was made: as their workers are gone, they run again")
    if done.prepared.log_files:
        say(f"note: {plural(done.prepared.log_files, 'log file')} put back")
    if done.aside:
        say(f"the queue that was there is kept: {done.aside}")


def _warn(done: Restored) -> None:
    """Two queues that fire the same schedules do everything twice."""
    if done.prepared.schedules and not done.same_place:
        whose = f" of {done.prepared.origin}" if done.prepared.origin else ""
        say(
            f"warning: {plural(done.prepared.schedules, 'schedule')}{whose} will fire here too, once workers "
            "start. If the other queue lives on, pause them in one of the two: queuectl schedule pause NAME, "
            "or restore with --pause-schedules"
        )
