"""queuectl hold: jobs wait until somebody releases them."""

from __future__ import annotations

from queuectl.cli.acting import Action, act, add_targets
from queuectl.cli.options import open_queue, parser
from queuectl.editing import WAITING, hold, hold_matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """Keep jobs that wait from being run until: queuectl release ID. Running jobs are not touched.
A held job is shown as blocked; it can be changed, cancelled and deleted."""

_EXAMPLES = """
  queuectl hold job1 job2
  queuectl hold --queue mail --yes
  queuectl hold --tag nightly --dry-run
"""


def build_parser() -> Parser:
    result = parser("hold", _ABOUT, _EXAMPLES)
    add_targets(result)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        action = Action("hold", "held", sources=WAITING, one=hold, many=hold_matching, held=False)
        return act(queue, options, action)
