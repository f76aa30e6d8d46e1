"""queuectl import: a whole queue out of a file of `queuectl export`."""

from __future__ import annotations

import shutil
import sys

from queuectl.cli.moving import Bar, as_json, in_words
from queuectl.cli.options import parser
from queuectl.cli.output import clean, print_json
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from queuectl.cli.options import Parser

_ABOUT = """Read a whole queue from a file that `queuectl export` wrote, into an empty store of any engine.
The file is checked to its end first, then everything is stored in one transaction: all or nothing.
To add jobs to a queue that has some, use queuectl enqueue --file."""

_EXAMPLES = """
  queuectl import queue.jsonl
  gunzip < queue.jsonl.gz | queuectl import
  queuectl import --db postgresql://user@host/database queue.jsonl
"""


def build_parser() -> Parser:
    result = parser("import", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add("file", nargs="?", default="-", metavar="FILE", help="default: stdin, also as -")
    add("--edited", action="store_true", help="the file was edited on purpose: do not compare its checksums")
    return result


def main(words: list[str]) -> int:
    if len(words) > 1 and words[0] in ("pueue", "joblog"):  # `import pueue FILE`
        module = __import__(f"queuectl.cli.commands.import_{words[0]}", fromlist=["main"])
        return int(module.main(words[1:]))
    from queuectl.app import import_queue

    options = build_parser().parse_args(words)
    with _open(options.file) as file, Bar() as bar:
        seals, location = import_queue(options.db, file, edited=options.edited, progress=bar)
    if options.json:
        print_json({"file": options.file, "to": location.shown, "tables": as_json(seals)})
    else:
        print(f"✓ {in_words(seals)} imported and verified: {clean(location.shown)}")
    return 0


def _open(path: str) -> BinaryIO:
    """The file; what comes through a pipe is kept in a file without a name first, to be read twice."""
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput("nothing is piped in", "like: queuectl import queue.jsonl")
        return _kept(sys.stdin.buffer)
    try:
        file = open(path, "rb")  # noqa: SIM115  # the caller closes it
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"cannot read {path!r}: {reason}", "check the path") from None
    if file.seekable():
        return file
    with file:
        return _kept(file)


def _kept(stream: BinaryIO) -> BinaryIO:
    from tempfile import TemporaryFile

    file: BinaryIO = TemporaryFile()  # noqa: SIM115  # the caller closes it
    shutil.copyfileobj(stream, file, 1 << 20)
    return file
