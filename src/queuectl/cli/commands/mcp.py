"""queuectl mcp: the queue for coding agents, over the Model Context Protocol."""

from __future__ import annotations

from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean_lines, is_terminal, say
from queuectl.errors import QueuectlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.cli.options import Parser

_ABOUT = """Serve the queue to a coding agent over stdin and stdout (Model Context Protocol), until
stdin is closed. The agent starts it; docs/agents.md shows how to register it. Its tools: run,
enqueue, wait, list, show, logs, explain, cancel, retry, status.
Whoever may enqueue may run any command as you; --read-only offers only the tools that look."""

_EXAMPLES = """
  queuectl mcp
  queuectl mcp --read-only
  queuectl mcp --db ~/project/queue.db
"""


def build_parser() -> Parser:
    result = parser("mcp", _ABOUT, _EXAMPLES, json=False)
    result.add_argument("--read-only", action="store_true", help="only tools that look")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    url = _url(options)
    _need_sdk()
    from queuectl.agents.server import serve

    if is_terminal():
        say("this speaks to a program, not to people: register it with your agent (Ctrl+C ends it)")
    serve(url, clean_lines, read_only=options.read_only)
    return 0


def _url(options: argparse.Namespace) -> str:
    """Where the store is. What is wrong with it is told now, on stderr, and not at the first call."""
    if options.read_only:
        # Who may only look makes none, and need not wait for one to be made.
        from queuectl.paths import locate

        return locate(options.db).url
    with open_queue(options) as queue:
        return queue.store.location.url


def _need_sdk() -> None:
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError as error:
        raise QueuectlError(f"mcp needs the package {error.name}", "pip install 'queuectl[mcp]'") from None
