"""queuectl top: the live full-screen view."""

from __future__ import annotations

import os
import sys

from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean, is_terminal
from queuectl.errors import InvalidInput, QueuectlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """The live full-screen view: queues, jobs, the log of the chosen one and why it waits. Jobs can be
retried, cancelled, held and deleted from it, queues paused. The key ? shows all keys, q ends it."""

_EXAMPLES = """
  queuectl top
  queuectl --db postgresql://queue@db1/jobs top
"""


def build_parser() -> Parser:
    return parser("top", _ABOUT, _EXAMPLES, json=False)


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    if options.json:
        raise InvalidInput("top is for people and prints no JSON", "use: queuectl status --json")
    _need_terminal()
    _need_textual()
    with open_queue(options) as queue:  # here, so that a store that cannot be opened is told in the usual way
        url = queue.store.location.url
    from queuectl.tui.top import run

    return run(url, clean)


def _need_terminal() -> None:
    """All three: keys come from stdin, and textual draws on stderr."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not all(map(is_terminal, streams)) or os.environ.get("TERM", "dumb") == "dumb":
        raise InvalidInput("top needs a terminal", "elsewhere: queuectl status --watch")


def _need_textual() -> None:
    try:
        import textual  # noqa: F401
    except ModuleNotFoundError as error:
        raise QueuectlError(f"top needs the package {error.name}", "pip install 'queuectl[tui]'") from None
