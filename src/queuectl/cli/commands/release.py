"""queuectl release: held jobs may run again."""

from __future__ import annotations

from queuectl.cli.acting import Action, act, add_targets
from queuectl.cli.options import open_queue, parser
from queuectl.core.states import BLOCKED
from queuectl.editing import release, release_matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """Let held jobs go on. Each waits for its time, for the jobs before it or for its group as if it had
not been held; if nothing keeps it, the next worker runs it."""

_EXAMPLES = """
  queuectl release job1 job2
  queuectl release --queue mail --yes
  queuectl release --all --dry-run
"""


def build_parser() -> Parser:
    result = parser("release", _ABOUT, _EXAMPLES)
    add_targets(result, state=False)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        action = Action(
            "release", "released", sources=(BLOCKED,), one=release, many=release_matching, held=True
        )
        return act(queue, options, action)
