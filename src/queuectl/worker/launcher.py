"""Starts commands: the shell, the environment every job gets, pipes for its output.

Everything that can be done beforehand is done beforehand, while other commands run: when a slot gets free,
only the spawn itself is left. A slot that waits is a processor that goes to sleep, and waking it is dear.
"""

from __future__ import annotations

import json
import os
import signal

from queuectl import system
from queuectl.core.chunks import STDERR, STDOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job

_TOKEN = system.TOKEN_VARIABLE.encode()

# What Python ignores would be ignored in the command too: `yes | head` would never end.
_RESET_SIGNALS = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP]


class Launch:
    """A command that is ready to be started."""

    __slots__ = ("_actions", "_reading", "_writing", "argv", "environment", "job")

    def __init__(self, job: Job, argv: list[str], environment: dict[bytes, bytes], null: int) -> None:
        self.job = job
        self.argv = argv
        self.environment = environment
        out_read, out_write = os.pipe2(os.O_CLOEXEC)
        try:
            err_read, err_write = os.pipe2(os.O_CLOEXEC)
        except OSError:
            os.close(out_read)
            os.close(out_write)
            raise
        os.set_blocking(out_read, False)
        os.set_blocking(err_read, False)
        self._reading = {out_read: STDOUT, err_read: STDERR}
        self._writing = (out_write, err_write)
        self._actions = [
            (os.POSIX_SPAWN_DUP2, null, 0),
            (os.POSIX_SPAWN_DUP2, out_write, 1),
            (os.POSIX_SPAWN_DUP2, err_write, 2),
        ]

    def fire(self, shell: str) -> int:
        """Start it; its pid. OSError if it cannot be started."""
        if self.job.argv is None:
            spawn, program = os.posix_spawn, shell
        else:
            spawn, program = os.posix_spawnp, self.argv[0]
        return spawn(
            program,
            self.argv,
            self.environment,
            file_actions=self._actions,
            setpgroup=0,
            setsigmask=(),
            setsigdef=_RESET_SIGNALS,
        )

    def pipes(self) -> dict[int, int]:
        """After the start: the ends to read from, with their streams. The others are the command's alone."""
        for fd in self._writing:
            os.close(fd)
        return self._reading

    def discard(self) -> None:
        for fd in (*self._writing, *self._reading):
            os.close(fd)


class Launcher:
    """Prepares and starts commands, each in the directory it wants."""

    def __init__(self, environment: dict[str, str], shell: str) -> None:
        self.shell = shell
        # As bytes: spawning encodes text anew for every job.
        self._environment = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        self._home_dir = os.getcwd()
        self._away = False
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
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
            self._enter(job.cwd or self._home_dir)
            return launch.fire(self.shell), launch
        except BaseException:
            launch.discard()
            raise

    def _ready(self, job: Job) -> Launch:
        environment = self._environment.copy()
        if job.env:
            for name, value in json.loads(job.env).items():
                environment[name.encode()] = value.encode()
        environment[b"QUEUECTL_JOB_ID"] = job.id.encode()
        environment[b"QUEUECTL_ATTEMPT"] = b"%d" % job.attempts
        environment[b"QUEUECTL_QUEUE"] = job.queue.encode()
        environment[_TOKEN] = job.token.encode()
        if job.cwd:
            environment[b"PWD"] = job.cwd.encode()
        argv = ["sh", "-c", job.command] if job.argv is None else json.loads(job.argv)
        return Launch(job, argv, environment, self._null)

    def _enter(self, directory: str) -> None:
        # posix_spawn cannot change the directory of the child, so we go there ourselves. Nothing in this
        # process uses a relative path. Each time, even for the same name: it may be another directory by now.
        os.chdir(directory)
        self._away = directory != self._home_dir

    def rest(self) -> None:
        """Go back to where we started, so that an idle worker keeps no directory busy."""
        if self._away:
            try:
                self._enter(self._home_dir)
            except OSError:
                self._enter("/")  # it was removed meanwhile

    def close(self) -> None:
        self.prepare([])
        os.close(self._null)
