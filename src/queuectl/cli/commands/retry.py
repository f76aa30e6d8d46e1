"""queuectl retry: dead, cancelled and failed jobs run again."""

from __future__ import annotations

from queuectl.cli.acting import Action, act, add_targets
from queuectl.cli.options import open_queue, parser
from queuectl.core import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

_ABOUT = "Put dead, cancelled or failed jobs back to pending at once, with all their attempts anew."

_EXAMPLES = """
  queuectl retry job1 job2
  queuectl retry --state dead --queue mail
  queuectl retry --all --dry-run
"""


def build_parser() -> Parser:
    result = parser("retry", _ABOUT, _EXAMPLES)
    add_targets(result)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        return act(queue, options, retrying(states.RETRYABLE))


def retrying(sources: tuple[str, ...]) -> Action:
    """The action; the dead letter queue allows it for dead jobs alone."""

    def one(queue: Queue, id: str) -> Job:
        queue.get(id)
        return queue.retry(id, sources=sources)

    def many(queue: Queue, filter: JobFilter) -> int:
        return queue.retry_matching(filter, sources=sources)

    return Action("retry", "moved back to pending queue", sources=sources, one=one, many=many)
