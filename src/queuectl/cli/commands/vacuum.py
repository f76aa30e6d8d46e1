"""queuectl vacuum: disk space given back."""

from __future__ import annotations

from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import plural, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.queue import Queue
    from queuectl.tidying import Tidied

_ABOUT = """Give back the disk space that deleted jobs have left: in the store, and log files whose job is
gone. Jobs are not deleted; that is what queuectl cleanup and the keep-… settings do.

A store in a file is written anew (VACUUM), and workers wait for that. While some are active it is given
up, without harm, when it would take longer than a third of their lease: then stop them first. Servers do
this by themselves (autovacuum, reuse of pages); here it is done at once, and workers go on."""

_EXAMPLES = """
  queuectl vacuum --dry-run
  queuectl cleanup --older-than 30d
  queuectl vacuum
"""


def build_parser() -> Parser:
    result = parser("vacuum", _ABOUT, _EXAMPLES)
    result.add_argument("--dry-run", action="store_true", help="only say what could be given back")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    from queuectl.tidying import tidy

    with open_queue(options, create=False) as queue:
        done = tidy(queue, dry_run=options.dry_run)
        if options.json:
            print_json(_as_json(done, dry_run=options.dry_run))
        elif options.dry_run:
            _print_dry(done)
        else:
            _print(queue, done)
    return 0


def _as_json(done: Tidied, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "before": done.before._asdict(),
        "after": done.after._asdict(),
        "log_files": done.log_files,
        "log_bytes": done.log_bytes,
    }


def _print_dry(done: Tidied) -> None:
    from queuectl.core.amounts import show_size

    print(f"would give back about {show_size(done.before.free)} of {show_size(done.before.total)}")
    if done.log_files:
        print(f"would delete {_logs(done)}")


def _print(queue: Queue, done: Tidied) -> None:
    from queuectl.core.amounts import show_size

    given = max(done.before.total - done.after.total, 0)
    sizes = f"{show_size(done.before.total)} before, {show_size(done.after.total)} now"
    kept = " (the server reuses the rest)" if not given and queue.store.compaction().by_itself else ""
    print(f"✓ {show_size(given)} given back: {sizes}{kept}")
    if done.log_files:
        print(f"✓ {_logs(done)} deleted")


def _logs(done: Tidied) -> str:
    from queuectl.core.amounts import show_size

    return f"{plural(done.log_files, 'log file')} of jobs that are gone ({show_size(done.log_bytes)})"
