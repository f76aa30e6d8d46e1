"""Runs a tour: a place of its own, real commands in a real shell, and nothing left behind.

What the tour shows is left to `tour`.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from queuectl.cli.options import help_width
from queuectl.cli.output import bold, clean_lines
from queuectl.cli.topicpage import wrapped
from queuectl.errors import QueuectlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from queuectl.cli.tour import Step

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK_EVERY = 0.05  # seconds: how soon a signal is noticed
_LONGEST_STEP = 60.0
_LONGEST_UNTIL = 20.0
_KEPT = ("QUEUECTL_PORTABLE",)  # all else that is set for queues is not for this one

# As a function: what is installed as `queuectl`, if anything, may be another version.
_QUEUECTL = 'queuectl() { %s -u -P -m queuectl "$@"; }\n'

# Waits until whoever started it has ended, in whatever way, and does what is left to do. Somebody killed may
# have been starting workers: those get a moment to come up, or they could not be asked to stop.
_JANITOR = """cat
[ -d "$1" ] || exit
sleep 2
[ -e "$1/home/queue.db" ] && queuectl worker stop --now
rm -rf "$1"
"""


class Interrupted(Exception):
    """Somebody wants it to end."""


class Guide:
    """Signals only set a flag, which is looked at between two looks at a command: so nothing is ever started
    that is not also known, and the end undoes all of it.
    """

    def __init__(self) -> None:
        self.stopped_by: int | None = None  # a signal
        self.place = ""
        self._before: dict[int, Any] = {}
        self._janitor: subprocess.Popen[bytes] | None = None
        self._has_workers = False

    def __enter__(self) -> Guide:
        for number in _STOPS:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup, for instance
                self._before[number] = signal.signal(number, self._stop)
        try:
            self.place = tempfile.mkdtemp(prefix="queuectl-demo-")
            self._janitor = self._start(_JANITOR, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            os.mkdir(os.path.join(self.place, "work"))
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._leave()

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self.stopped_by = number

    def _leave(self) -> None:
        try:
            if self._has_workers:
                self._run("queuectl worker stop --now", heedless=True)
            if self.place:
                shutil.rmtree(self.place)
        finally:
            if self._janitor is not None:
                self._janitor.communicate()  # finds nothing to do, or what we have not got done
            for number, handler in self._before.items():
                signal.signal(number, handler)

    # --- the tour ---------------------------------------------------------------------------------

    def show(self, step: Step) -> None:
        """Say, type, run, and look whether it went as told."""
        if step.about:
            tell(step.about)
        if step.until is not None:
            self._wait_until(*step.until)
        _write(bold(f"$ {step.line}"))
        code, output = self._run(step.line)
        for line in output.splitlines():
            _write(clean_lines(line))
        if code:
            _write(f"(exit code {code})")
        missing = [text for text in step.shows if text not in output]
        if code != step.code or missing:
            what = f"exit code {code}, not {step.code}" if code != step.code else f"no {missing[0]!r}"
            raise QueuectlError(f"this did not go as told: {what}", f"try it yourself: {step.line}")

    def pause(self) -> None:
        """Until Enter, or the end of what is typed."""
        sys.stdout.write("[Enter] ")
        sys.stdout.flush()
        while not select.select([sys.stdin], [], [], _LOOK_EVERY)[0]:
            self.heed()
        if not sys.stdin.readline():
            raise Interrupted

    def heed(self) -> None:
        if self.stopped_by is not None:
            raise Interrupted

    def _wait_until(self, line: str, shows: str) -> None:
        deadline = time.monotonic() + _LONGEST_UNTIL
        while shows not in self._run(line)[1] and time.monotonic() < deadline:
            pass  # each look takes a while by itself

    # --- one command ------------------------------------------------------------------------------

    def _run(self, line: str, *, heedless: bool = False) -> tuple[int, str]:
        """Its exit code and its output. `heedless`: nobody can interrupt it."""
        if not heedless:
            self.heed()
        starting = line.startswith("queuectl worker start")
        self._has_workers |= starting
        folder = os.path.join(self.place, "work")
        process = self._start(line, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            output = self._output_of(process, heedless=heedless or starting)
        finally:
            _end(process)
        return process.returncode, output.decode("utf-8", "replace")

    def _start(
        self, line: str, *, stdin: int, stdout: int, cwd: str | None = None
    ) -> subprocess.Popen[bytes]:
        """In a session of its own: Ctrl+C is for us to act on, not for a command that is starting workers."""
        return subprocess.Popen(
            ["/bin/sh", "-c", _QUEUECTL % shlex.quote(sys.executable) + line, "sh", self.place],
            cwd=cwd,
            env=_environment(self.place),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _output_of(self, process: subprocess.Popen[bytes], *, heedless: bool) -> bytes:
        deadline = time.monotonic() + _LONGEST_STEP
        while True:
            try:
                return process.communicate(timeout=_LOOK_EVERY)[0]
            except subprocess.TimeoutExpired:
                if not heedless:
                    self.heed()
                if time.monotonic() > deadline:
                    raise QueuectlError(
                        "a command of the tour does not end", "is the machine busy?"
                    ) from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """The command and whatever it has started in its session."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def tell(text: str) -> None:
    """A paragraph, as wide as the screen."""
    _write("\n" + "\n".join(wrapped(text, help_width())))


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _environment(place: str) -> dict[str, str]:
    """That of the caller, without what leads to another store, or tells others of this one."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("QUEUECTL_") or k in _KEPT}
    return {
        **kept,
        "QUEUECTL_HOME": os.path.join(place, "home"),
        "OTEL_SDK_DISABLED": "true",
        "NO_COLOR": "1",
    }
