"""queuectl move: jobs go to another queue."""

from __future__ import annotations

from queuectl.cli.acting import Action, act, add_targets
from queuectl.cli.options import open_queue, parser
from queuectl.core.spec import check_queue
from queuectl.editing import WAITING, Changes, edit, edit_matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = "Move jobs that wait to another queue. Running jobs and those that have ended stay where they are."

_EXAMPLES = """
  queuectl move job1 job2 --to slow
  queuectl move --queue mail --to bulk --yes
  queuectl move --tag nightly --to night --dry-run
"""


def build_parser() -> Parser:
    result = parser("move", _ABOUT, _EXAMPLES)
    result.add_argument("--to", required=True, metavar="QUEUE", help="the queue to move them to")
    add_targets(result)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    check_queue(options.to)
    with open_queue(options) as queue:
        changes = Changes({"queue": options.to}, queue.defaults(cwd="/"))
        action = Action(
            "move",
            f"moved to queue {options.to}",
            sources=WAITING,
            one=lambda queue, id: edit(queue, id, changes),
            many=lambda queue, filter: edit_matching(queue, filter, changes),
        )
        return act(queue, options, action)
