"""queuectl rm: deletes jobs that are not running, with their attempts and output."""

from __future__ import annotations

from queuectl.cli.acting import Action, act, add_targets
from queuectl.cli.options import open_queue, parser
from queuectl.core import states
from queuectl.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

_ABOUT = """Delete jobs that are not running, with their attempts and output. This cannot be undone.
A running job must be stopped first: queuectl cancel ID."""

_EXAMPLES = """
  queuectl rm job1 job2
  queuectl rm --state cancelled
  queuectl rm --tag trial --yes
  queuectl rm --all --dry-run
"""


def build_parser() -> Parser:
    result = parser("rm", _ABOUT, _EXAMPLES)
    add_targets(result)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        return act(queue, options, removing(states.REMOVABLE))


def removing(sources: tuple[str, ...]) -> Action:
    """The action; the dead letter queue allows it for dead jobs alone."""

    def one(queue: Queue, id: str) -> Job:
        job = queue.get(id)
        if job.state not in sources and job.state in states.REMOVABLE:
            raise Refused(f"job {job.id} is {job.state}", "only these can be deleted: " + ", ".join(sources))
        queue.remove(job.id)
        return job

    def many(queue: Queue, filter: JobFilter) -> int:
        return queue.remove_matching(filter, sources=sources)

    return Action("delete", "deleted", sources=sources, one=one, many=many, vanishes=True)
