"""New jobs on their way into the store: in batches, with ids, what their queue lays down, and followers."""

from __future__ import annotations

from itertools import chain, groupby, islice
from os import environ, urandom

from queuectl.core.batches import Commands, give_ids, has_made, special
from queuectl.core.ids import new_ids
from queuectl.core.job import NewJob
from queuectl.core.spec import Defaults, job_from_fields, jobs_from_commands
from queuectl.errors import DuplicateId, Refused
from queuectl.failpoints import failpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from queuectl.clock import Clock
    from queuectl.core.batches import Batch
    from queuectl.core.queue_rules import QueueRule
    from queuectl.store.api import Store
    from queuectl.tracing.producing import Enqueuing

    T = TypeVar("T")

# Jobs go to the store this many at a time, all in one transaction. Up to READ_AHEAD are read before it
# begins; more are collected beside the store first. A slow producer on stdin never holds the lock.
CHUNK = 1_000
READ_AHEAD = 100_000
_TRACED_BY = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")
_traced: bool | None = None  # whether there is one of them


def bring_in(
    batches: Iterable[Batch],
    store: Store,
    clock: Clock,
    *,
    skip: bool,
    progress: Callable[[int], None] | None,
    most: int = READ_AHEAD,
) -> int:
    """Store new jobs, all in one transaction; returns how many are new. `skip` those whose id exists.

    Jobs beyond `most` are collected beside the store first.
    """
    source = prepared_batches(batches, store)
    first, staged = read_ahead(source, most)
    _name(first, clock)
    enqueue = store.enqueue_staged if staged else store.enqueue
    while True:
        try:
            told = telling(chain(first, _named(source, clock)), progress)
            new = enqueue(told, clock.now(), skip=skip)
            break
        except DuplicateId as error:
            # Two processes can make the same id in the same millisecond, once in 33 million times.
            if staged or not any(has_made(batch, error.id) for batch in first):
                raise
            _name(first, clock, anew=True)
    failpoint("enqueue.acked")
    if staged or any(special(batch) for batch in first):
        store.settle(clock.now())
    return new


def _named(batches: Iterable[Batch], clock: Clock) -> Iterator[Batch]:
    for batch in batches:
        _name([batch], clock)
        yield batch


def _name(batches: Sequence[Batch], clock: Clock, *, anew: bool = False) -> None:
    ids = new_ids(clock.now(), int.from_bytes(urandom(4), "little"))
    for batch in batches:
        give_ids(batch, ids, anew=anew)


def in_batches(jobs: Iterable[T]) -> Iterator[list[T]]:
    source = iter(jobs)
    return iter(lambda: list(islice(source, CHUNK)), [])


def batches_of(items: Iterable[str | dict[str, object]], defaults: Defaults) -> Iterator[Batch]:
    """Jobs as a program describes them: shell lines, and mappings of fields."""
    for kind, alike in groupby(items, type):
        for part in in_batches(alike):
            if issubclass(kind, str):
                yield jobs_from_commands([str(command) for command in part], defaults)
            else:
                yield [job_from_fields(fields, defaults) for fields in part]


def read_ahead(batches: Iterator[Batch], most: int = READ_AHEAD) -> tuple[list[Batch], bool]:
    """The first batches, and whether there may be more."""
    first, count = [], 0
    for batch in batches:
        first.append(batch)
        count += len(batch)
        if count > most:
            return first, True
    return first, False


def tracing_of(caller: Mapping[str, str], *, bulk: bool) -> Enqueuing | None:
    """What traces an enqueue. For most callers nobody does, and that is found out without an import."""
    global _traced  # noqa: PLW0603  # a process is told once, by how it was started
    if _traced is None:
        _traced = any(name in environ for name in _TRACED_BY)
    if not _traced and (bulk or "TRACEPARENT" not in caller):
        return None
    from queuectl.tracing.producing import Enqueuing

    return Enqueuing(caller, bulk=bulk)


def telling(batches: Iterable[Batch], progress: Callable[[int], None] | None) -> Iterator[Batch]:
    """The batches, and to `progress` how many jobs they were so far."""
    done = 0
    for batch in batches:
        yield batch
        done += len(batch)
        if progress is not None:
            progress(done)


def prepared(jobs: Iterable[NewJob], store: Store) -> Iterator[NewJob]:
    """The jobs as they are stored, each followed by those that it brings along."""
    return _with_followers(jobs, _rules(store))


def prepared_batches(batches: Iterable[Batch], store: Store) -> Iterator[Batch]:
    """The same for many at a time."""
    rules = _rules(store)
    for batch in batches:
        if isinstance(batch, Commands):
            _obey(batch.like, rules.get(batch.like.queue))
            yield batch
        elif rules or special(batch):
            yield list(_with_followers(batch, rules))
        else:
            yield batch


def _rules(store: Store) -> dict[str, QueueRule]:
    return {rule.name: rule for rule in store.queues().all()} if store.has_queue_rules() else {}


def _with_followers(jobs: Iterable[NewJob], rules: dict[str, QueueRule]) -> Iterator[NewJob]:
    for job in jobs:
        if rules:
            _obey(job, rules.get(job.queue))
        yield job
        if job.conditions is not None and (job.conditions.on_success or job.conditions.on_failure):
            yield from _followers(job)


def _obey(job: NewJob, rule: QueueRule | None) -> None:
    if rule is None:
        return
    from queuectl.core.queue_rules import apply_defaults

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
