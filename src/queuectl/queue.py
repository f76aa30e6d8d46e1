"""Queue: the use cases. The command line, the HTTP API and Python programs all come through here.

    with Queue.open() as queue:                      # the default store; or a path
        job = queue.enqueue("make report", priority=5, timeout="10m")
        queue.wait([job.id])

It stores and looks; running commands is left to the workers.
"""

from __future__ import annotations

import os
import time

from queuectl import doorbell
from queuectl.arriving import batches_of, bring_in, in_batches, tracing_of
from queuectl.clock import SYSTEM_CLOCK
from queuectl.core import states
from queuectl.core.batches import ids_of
from queuectl.core.spec import Defaults, job_from_fields
from queuectl.errors import InvalidInput, NotFound, QueuectlError, Refused
from queuectl.store.messages import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from queuectl.clock import Clock
    from queuectl.config.settings import Settings
    from queuectl.core.batches import Batch
    from queuectl.core.job import Attempt, Job, NewJob
    from queuectl.store.api import Store
    from queuectl.store.messages import Stats

_REMOVE_CHUNK = 1_000


class Queue:
    """A queue in one store. Not for several threads at once: open one for each."""

    def __init__(self, store: Store, settings: Settings, clock: Clock = SYSTEM_CLOCK) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.caller: Mapping[str, str] = os.environ  # where the trace is named that new jobs belong to

    @classmethod
    def open(cls, url: str | None = None) -> Queue:
        """The queue at `url` (a file), else at QUEUECTL_DB, else in the home. Made if missing."""
        from queuectl.app import open_queue

        return open_queue(url)

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- enqueue --------------------------------------------------------------------------------------------

    def defaults(self, *, cwd: str | None = None) -> Defaults:
        """What a new job gets unless it says otherwise; it runs where it was enqueued."""
        return Defaults(now=self.clock.now(), max_retries=self.settings.max_retries, cwd=cwd or os.getcwd())

    def enqueue(
        self, command: str | Sequence[str] | None = None, *, if_exists: str = "fail", **fields: object
    ) -> Job:
        """Store one job and return it. `command` is a shell line, or a list of words run without a shell.

        `fields` are those of the JSON form: id, queue, priority, max_retries, timeout, run_at, delay, tags,
        env, cwd and so on. The job is durable when this returns.
        """
        if isinstance(command, str):
            fields["command"] = command
        elif command is not None:
            fields["argv"] = list(command)
        job = job_from_fields(fields, self.defaults())
        self.enqueue_jobs([job], if_exists=if_exists)
        assert job.id is not None
        return self.get(job.id)

    def enqueue_many(self, items: Iterable[str | dict[str, object]], *, if_exists: str = "fail") -> list[str]:
        """Store many jobs, all or nothing; each is a shell line or a mapping of fields. Returns their ids."""
        batches = list(batches_of(items, self.defaults()))
        self.enqueue_batches(batches, if_exists=if_exists)
        return [id for batch in batches for id in ids_of(batch)]

    def enqueue_jobs(
        self,
        jobs: Iterable[NewJob],
        *,
        if_exists: str = "fail",
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Store validated jobs in one transaction and wake the workers; returns how many are new."""
        return self.enqueue_batches(in_batches(jobs), if_exists=if_exists, progress=progress)

    def enqueue_batches(
        self,
        batches: Iterable[Batch],
        *,
        if_exists: str = "fail",
        progress: Callable[[int], None] | None = None,
        bulk: bool = False,
    ) -> int:
        """The same, some at a time. `bulk`: so many that they do not belong to the caller's trace."""
        if if_exists not in ("fail", "skip"):
            raise InvalidInput(f"if_exists cannot be {if_exists!r}", "choose fail or skip")
        tracing = tracing_of(self.caller, bulk=bulk)
        if tracing is None:
            return self._enqueue(batches, if_exists, progress)
        with tracing:
            tracing.new = self._enqueue(tracing.marked(batches), if_exists, progress)
            return tracing.new

    def _enqueue(
        self, batches: Iterable[Batch], if_exists: str, progress: Callable[[int], None] | None
    ) -> int:
        new = bring_in(batches, self.store, self.clock, skip=if_exists == "skip", progress=progress)
        doorbell.announce(self.store, doorbell.JOB)
        return new

    # --- look -----------------------------------------------------------------------------------------------

    def get(self, id: str) -> Job:
        job = self.store.get(id) if _is_text(id) else None
        if job is None:
            raise NotFound(f"there is no job {id[:128]!r}", "queuectl list shows the jobs")
        return job

    def list(
        self,
        *,
        filter: JobFilter | None = None,
        limit: int = 100,
        after: Job | None = None,
        offset: int = 0,
        sort: str = "created",
        descending: bool = False,
    ) -> Sequence[Job]:
        """A page of jobs, oldest first unless told otherwise."""
        return self.store.page(
            filter or JobFilter(),
            limit=limit,
            after=None if after is None else after.seq,
            offset=offset,
            sort=sort,
            descending=descending,
        )

    def attempts(self, job: Job) -> Sequence[Attempt]:
        """Every attempt at a job, oldest first."""
        return self.store.attempts(job.seq)

    def stats(self, *, window_ms: int = 300_000, queue: str | None = None) -> Stats:
        """Jobs by state, the oldest waiting one, and what ended in the last minutes."""
        return self.store.stats(self.clock.now(), window_ms=window_ms, queue=queue)

    def wait(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: JobFilter | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Until these jobs have ended; False if the time was up first. Says nothing about success."""
        if ids is not None and not ids:
            return True  # an empty filter would mean all jobs
        for id in ids or ():
            self.get(id)
        wanted = filter or JobFilter(ids=tuple(ids or ()))
        for _ in self.watch(wanted, timeout=timeout):
            pass
        return self.store.unfinished(wanted) == 0

    def watch(self, filter: JobFilter, *, timeout: float | None = None) -> Iterator[int]:
        """How many of these jobs have not ended, again whenever the store changes, until none is left."""
        deadline = None if timeout is None else self.clock.monotonic() + timeout
        while True:
            # Taken before the count: the last finish may come right after it.
            seen = self.store.changed()
            began = self.clock.monotonic()
            left = self.store.unfinished(filter)
            # Counting takes the workers' time: it may have a fiftieth of it, however many jobs there are.
            pause = min(max(0.005, 50 * (self.clock.monotonic() - began)), 0.5)
            yield left
            if not left or not self.wait_for_change(deadline, seen=seen, pause=pause):
                return

    def wait_for_change(
        self, deadline: float | None = None, *, seen: int | None = None, pause: float = 0.005
    ) -> bool:
        """True when somebody has written to the store; False when the monotonic deadline has passed.

        `seen` is `store.changed()` from before the caller looked, so that nothing slips in between.
        """
        seen = self.store.changed() if seen is None else seen
        while deadline is None or self.clock.monotonic() < deadline:
            time.sleep(pause)
            if self.store.changed() != seen:
                return True
            pause = min(pause * 1.2, 0.1)
        return False

    # --- act ------------------------------------------------------------------------------------------------

    def cancel(self, id: str) -> str:
        """Stop a job; 'cancelled' if it was waiting, 'cancelling' if its worker is now ending it."""
        job = self.get(id)
        done, asked = self.store.cancel(JobFilter(ids=(id,)), self.clock.now())
        self.store.settle(self.clock.now())
        if asked:
            doorbell.announce(self.store, doorbell.CONTROL)
            return "cancelling"
        if not done:
            raise Refused(f"job {id} is {self.get(id).state}", "it has ended already")
        return job.state and "cancelled"

    def cancel_matching(self, filter: JobFilter) -> int:
        done, asked = self.store.cancel(filter, self.clock.now())
        self.store.settle(self.clock.now())
        if asked:
            doorbell.announce(self.store, doorbell.CONTROL)
        return done + asked

    def retry(self, id: str, *, sources: tuple[str, ...] = states.RETRYABLE) -> Job:
        """Run a dead, cancelled or failed job again now, with all its attempts anew."""
        if not self.retry_matching(JobFilter(ids=(id,)), sources=sources):
            job = self.get(id)
            raise Refused(f"job {id} is {job.state}", "only these can be retried: " + ", ".join(sources))
        return self.get(id)

    def retry_matching(self, filter: JobFilter, *, sources: tuple[str, ...] = states.RETRYABLE) -> int:
        changed = self.store.retry(filter, self.clock.now(), sources=sources)
        self.store.settle(self.clock.now())
        if changed:
            doorbell.announce(self.store, doorbell.JOB)
        return changed

    def remove(self, id: str) -> None:
        """Delete a job that is not running, with its attempts and output."""
        if not self.remove_matching(JobFilter(ids=(id,))):
            job = self.get(id)
            raise Refused(f"job {id} is {job.state}", f"stop it first: queuectl cancel {id}")

    def remove_matching(self, filter: JobFilter, *, sources: tuple[str, ...] = states.REMOVABLE) -> int:
        """Delete in chunks, so that nobody waits long for the write lock."""
        # First: who waits for these shall hear how they ended, not that they are gone.
        self.store.settle(self.clock.now())
        removed = self._in_chunks(lambda: self.store.remove(filter, sources=sources, limit=_REMOVE_CHUNK))
        self.store.settle(self.clock.now())
        return removed

    def cleanable(self, state: str, *, older_than_ms: int = 0, keep: int = 0) -> int:
        """How many jobs `cleanup` would delete."""
        return self.store.ended_before(_ended(state), self._before(older_than_ms), keep=keep)

    def cleanup(self, state: str, *, older_than_ms: int = 0, keep: int = 0) -> int:
        """Delete jobs that ended in `state` longer ago than this, but for the `keep` newest of each queue."""
        _ended(state)
        # First: who waits for these shall hear how they ended; until then they stay.
        self.store.settle(self.clock.now())
        before = self._before(older_than_ms)
        return self._in_chunks(lambda: self.store.purge(state, before, limit=_REMOVE_CHUNK, keep=keep))

    def _before(self, older_than_ms: int) -> int:
        return self.clock.now() - older_than_ms + (0 if older_than_ms else 1)

    def _in_chunks(self, delete: Callable[[], tuple[int, Sequence[str]]]) -> int:
        from queuectl.logfiles import delete_log

        total = 0
        while True:
            count, logs = delete()
            for name in logs:
                delete_log(self.store.location.logs_dir, name)
            total += count
            if count < _REMOVE_CHUNK:
                return total

    # --- settings -------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._settings = settings
        self.store.follow(settings)

    def set_config(self, key: str, value: str | None) -> None:
        """Store a setting for all who use this store (None: remove it) and tell the workers."""
        from queuectl.config.sources import find_key, load, to_stored

        name = find_key(key).name
        text = None if value is None else to_stored(key, value)[1]
        stored = self.store.stored_config()
        stored.pop(name, None)
        if text is not None:
            stored[name] = text
        self.settings = load(stored)  # refuses a combination that makes no sense before it is stored
        self.store.put_config(name, text, self.clock.now())
        doorbell.announce(self.store, doorbell.CONTROL)

    def reset_config(self) -> int:
        """Remove every stored setting; returns how many there were."""
        from queuectl.config.sources import load

        stored = self.store.stored_config()
        # At once, not one by one: half of two settings that belong together may make no sense.
        self.settings = load({})
        for key in stored:
            self.store.put_config(key, None, self.clock.now())
        doorbell.announce(self.store, doorbell.CONTROL)
        return len(stored)


def _ended(state: str) -> str:
    if state not in states.TERMINAL:
        raise InvalidInput(f"{state} jobs have not ended", "choose from " + ", ".join(states.TERMINAL))
    return state


def _is_text(id: str) -> bool:
    """Bytes that are no UTF-8 come from a command line as surrogates; no store can hold them."""
    try:
        id.encode()
    except UnicodeEncodeError:
        return False
    return True


__all__ = ["JobFilter", "Queue", "QueuectlError"]
