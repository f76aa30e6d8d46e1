"""Starts worker processes, watches them, starts crashed ones again. Knows nothing of jobs or SQL.

When a worker crashes it rings the others' doorbells, so that they free its jobs at once; a lone worker's
successor does that as its first act.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess

from queuectl import doorbell, system
from queuectl.core.backoff import EXPONENTIAL, Backoff, delay_ms
from queuectl.events import emit
from queuectl.failpoints import failpoint
from queuectl.worker.child import NEVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.clock import Clock
    from queuectl.worker.signals import Signals
    from queuectl.worker.wellbeing import Wellbeing

_HEALTHY = 60.0  # seconds; a worker that lived so long had a good start
# The first crash is answered at once, then 1, 2, 4 … up to 60 seconds.
_BACKOFF = Backoff(strategy=EXPONENTIAL, base=2, delay=0, longest=60_000, jitter=0)
_INSIST_AFTER = 10.0  # seconds between the urgent stop request and one that kills

PREFIX = "supervisor-"


class Slot:
    """One worker process that shall exist."""

    __slots__ = ("crashes", "own", "process", "start_at", "started")

    def __init__(self, own: Sequence[str] = ()) -> None:
        self.own = own  # words of its command that no other has
        self.process: subprocess.Popen[bytes] | None = None
        self.crashes = 0
        self.start_at = 0.0
        self.started = 0.0


class Supervisor:
    """Keeps `count` workers alive until they end by themselves or we are told to stop."""

    def __init__(
        self,
        command: Sequence[str],
        count: int,
        run_dir: str,
        clock: Clock,
        signals: Signals,
        own: Sequence[Sequence[str]] = (),
        *,
        wellbeing: Wellbeing,
        feed: int | None = None,
    ) -> None:
        self._command = command
        self._run_dir = run_dir
        self._clock = clock
        self._signals = signals
        self._wellbeing = wellbeing
        self._slots = [Slot(words) for words in own or [()] * count]
        self._feed = feed  # a pipe: each byte lets one more of them begin; its end, that no more shall
        if feed is not None:
            for slot in self._slots:
                slot.start_at = NEVER
        self._forwarded = 0
        self._urged = NEVER  # when the second stop request came
        # Workers hold the reading end: it ends when we do, however we do.
        self._lifeline, self._held = os.pipe()
        self._card = Card(run_dir, command)

    def run(self) -> None:
        while self._slots:
            self._start_due()
            self._sleep()
            self._forward_stops()
            self._collect()
            if os.getpid() == 1:
                self._reap_strangers()
            self._tell()
        self._card.remove()

    def _reap_strangers(self) -> None:
        """In a container we are everybody's last parent: what a killed worker has left behind comes to us."""
        ours = {slot.process.pid for slot in self._slots if slot.process is not None}
        while True:
            try:
                # Only looked at: how one of ours has ended is for `_ended` to find out.
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None or found.si_pid in ours:
                return
            os.waitpid(found.si_pid, 0)

    def _tell(self) -> None:
        """The service manager, if there is one, how our workers are."""
        if self._ending:
            self._wellbeing.stopping()
        workers = [(slot.process.pid if slot.process else None, slot.started) for slot in self._slots]
        self._wellbeing.look(self._clock.monotonic(), workers)

    def _start_due(self) -> None:
        now = self._clock.monotonic()
        for slot in self._slots:
            if slot.process is None and now >= slot.start_at and not self._ending:
                slot.started = now
                try:
                    slot.process = self._spawn(slot)
                except OSError as error:  # the machine has no room for it now
                    self._crashed(slot, "cannot be started", error.strerror or str(error))
                else:
                    failpoint("supervise.spawned")
        self._card.write(len(self._slots), sum(slot.crashes for slot in self._slots))

    def _spawn(self, slot: Slot) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._command, *slot.own, "--lifeline", str(self._lifeline), *self._wellbeing.words()],
            stdin=subprocess.DEVNULL,
            pass_fds=(self._lifeline, *self._wellbeing.passed()),
            process_group=0,  # Ctrl+C is for us; we tell them
        )

    @property
    def _ending(self) -> bool:
        return self._forwarded > 0 or self._signals.retire

    def _sleep(self) -> None:
        waiting = [slot.start_at for slot in self._slots if slot.process is None]
        pause = min([*waiting, self._wellbeing.next_at]) - self._clock.monotonic()
        poll = select.poll()
        for fd in (self._signals.fd, self._wellbeing.fd, self._feed):
            if fd is not None:
                poll.register(fd, select.POLLIN)
        ready = poll.poll(None if pause == NEVER else max(pause, 0) * 1000)
        self._signals.drain()
        if any(fd == self._feed for fd, _ in ready):
            self._take_feed()

    def _take_feed(self) -> None:
        assert self._feed is not None
        held = [slot for slot in self._slots if slot.start_at == NEVER]
        said = os.read(self._feed, 64)
        for slot in held[: len(said)]:
            slot.start_at = 0.0
        if not said:  # whoever replaces workers by ours is done, or gone
            self._slots = [slot for slot in self._slots if slot not in held]
            self._feed = None

    def _forward_stops(self) -> None:
        now = self._clock.monotonic()
        while self._forwarded < self._signals.stops:
            self._forwarded += 1
            if self._forwarded == 2:
                self._urged = now
            # The second is another signal than the first: two of one kind can arrive as one.
            signum = signal.SIGTERM if self._forwarded == 1 else signal.SIGINT
            # A worker that is killed leaves its commands behind, so first it has its time to end them.
            if now - self._urged > _INSIST_AFTER:
                signum = signal.SIGKILL
            for slot in self._slots:
                if slot.process is not None:
                    # Our own child and not reaped yet: the number cannot mean anybody else.
                    slot.process.send_signal(signum)
            failpoint("shutdown.forwarded")

    def _collect(self) -> None:
        for slot in self._slots[:]:
            # One without a process was about to be started again; not any more.
            if self._ending if slot.process is None else self._ended(slot, slot.process):
                self._slots.remove(slot)

    def _ended(self, slot: Slot, process: subprocess.Popen[bytes]) -> bool:
        """Whether this worker is done for good; a crashed one is scheduled to start again."""
        code = process.poll()
        if code is None:
            return False
        if code == 0 or self._ending:
            return True
        how = f"exit code {code}" if code > 0 else system.signal_name(-code)
        failpoint("supervise.crashed")
        self._crashed(slot, f"process {process.pid} ended unexpectedly", how)
        doorbell.ring(self._run_dir, doorbell.RESCUE)
        return False

    def _crashed(self, slot: Slot, what: str, how: str) -> None:
        now = self._clock.monotonic()
        slot.crashes = 1 if now - slot.started > _HEALTHY else slot.crashes + 1
        delay = delay_ms(_BACKOFF, slot.crashes - 2) / 1000 if slot.crashes > 1 else 0.0
        slot.process = None
        slot.start_at = now + delay
        emit("worker.crashed", what=what, how=how, when=f"in {delay:g} s" if delay else "now")


