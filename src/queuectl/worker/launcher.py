"""Makes commands ready and starts them: the shell, the environment every job gets, pipes for its output.

Everything that can be done beforehand is done beforehand, while other commands run: when a slot gets free,
only the spawn itself is left. A slot that waits is a processor that goes to sleep, and waking it is dear.
"""

from __future__ import annotations

import json
import os

from queuectl import system
from queuectl.worker import retry_after
from queuectl.worker.expendable import Expendable
from queuectl.worker.nameless import nameless
from queuectl.worker.pipes import Pipes
from queuectl.worker.spawn import CannotStart, candidates, make_spawner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.core.job import Job
    from queuectl.worker.confinement import Confinement
    from queuectl.worker.limits import Confiner

_OURS = (b"QUEUECTL_JOB_ID", b"QUEUECTL_ATTEMPT", b"QUEUECTL_QUEUE", b"PWD", retry_after.VARIABLE)
_TOKEN = system.TOKEN_VARIABLE.encode()


# By what is no command: JSON that is none, a word that is a number, a NUL byte. All that we store was
# checked, so somebody else wrote it; it must not take the worker along, and with it every other job.
_DAMAGE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)


def _damaged(error: Exception) -> CannotStart:
    return CannotStart(f"its fields in the store are damaged ({error})")


class Launch:
    """A command that is ready to be started."""

    __slots__ = (
        "argv",
        "candidates",
        "confinement",
        "environment",
        "job",
        "keep",
        "pipes",
        "program",
        "stdin",
    )

    def __init__(self, job: Job, program: str, argv: list[bytes], environment: list[bytes]) -> None:
        self.job = job
        self.program = program
        self.argv = argv
        self.environment = environment
        self.candidates = candidates(program, environment)  # where the program may be
        self.keep: tuple[int, ...] = ()  # descriptors that the program inherits beyond the usual three
        self.confinement: Confinement | None = None
        self.pipes = Pipes()
        self.stdin: int | None = None  # a file of its own to read; None: nothing

    def started(self) -> None:
        """What the program has inherited is its alone."""
        for fd in self.keep:
            os.close(fd)
        if self.stdin is not None:
            os.close(self.stdin)
            self.stdin = None

    def discard(self) -> None:
        self.started()
        self.pipes.close((self.pipes.out_read, self.pipes.err_read))
        if self.confinement is not None:
            self.confinement.settle()


class Launcher:
    """Prepares and starts commands, each in the directory it wants."""

    def __init__(self, environment: dict[str, str], shell: str, run_dir: str) -> None:
        self.shell = shell
        self.retry_files = retry_after.RetryFiles(run_dir)
        self.tell: Callable[[Job], dict[str, str]] | None = None  # of each start: variables that win over all
        self._confiner: Confiner | None = None
        encoded = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        # As the kernel takes them: spawning would make the same entries anew for every job.
        self._environment = [k + b"=" + v for k, v in encoded.items() if k not in _OURS]
        self._home_dir = os.getcwd()
        self._home_entry = b"PWD=" + os.fsencode(self._home_dir)
        self._spawner = make_spawner()
        self._expendable = Expendable()
        self._prepared: dict[int, Launch] = {}  # by the identity of their jobs

    def prepare(self, jobs: list[Job]) -> None:
        """Make ready what will be started next, and forget what will not be any more.

        Not what needs pieces of a resource: which ones is known at the start.
        """
        wanted = {id(job): job for job in jobs if job.needs is None}
        prepared = self._prepared
        if prepared.keys() == wanted.keys():
            return
        for key in prepared.keys() - wanted.keys():
            prepared.pop(key).discard()
        for key, job in wanted.items():
            if key not in prepared:
                try:
                    prepared[key] = self._ready(job)
                except CannotStart:
                    continue
                except OSError:
                    return  # no room for pipes now; what is to be said about that is said at the start

    def start(self, job: Job, told: dict[str, str] | None = None) -> tuple[int, Launch]:
        """Start the command of a job; its pid, and the launch whose pipes are to be taken.

        `told`: variables of this start alone.
        """
        launch = self._prepared.pop(id(job), None) or self._ready(job, told)
        try:
            if self.tell is not None:
                launch.environment = _overlay(launch.environment, self.tell(job))
            pid = self._spawn(launch)
        except BaseException:
            launch.discard()
            raise
        launch.started()
        return pid, launch

    def _spawn(self, launch: Launch) -> int:
        job = launch.job
        try:
            if job.input is not None:
                launch.stdin = nameless("queuectl-input", job.input.encode())
            if job.rules is not None:
                self._confine(launch)
            with self._expendable:
                return self._spawner.spawn(launch, job.cwd or self._home_dir)
        except _DAMAGE as error:
            raise _damaged(error) from None

    def _confine(self, launch: Launch) -> None:
        from queuectl.worker.limits import Confiner, limits_of

        limits = limits_of(launch.job)
        if limits:
            if self._confiner is None:
                self._confiner = Confiner(self._environment)
            self._confiner.confine(launch, limits, _TOKEN + b"=" + launch.job.token.encode())

    def _ready(self, job: Job, told: dict[str, str] | None = None) -> Launch:
        try:
            return self._made(job, told)
        except _DAMAGE as error:
            raise _damaged(error) from None

    def _made(self, job: Job, told: dict[str, str] | None) -> Launch:
        environment = [
            *self._environment,
            b"QUEUECTL_JOB_ID=" + job.id.encode(),
            b"QUEUECTL_ATTEMPT=%d" % job.attempts,
            b"QUEUECTL_QUEUE=" + job.queue.encode(),
            _TOKEN + b"=" + job.token.encode(),
            self.retry_files.entry(job.token),
            b"PWD=" + os.fsencode(job.cwd) if job.cwd else self._home_entry,
        ]
        if told:
            environment = _overlay(environment, told)
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
        self._expendable.close()
        self.retry_files.close()
        if self._confiner is not None:
            self._confiner.close()


def _overlay(environment: list[bytes], extra: dict[str, str]) -> list[bytes]:
    """The job's own variables win over those of the worker."""
    names = tuple(name.encode() + b"=" for name in extra)
    kept = [entry for entry in environment if not entry.startswith(names)]
    return kept + [name.encode() + b"=" + value.encode() for name, value in extra.items()]
