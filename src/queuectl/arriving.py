"""New jobs on their way into the store: what their queue lays down, and the jobs that follow them."""

from __future__ import annotations

from queuectl.core.job import NewJob
from queuectl.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from queuectl.core.queue_rules import QueueRule
    from queuectl.store.api import Store


def prepared(jobs: Iterable[NewJob], store: Store) -> Iterator[NewJob]:
    """The jobs as they are stored, each followed by those that it brings along."""
    rules = {rule.name: rule for rule in store.queues().all()} if store.has_queue_rules() else {}
    for job in jobs:
        if rules:
            _obey(job, rules.get(job.queue))
        yield job
        if job.conditions is not None and (job.conditions.on_success or job.conditions.on_failure):
            yield from _followers(job)


def _obey(job: NewJob, rule: QueueRule | None) -> None:
    from queuectl.core.queue_rules import apply_defaults

    if rule is None:
        return
    if rule.draining:
        raise Refused(
            f"the queue {job.queue} is drained: it takes no new jobs", f"queuectl queue resume {job.queue}"
        )
    apply_defaults(job, rule, given=("max_retries",) if job.own_retries else ())


def _followers(job: NewJob) -> Iterator[NewJob]:
    from queuectl.core.conditions import FAILURE, SUCCESS, conditions

    assert job.conditions is not None
    for kind, command in ((SUCCESS, job.conditions.on_success), (FAILURE, job.conditions.on_failure)):
        if command is not None:
            follower = NewJob(command, job.max_retries)
            follower.queue, follower.priority = job.queue, job.priority
            follower.cwd, follower.env, follower.tags = job.cwd, job.env, job.tags
            conditions(follower).after.append((kind, job))
            yield follower
