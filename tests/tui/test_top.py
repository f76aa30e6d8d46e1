"""`queuectl top`, the real program on a real pseudo-terminal: what is seen, what keys do, how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.fake_worker import FakeWorker, err, learned, out
from tests.support.home import Home
from tests.support.terminal import POINTER, Program

from queuectl import queues
from queuectl.queue import Queue
from queuectl.testing import wait_until

QUIT, ESCAPE, CTRL_C, ENTER = "q", "\x1b", "\x03", "\r"


Start = Callable[..., Program]


@pytest.fixture
def start(home: Home) -> Iterator[Start]:
    started: list[Program] = []

    def run(*words: str, width: int = 80, height: int = 24, **more: str) -> Program:
        program = Program(home.env, home.work, *words, width=width, height=height, **more)
        started.append(program)
        return program

    yield run
    for program in started:
        program.close()


def furnished(start: Start, fake_worker: FakeWorker, **more: str) -> Program:
    fake_worker.add_jobs_in_every_state()
    program = start(**more)
    program.see("running", "broken", "mail")
    return program


class TestLooking:
    def test_shows_store_workers_queues_jobs_and_ends_with_0(
        self, start: Start, fake_worker: FakeWorker
    ) -> None:
        top = furnished(start, fake_worker)
        top.see("queuectl top", "1 worker, 1 slot", "all 7", "dead 1", "proc 1")
        top.match(r"^mail +1 +0 +\d+s")
        top.match(r"^processing +running +default +1/4 +\d+s +echo running")
        top.match(r"^dead +broken +default +1/1")
        top.type(QUIT)
        assert top.end() == 0
        assert top.is_restored()
        assert top.screen.unknown == []

    def test_tells_when_all_will_be_done(self, start: Start, fake_worker: FakeWorker, queue: Queue) -> None:
        median = learned(queue, "make", 60)
        for _ in range(30):
            queue.enqueue("make", cwd="/srv")
        start().see(f"0/min, done in ~{median * 30 // 60_000}m")

    def test_says_why_the_chosen_job_waits(self, start: Start, queue: Queue) -> None:
        queue.enqueue("true", id="patient", queue="slow")
        queues.pause(queue, "slow", reason="night")
        top = start()
        top.see("patient", "its queue slow is paused", "queuectl queue resume slow", "paused")

    def test_an_empty_store_says_how_to_begin(self, start: Start) -> None:
        start().see("no jobs yet; try: queuectl enqueue 'echo hello'")

    def test_what_changes_in_the_store_appears(self, start: Start, queue: Queue) -> None:
        top = start()
        top.see("no jobs yet")
        queue.enqueue("true", id="newcomer")
        top.see("newcomer", "all 1")

    @pytest.mark.long
    def test_pages_of_many_jobs(self, start: Start, queue: Queue) -> None:
        queue.enqueue_many([{"command": "true", "id": f"job-{number:03}"} for number in range(150)])
        top = start()
        top.see("job-149", "page 1 · n next")
        top.type("n")
        top.see("job-049", "page 2 · b back", but="job-149")
        top.type("b")
        top.see("job-149", but="job-049")

    def test_without_colours(self, start: Start, fake_worker: FakeWorker) -> None:
        top = furnished(start, fake_worker, NO_COLOR="1")
        top.type(QUIT)
        top.end()
        codes = {code for colours in top.screen.colours for code in colours.split(";")}
        assert codes <= {"", "0", "1", "2", "3", "4", "7", "39", "49"}


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("keys") / "home")
    yield home
    home.close()


@pytest.fixture(scope="module")
def program(shared_home: Home) -> Iterator[Program]:
    with shared_home.queue() as queue:
        FakeWorker(queue).add_jobs_in_every_state()
    program = Program(shared_home.env, shared_home.work)
    yield program
    program.close()


@pytest.fixture
def top(program: Program) -> Program:
    """All jobs are shown, and the cursor is on them."""
    if "filter:" in program.see("COMMAND"):
        program.type(ESCAPE)  # alone: with a key behind it, it would be another key
        program.see("COMMAND", but="filter:")
    program.type("0")
    program.see("running", "broken", "waiting", "mail")
    return program


class TestKeys:
    """Of one program, on a store in which nothing changes: each test leaves the jobs as it found them."""

    def test_numbers_and_s_choose_a_state(self, top: Program) -> None:
        top.type("4")
        top.see("broken", but="waiting")
        top.type("s")
        top.see("done", but="broken")
        top.type("\t\x1b[Z\x1b[Z")  # Tab, and back twice
        top.see("broken", but="waiting")
        top.type("0")
        top.see("broken", "waiting")

    def test_a_filter_narrows_and_escape_clears_it(self, top: Program) -> None:
        top.type("/")
        top.type("echo flaky" + ENTER)
        top.see("filter: echo flaky", "flaky", but="waiting")
        top.type(ESCAPE)
        top.see("waiting", "flaky", but="filter:")
        top.type("/queue:mail tag:night" + ENTER)
        top.see("waiting", "filter: queue:mail tag:night", but="flaky")
        top.type("/nothing-like-this" + ENTER)
        top.see("no jobs match")

    def test_a_filter_that_makes_no_sense_is_told_and_can_be_cleared(self, top: Program) -> None:
        top.type("/state:weird" + ENTER)
        top.see("unknown state 'weird'")
        top.type(ESCAPE)
        top.see("waiting", but="unknown state")

    def test_the_help_comes_and_goes(self, top: Program) -> None:
        top.type("?")
        top.see("next page, back", "pause or resume the queue")
        top.type("q")  # any key
        top.see("broken", but="next page, back")
        assert top.process.poll() is None

    def test_anything_but_y_is_no(self, top: Program, shared_home: Home) -> None:
        top.type("4")
        top.see("broken", but="waiting")
        for key in ("n", ESCAPE, ENTER, "q"):
            top.type("r")
            top.see("retry broken (dead)?")
            top.type(key)
            top.see("COMMAND", but="y / n")
        assert shared_home.state("broken") == "dead"
        assert top.process.poll() is None

    def test_says_what_cannot_be_done(self, top: Program) -> None:
        top.type("5")
        top.see("done", but="waiting")
        top.type("c")
        top.see("done is completed: too late to cancel it")

    def test_a_queue_can_be_chosen_and_entered(self, top: Program) -> None:
        top.type("\x1b[D" + "j" + ENTER)  # left, down: default comes before mail
        top.see("filter: queue:mail", "waiting", but="broken")
        top.type("\x1b[C")  # back to the jobs

    def test_what_is_typed_is_shown_harmless_too(self, top: Program) -> None:
        top.type("/")
        top.type("\x1b[200~a[red]b\u202ec\x1b[201~" + ENTER)  # a paste
        top.see(r"filter: a[red]b\u202ec")


class TestLog:
    def test_follows_the_output_of_a_running_job(self, start: Start, home: Home, queue: Queue) -> None:
        fifo = home.work / "more"
        os.mkfifo(fifo)
        command = f"echo first line; echo complaint >&2; cat {fifo}"
        queue.enqueue(command, id="talker")
        home.start()
        top = start()
        top.see("log of talker, attempt 1, running")
        output = top.see("\nfirst line", "! complaint")
        assert "more to tell" not in output
        with open(fifo, "w") as more:
            more.write("more to tell\n")
            more.flush()
            top.see("more to tell")
        home.wait_for("talker", "completed")
        top.see("completed", "! complaint", but="running ──")

    def test_the_key_l_gives_it_the_whole_screen(
        self, start: Start, fake_worker: FakeWorker, queue: Queue
    ) -> None:
        queue.enqueue("seq", id="long")
        fake_worker.complete(
            "long", output=out(b"".join(b"number %d\n" % n for n in range(200))) + err(b"end")
        )
        top = start()
        top.see("number 199", "! end", but="number 185")
        top.type("l")
        top.see("number 185", "! end", but="COMMAND")
        top.type("k" * 30)
        top.see("number 155", but="! end")
        top.type("l")
        top.see("COMMAND", but="number 155")


class TestActing:
    def test_retries_a_dead_job(self, start: Start, fake_worker: FakeWorker, home: Home) -> None:
        top = furnished(start, fake_worker)
        top.type("4")
        top.see("broken", but="waiting")
        top.type("r")
        top.see("retry broken (dead)?")
        top.type("y")
        wait_until(lambda: home.state("broken") == "pending", what="the retry")
        top.see("broken runs again", "no jobs match", "dead 0")

    def test_cancels_holds_releases_and_deletes(self, start: Start, queue: Queue, home: Home) -> None:
        queue.enqueue("true", id="only")
        top = start()
        for key, question, state in (
            ("h", "hold only (pending)?", "blocked"),
            ("u", "release only (blocked)?", "pending"),
            ("c", "cancel only (pending)?", "cancelled"),
        ):
            top.see(f"· {'blocked' if key == 'u' else 'pending'} ·")
            top.type(key)
            top.see(question)
            top.type("y")
            wait_until(lambda state=state: home.state("only") == state, what=state)
            top.see(f"· {state} ·")
        top.type("d")
        top.see("delete only (cancelled)?")
        top.type("y")
        top.see("no jobs yet")
        assert queue.store.get("only") is None

    @pytest.mark.long
    def test_cancels_a_running_command(self, start: Start, queue: Queue, home: Home) -> None:
        queue.enqueue("echo up; exec sleep 1000", id="sleeper")
        home.start()
        top = start()
        top.see("log of sleeper, attempt 1, running")
        top.type("c")
        top.see("cancel sleeper (processing)?")
        top.type("y")
        home.wait_for("sleeper", "cancelled")
        top.see("· cancelled ·")

    def test_pauses_and_resumes_the_queue_of_the_chosen_job(self, start: Start, queue: Queue) -> None:
        queue.enqueue("true", id="letter", queue="mail")
        top = start()
        top.see("letter")
        top.type("p")
        top.see("pause queue mail?")
        top.type("y")
        wait_until(lambda: queues.look(queue, "mail").paused, what="the pause")
        top.see("queue mail is paused", "paused")
        wait_until(lambda: "paused" in top.line("mail  "), what="the mark")
        top.type("p")
        top.see("resume queue mail?")
        top.type("y")
        wait_until(lambda: not queues.look(queue, "mail").paused, what="the end of the pause")


class TestHostileText:
    EVIL = "\x1b]0;evil\x07\x1b[31m\u202e\x9b2J[red]x[/red][@click=app.bell]y[/]\t\u2066"

    def test_nothing_of_a_job_reaches_the_terminal_raw(
        self, start: Start, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("echo " + self.EVIL, id="evil-command", tags=["t"])
        fake_worker.complete(
            "evil-command", output=out((self.EVIL + "\nhalf\rline\n\x1b]52;c;aGk=\x07").encode())
        )
        queue.enqueue("true", id="reason", queue="odd")
        queues.pause(queue, "odd", reason=self.EVIL.replace("\t", ""))
        queue.enqueue("true", id="poor")
        fake_worker.kill("poor", error=self.EVIL)
        top = start(width=160, height=40)
        top.see("poor", "evil-command", "reason")
        self.see_all(top)
        top.type("l")
        top.see("log of")
        top.type("lq")
        assert top.end() == 0
        written = re.sub(POINTER, "", top.raw.decode())
        for piece in ("\x1b]", "\x07", "\u202e", "\u2066", "\x9b", "52;c;aGk=\x07"):
            assert piece not in written, repr(piece)
        assert top.screen.unknown == []

    @staticmethod
    def see_all(top: Program) -> None:
        """Go over all jobs, so that the details of each have been on the screen."""
        shown = r"\x1b]0;evil\x07\x1b[31m\u202e\x9b2J[red]x[/red][@click=app.bell]y[/]"
        top.type("/evil-command" + ENTER)
        top.see("echo " + shown, "log of evil-command", "half", r"\x1b]52;c;aGk=\x07")
        top.type("/reason" + ENTER)
        top.see("is paused", shown)
        top.type("/poor" + ENTER)
        top.see("poor · dead")


class TestEnding:
    @pytest.mark.parametrize(
        ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGHUP, 129, marks=pytest.mark.long)]
    )
    def test_a_signal_gives_the_terminal_back(
        self, start: Start, fake_worker: FakeWorker, number: int, code: int
    ) -> None:
        top = furnished(start, fake_worker)
        top.process.send_signal(number)
        assert top.end() == code
        assert top.is_restored()

    def test_ctrl_c_ends_it_also_while_something_is_asked(
        self, start: Start, fake_worker: FakeWorker
    ) -> None:
        top = furnished(start, fake_worker)
        top.type("/")
        top.type(CTRL_C)
        assert top.end() == 0
        assert top.is_restored()


class TestTrouble:
    def test_a_store_that_is_gone_is_told_and_found_again(
        self, start: Start, queue: Queue, home: Home
    ) -> None:
        queue.enqueue("true", id="survivor")
        top = start()
        top.see("survivor")
        file = Path(home.location.file)
        queue.close()
        names = [name for name in os.listdir(file.parent) if name.startswith(file.name)]
        away = home.work / "away"
        away.mkdir()
        for name in names:
            os.rename(file.parent / name, away / name)
        top.see("there is no database at")
        assert not file.exists()  # who only looks makes no store
        for name in names:
            os.rename(away / name, file.parent / name)
        top.see("survivor", but="there is no database")

    def test_in_a_pipe_it_says_what_to_use(self, home: Home) -> None:
        result = home.q("top")
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == "error: top needs a terminal\n  hint: elsewhere: queuectl status --watch\n"

    @pytest.mark.long
    def test_so_it_does_on_a_dumb_terminal(self, start: Start) -> None:
        top = start(TERM="dumb")
        assert top.end() == 2
        assert "top needs a terminal" in top.screen.text

    def test_without_the_extra_it_says_how_to_get_it(self, start: Start, tmp_path: Path) -> None:
        fake = tmp_path / "without" / "textual"
        fake.mkdir(parents=True)
        (fake / "__init__.py").write_text("raise ModuleNotFoundError('no', name='textual')\n")
        top = start(PYTHONPATH=str(fake.parent))
        assert top.end() == 1
        assert "error: top needs the package textual" in top.screen.text
        assert "pip install 'queuectl[tui]'" in top.screen.text

    def test_prints_no_json(self, home: Home) -> None:
        assert home.q("top", "--json").returncode == 2

    def test_other_commands_do_not_load_textual(self, home: Home) -> None:
        script = "import sys; from queuectl.cli.main import main; main(['status'])"
        script += "; print('textual' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", script], env=home.env, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "False"
