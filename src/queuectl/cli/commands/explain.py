"""queuectl explain: why a job does not run and what would change that, or how it ended and why."""

from __future__ import annotations

from queuectl.cli.acting import each_selected
from queuectl.cli.deathreport import print_death
from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import clean, pasteable, print_json, print_prose
from queuectl.cli.selectors import IDS_HELP

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
    result.add_argument("ids", nargs="+", metavar="ID", help=IDS_HELP)
    return result


def main(words: list[str]) -> int:
    from queuectl.explaining import explain_job
    from queuectl.postmortem import death_of_explained, explanation_document

    options = build_parser().parse_args(words)
    with look_at_queue(options) as queue:
        found, code, several = each_selected(queue, options, lambda id: explain_job(queue, id))
        for one in found:
            _make_pasteable(one)
        deaths = {one.job.id: death_of_explained(queue, one) for one in found}
    if options.json:
        documents = [explanation_document(one, deaths[one.job.id]) for one in found]
        print_json(documents if several else documents[0])
        return code
    for number, explanation in enumerate(found):
        if number:
            print()
        _print(explanation)
        died = deaths[explanation.job.id]
        if died is not None:
            print_death(*died)
    return code


def _make_pasteable(explanation: Explanation) -> None:
    """Of the story only what is ours: the rest quotes what commands have said."""
    for reason in explanation.reasons:
        reason.remedy = reason.remedy and pasteable(reason.remedy)
    ours = f"; see: queuectl show {explanation.job.id}"
    explanation.story = [pasteable(told) if told.endswith(ours) else told for told in explanation.story]


def _print(explanation: Explanation) -> None:
    print_prose(clean(explanation.verdict))
    for reason in explanation.reasons:
        print_prose(f"  • {clean(reason.sentence)}", indent=4)
        if reason.remedy:
            print(f"    try: {clean(reason.remedy)}")
    if explanation.story:
        print("\nWhat happened:")
    for sentence in explanation.story:
        print_prose(f"  {clean(sentence)}", indent=4)
