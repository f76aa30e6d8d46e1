"""queuectl backup: the queue of this moment in a file, while its workers go on."""

from __future__ import annotations

from queuectl.cli.moving import Bar, logs_note, rows_in_words
from queuectl.cli.options import parser
from queuectl.cli.output import clean, plural, print_json, say
from queuectl.cli.selection import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.transfer.backup import BackedUp

_ABOUT = """Write the queue as it is at this moment into a file: jobs, attempts with their output,
settings, queues and schedules. Workers go on meanwhile. The file is private, checked, and stands under
its name only when it is whole. A store in a file becomes a SQLite file, one on a server an export (JSON
lines). Long output lies in log files: they come along with --logs, as one tar. In a directory the
backup gets a name with a date and a mark of the store; --keep deletes only backups with the same mark."""

_EXAMPLES = """
  queuectl backup today.db
  queuectl backup --logs everything.tar
  queuectl backup /backup/ --keep 14
  queuectl schedule add backup @daily -- queuectl backup /backup/ --keep 14
"""


def build_parser() -> Parser:
    result = parser("backup", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add("file", metavar="FILE", help="a file that does not exist yet, or a directory: DIR/")
    add("--logs", action="store_true", help="with the log files of this machine, as a tar")
    add(
        "--keep",
        type=number(1),
        default=0,
        metavar="N",
        help="in a directory: delete all but the N newest of it",
    )
    add("--force", action="store_true", help="replace a file that exists")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    from queuectl.keeping import make_backup

    with Bar() as bar:
        done = make_backup(
            options.db,
            options.file,
            logs=options.logs,
            force=options.force,
            keep=options.keep,
            progress=bar,
        )
    if options.json:
        print_json(_as_json(done))
    else:
        _print(done, logs=options.logs)
    return 0


def _as_json(done: BackedUp) -> dict[str, object]:
    return {
        "file": done.file,
        "size": done.size,
        "tables": done.rows,
        "processing": done.processing,
        "logs": done.logs,
        "logs_left_out": done.logs_left_out,
        "deleted": done.deleted,
    }


def _print(done: BackedUp, *, logs: bool) -> None:
    from queuectl.core.amounts import show_size

    print(f"✓ {rows_in_words(done.rows)} backed up to {clean(done.file)} ({show_size(done.size)})")
    if done.processing:
        say(f"note: {plural(done.processing, 'job')} running now; restored, they run again")
    if done.logs:
        say(f"note: with the log files of {plural(done.logs, 'attempt')}")
    if done.logs_left_out:
        why = "is not in it: its log files are on other machines, or gone"
        without = "is in log files, which are not in it (see --logs)"
        say(logs_note(done.logs_left_out, why if logs else without))
    if done.deleted:
        say(f"{plural(len(done.deleted), 'older backup')} deleted")
