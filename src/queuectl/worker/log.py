"""Log lines of a worker, made from events. In the foreground every job, in the background what went wrong."""

from __future__ import annotations

import os

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.durations import format_duration
from queuectl.core.times import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.clock import Clock
    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Report
    from queuectl.worker.logfile import SharedLog

_STDERR = 2


class Log:
    """Subscribes to events; one line each on stderr, in text that no command or id can forge."""

    def __init__(self, clock: Clock, *, verbose: bool, file: SharedLog | None = None) -> None:
        self._clock = clock
        self._verbose = verbose
        self._file = file  # what is behind our stderr, if that is ours

    def __call__(self, name: str, fields: dict[str, object]) -> None:
        if name == "job.ended":
            line = self._job_ended(fields["job"], fields["report"])  # type: ignore[arg-type]
        else:
            line = _LINES.get(name, "").format(**fields) or None
        if line:
            safe = line.encode("unicode_escape").decode() if not line.isprintable() else line
            text = f"{iso(self._clock.now())} {safe}\n".encode()
            try:
                if self._file is None:
                    os.write(_STDERR, text)
                else:
                    self._file.write(text)
            except OSError:
                pass  # a full disk, a closed pipe: nobody reads it, and jobs matter more

    def _job_ended(self, job: Job, report: Report) -> str | None:
        if report.state == states.COMPLETED:
            return f"Job {job.id} completed successfully" if self._verbose else None
        if report.outcome.kind == kinds.UNSTARTED:
            return None
        if report.state == states.DEAD:
            return f"Job {job.id} moved to the dead letter queue: {report.error}"
        if report.state == states.CANCELLED:
            return f"Job {job.id} cancelled"
        if report.state == states.PENDING:
            return f"Job {job.id} given back: {report.error}"
        wait = format_duration(report.run_at - report.outcome.finished_at)
        return f"Job {job.id} failed ({report.error}), attempt {report.attempt}; again in {wait}"


_LINES = {
    "worker.started": "worker {worker} started, {slots} slot(s)",
    "worker.stopping": "worker {worker} is stopping ({how}), {running} job(s) running",
    "worker.stopped": "worker {worker} stopped",
    "worker.orphaned": "worker {worker} lost its supervisor",
    "worker.fenced": "worker {worker} was declared dead; it starts anew",
    "worker.self_fenced": "worker {worker} could not renew its lease; it ends its commands",
    "worker.shortage": "no room for another process ({reason}); waiting",
    "worker.held_off": "claims nothing for now: {reason}",
    "worker.admits": "claims jobs again",
    "worker.cleared": "worker {worker} was given up by others; {processes} process(es) of its jobs ended",
    "worker.outlived": "worker {worker} is gone, but processes of its {jobs} job(s) go on forking",
    "worker.rescued": "worker {worker} is gone; {jobs} job(s) freed",
    "worker.crashed": "worker {what} ({how}); starting another {when}",
    "job.stale": "a result came too late and was ignored (job number {seq})",
    "store.away": "the store cannot be used now: {error}",
    "clock.went_back": "the clock went back{by}; {jobs} failed job(s) would have waited for it",
    "heart.failed": "the heartbeat failed: {error}",
    "schedule.failed": "schedule {schedule} cannot be fired: {error}",
    "tracing.unavailable": "tracing is configured but cannot be done: {reason}",
    "tracing.failed": "traces cannot be exported: {error}",
    "upkeep.purged": "{jobs} old {state} job(s) deleted",
    "upkeep.trimmed": "the output of {attempts} old attempt(s) was dropped (keep-output)",
}