class Card:
    """A supervisor's entry in the run directory; the lock on it says that it lives, whatever its pid."""

    def __init__(self, run_dir: str, command: Sequence[str]) -> None:
        self._command = list(command)  # so that others can start the same again
        self.path = os.path.join(run_dir, f"{PREFIX}{os.getpid()}")
        self._last = ""
        while True:
            self._fd = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            if self._is_in_place():
                return
            os.close(self._fd)  # somebody took it for that of a dead one before we held the lock

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._fd))
        except FileNotFoundError:
            return False

    def write(self, wanted: int, crashes: int) -> None:
        identity = system.identify()
        assert identity is not None
        text = json.dumps(
            {
                "identity": identity.encode(),
                "wanted": wanted,
                "crashes": crashes,
                "command": self._command,
            }
        )
        if text != self._last:
            self._last = text
            # In one piece: who looks between a cut and the writing would see no supervisor.
            os.pwrite(self._fd, text.encode().ljust(os.fstat(self._fd).st_size), 0)

    def remove(self) -> None:
        os.unlink(self.path)
        os.close(self._fd)


def supervisors(run_dir: str) -> list[tuple[system.Identity, dict[str, object]]]:
    """The living supervisors of a store on this machine; cards of dead ones are removed."""
    found = []
    try:
        names = os.listdir(run_dir)
    except FileNotFoundError:
        return []
    for name in names:
        if name.startswith(PREFIX):
            card = _read_card(os.path.join(run_dir, name))
            if card is not None:
                found.append((system.Identity.decode(str(card["identity"])), card))
    return found


def missing(run_dir: str, parents: Sequence[int | None]) -> list[str]:
    """What to tell of workers that crash and are started ever later; `parents` of those that live."""
    found = []
    for identity, card in supervisors(run_dir):
        wanted, crashes = (int(str(card.get(name, 0))) for name in ("wanted", "crashes"))
        lacking = wanted - parents.count(identity.pid)
        if lacking > 0 and crashes > 1:  # after the first crash another is started at once
            found.append(
                f"{lacking} of the {wanted} workers of supervisor {identity.pid} crashed and will be started "
                f"again later ({crashes} crashes so far)"
            )
    return found


def _read_card(path: str) -> dict[str, object] | None:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with open(fd, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = file.read()
            card = json.loads(text) if text else None
            return card if isinstance(card, dict) else None
        # Nobody holds it: its supervisor died without a word.
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
    return None
