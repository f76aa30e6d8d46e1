"""queuectl explain: why a job does not run and what would change that, or how it ended and why."""

from __future__ import annotations

from queuectl.cli.acting import each
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.core.situation import Explanation

_ABOUT = """Say why a job does not run: every reason, the command that would change it, and when it
changes by itself. Of a job that has ended: what happened, and what would run it again."""

_EXAMPLES = """
  queuectl explain job1
  queuectl explain job1 --json
"""


def build_parser() -> Parser:
    result = parser("explain", _ABOUT, _EXAMPLES)
    result.add_argument("ids", nargs="+", metavar="ID", help="the jobs, by id")
    return result


def main(words: list[str]) -> int:
    from queuectl.explaining import explain_job

    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        found, code = each(options.ids, lambda id: explain_job(queue, id), as_json=options.json)
    if options.json:
        documents = [explanation.to_dict() for explanation in found]
        print_json(documents if len(set(options.ids)) > 1 else documents[0])
        return code
    for number, explanation in enumerate(found):
        if number:
            print()
        _print(explanation)
    return code


def _print(explanation: Explanation) -> None:
    print(clean(explanation.verdict))
    for reason in explanation.reasons:
        print(f"  • {clean(reason.sentence)}")
        if reason.remedy:
            print(f"    try: {clean(reason.remedy)}")
    if explanation.story:
        print("\nWhat happened:")
    for sentence in explanation.story:
        print(f"  {clean(sentence)}")
