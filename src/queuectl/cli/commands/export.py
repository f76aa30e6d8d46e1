"""queuectl export: the whole queue as JSON lines."""

from __future__ import annotations

import sys

from queuectl.cli.moving import Bar, as_json, in_words, logs_note
from queuectl.cli.options import parser
from queuectl.cli.output import clean, print_json, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.transfer.export import Exported

_ABOUT = """Write the whole queue (jobs, attempts with their output, settings) as JSON lines, the last
one with counts and checksums. Stop the workers first: the queue must be at rest. The file is private,
since commands and environments may hold secrets, and stands under its name only when it is whole."""

_EXAMPLES = """
  queuectl export queue.jsonl
  queuectl export | gzip > queue.jsonl.gz
  queuectl export --db postgresql://user@host/database queue.jsonl
"""


def build_parser() -> Parser:
    result = parser("export", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="one that does not exist yet (default: stdout, -)",
    )
    add("--force", action="store_true", help="replace a file that exists")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with Bar() as bar:
        if options.file == "-":
            done = _to_stdout(options.db, bar)
        else:
            done = _to_file(options.db, options.file, bar, force=options.force)
    if options.file == "-":
        say(f"✓ {in_words(done.seals)} exported")  # stdout has the data
    elif options.json:
        print_json({"file": options.file, "tables": as_json(done.seals), "logs_left_out": done.logs_left_out})
    else:
        print(f"✓ {in_words(done.seals)} exported to {clean(options.file)}")
    if done.logs_left_out:
        say(logs_note(done.logs_left_out, "lies in log files, which are not part of the export"))
    return 0


def _to_stdout(db: str | None, bar: Bar) -> Exported:
    from queuectl.app import export_queue

    return export_queue(db, sys.stdout.write, progress=bar)


def _to_file(db: str | None, path: str, bar: Bar, *, force: bool) -> Exported:
    from queuectl.app import export_queue
    from queuectl.paths import locate
    from queuectl.transfer.wholefile import WholeFile, refuse_store

    refuse_store(path, locate(db), "an export")
    with WholeFile(path, force=force) as file:
        return export_queue(db, file.write, progress=bar)
