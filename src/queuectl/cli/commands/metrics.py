"""queuectl metrics: the numbers for Prometheus."""

from __future__ import annotations

import sys

from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import clean_lines, is_terminal, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """Print the numbers of this moment in the text format of Prometheus, as the dashboard serves
them at /metrics; for a cron job that writes a file for node_exporter, for instance. Needs the extra `web`."""

_EXAMPLES = """
  queuectl metrics
  queuectl metrics --queue mail
  queuectl metrics --json
  queuectl metrics > queuectl.prom.new && mv queuectl.prom.new queuectl.prom
"""


def build_parser() -> Parser:
    result = parser("metrics", _ABOUT, _EXAMPLES)
    result.add_argument("--queue", "-q", metavar="NAME", help="of the queues only this one")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    from queuectl.core.spec import check_queue
    from queuectl.metrics.exposition import document, exposition

    only = None if options.queue is None else check_queue(options.queue)
    with look_at_queue(options) as queue:
        if options.json:
            print_json(document(queue, only=only))
        else:
            text = exposition(queue, only=only).decode("utf-8")
            # A label holds any character of a name; for a program it is escaped as its format wants it.
            sys.stdout.write(clean_lines(text) if is_terminal() else text)
    return 0
