"""Makes commands ready and starts them: the shell, the environment every job gets, pipes for its output.

Everything that can be done beforehand is done beforehand, while other commands run: when a slot gets free,
only the spawn itself is left. A slot that waits is a processor that goes to sleep, and waking it is dear.
"""

from __future__ import annotations

import json
import os

from queuectl import system
from queuectl.core.chunks import STDERR, STDOUT
from queuectl.worker.spawn import candidates, make_spawner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job

_OURS = (b"QUEUECTL_JOB_ID", b"QUEUECTL_ATTEMPT", b"QUEUECTL_QUEUE", b"PWD")
_TOKEN = system.TOKEN_VARIABLE.encode()


class Launch:
    """A command that is ready to be started."""

    __slots__ = ("_reading", "argv", "candidates", "environment", "err", "job", "out", "program")

    def __init__(self, job: Job, program: str, argv: list[bytes], environment: list[bytes]) -> None:
        self.job = job
        self.program = program
        self.argv = argv
        self.environment = environment
        self.candidates = candidates(program, environment)  # where the program may be
        out_read, self.out = os.pipe()
        try:
            err_read, self.err = os.pipe()
        except OSError:
            os.close(out_read)
            os.close(self.out)
            raise
        os.set_blocking(out_read, False)
        os.set_blocking(err_read, False)
        self._reading = {out_read: STDOUT, err_read: STDERR}

    def pipes(self) -> dict[int, int]:
        """After the start: the ends to read from, with their streams. The others are the command's alone."""
        os.close(self.out)
        os.close(self.err)
        return self._reading

    def discard(self) -> None:
        for fd in (self.out, self.err, *self._reading):
            os.close(fd)


class Launcher:
    """Prepares and starts commands, each in the directory it wants."""

    def __init__(self, environment: dict[str, str], shell: str) -> None:
        self.shell = shell
        encoded = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        # As the kernel takes them: spawning would make the same entries anew for every job.
        self._environment = [k + b"=" + v for k, v in encoded.items() if k not in _OURS]
        self._home_dir = os.getcwd()
        self._spawner = make_spawner()
        self._prepared: list[Launch] = []

    def prepare(self, jobs: list[Job]) -> None:
        """Make ready what will be started next, and forget what will not be any more."""
        for launch in self._prepared[:]:
            if not any(launch.job is job for job in jobs):
                self._prepared.remove(launch)
                launch.discard()
        for job in jobs:
            if not any(launch.job is job for launch in self._prepared):
                try:
                    self._prepared.append(self._ready(job))
                except OSError:
                    return  # no room for pipes now; what is to be said about that is said at the start

    def start(self, job: Job) -> tuple[int, Launch]:
        """Start the command of a job; its pid, and the launch whose pipes are to be taken."""
        launch = None
        for launch in self._prepared:
            if launch.job is job:
                self._prepared.remove(launch)
                break
        else:
            launch = self._ready(job)
        try:
            pid = self._spawner.spawn(launch, job.cwd or self._home_dir)
        except BaseException:
            launch.discard()
            raise
        return pid, launch

    def _ready(self, job: Job) -> Launch:
        environment = [
            *self._environment,
            b"QUEUECTL_JOB_ID=" + job.id.encode(),
            b"QUEUECTL_ATTEMPT=%d" % job.attempts,
            b"QUEUECTL_QUEUE=" + job.queue.encode(),
            _TOKEN + b"=" + job.token.encode(),
            b"PWD=" + os.fsencode(job.cwd or self._home_dir),
        ]
        if job.env:
            environment = _overlay(environment, json.loads(job.env))
        if job.argv is None:
            return Launch(job, self.shell, [b"sh", b"-c", job.command.encode()], environment)
        words = json.loads(job.argv)
        return Launch(job, words[0], [word.encode() for word in words], environment)

    def rest(self) -> None:
        """Go back to where we started, so that an idle worker keeps no directory busy."""
        self._spawner.rest(self._home_dir)

    def close(self) -> None:
        self.prepare([])
        self._spawner.close()


def _overlay(environment: list[bytes], extra: dict[str, str]) -> list[bytes]:
    """The job's own variables win over those of the worker."""
    names = tuple(name.encode() + b"=" for name in extra)
    kept = [entry for entry in environment if not entry.startswith(names)]
    return kept + [name.encode() + b"=" + value.encode() for name, value in extra.items()]
