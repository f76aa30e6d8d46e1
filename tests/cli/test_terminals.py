"""What the looking commands show on a terminal of 80 columns, on a dumb one, and in a pipe.

With no job, with one, with awkward ones, and with 100,000, of which no command reads more than it shows.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.screens import ESCAPE, Screen, show
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl.cli.commands import dlq
from queuectl.cli.main import COMMANDS
from queuectl.config.settings import KEYS
from queuectl.queue import Queue

pytestmark = pytest.mark.process

JOBS = 100_000
# Steps of SQLite's machine. To look at each of 100,000 jobs takes many times more.
BOUND = 60_000

ABOUT_ALL = [
    ("status",),
    ("list",),
    ("list", "--state", "pending", "--reverse"),
    ("stats",),
    ("queue", "list"),
    ("worker", "list"),
    ("schedule", "list"),
    ("dlq", "list"),
    *((("dlq", "groups"),) if "groups" in dlq._COMMANDS else ()),
    ("config", "list"),
    ("doctor",),
    (),  # the front page
    ("help", "topics"),
    ("--help",),
]
# Looks at every page of the store, on purpose.
THOROUGH = ("doctor",)
ABOUT_ONE = [("show",), ("explain",), ("graph",), ("logs",)]
HELP = [(command, "--help") for command in COMMANDS]


def looking_at(*ids: str) -> list[tuple[str, ...]]:
    return [*ABOUT_ALL, *((*words, id) for words in ABOUT_ONE for id in ids)]


def fill_awkwardly(queue: Queue) -> tuple[str, ...]:
    """As long and as strange as everything may be."""
    fake_worker = FakeWorker(queue)
    fake_worker.worker.host = "a-machine-with-a-name." + "x" * 40
    fake_worker.add_jobs_in_every_state()
    long, wide = "l" * 128, "wide"
    queue.enqueue("echo " + "word " * 60, id=long, queue="q" * 64, tags=["t" * 60], cwd="/" + "d" * 90)
    queue.enqueue(
        "echo 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
        id=wide,
        max_retries=0,
    )
    queue.enqueue("echo \x1b[31mred\x1b[0m", id="steering")
    fake_worker.fail(wide, error="exit code 1: " + "no such file or directory, " * 12)
    return ("done", "broken", "flaky", "running", "later", "waiting", long, wide, "steering")


@pytest.fixture(scope="session")
def home_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with 100,000 jobs, filled once."""
    path = tmp_path_factory.mktemp("many")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUEUECTL_HOME", str(path))
        with Queue.open() as queue:
            queue.enqueue_many([f"echo {number}" for number in range(JOBS)])
            FakeWorker(queue).add_jobs_in_every_state()
    return path


def assert_fits(words: tuple[str, ...], screen: Screen) -> None:
    assert screen.too_wide() == [], words
    assert "Traceback" not in screen.plain, words


class TestWithoutJobs:
    def test_each_command_says_something_friendly(self, tmp_path: Path, queue: Queue) -> None:
        for words, screen in zip(ABOUT_ALL, show(ABOUT_ALL, notes=tmp_path / "notes"), strict=True):
            assert_fits(words, screen)
            assert screen.code == 0, (words, screen.text)
            assert screen.plain.strip(), words

    def test_a_job_that_is_not_there_is_an_error_with_a_hint(self, tmp_path: Path) -> None:
        asked = [(*words, "nothing") for words in ABOUT_ONE]
        for words, screen in zip(asked, show(asked, notes=tmp_path / "notes"), strict=True):
            assert_fits(words, screen)
            assert screen.code == 1
            assert screen.lines[0].startswith("error: "), words
            assert "hint: " in screen.plain


class TestWithOneJob:
    def test_each_command_fits_the_screen(self, tmp_path: Path, queue: Queue) -> None:
        queue.enqueue("echo hello", id="only")
        asked = looking_at("only")
        for words, screen in zip(asked, show(asked, notes=tmp_path / "notes"), strict=True):
            assert_fits(words, screen)
            assert screen.code == 0, words
            assert screen.plain.strip() or words[:1] == ("logs",)


class TestWithAwkwardJobs:
    def test_no_line_is_wider_than_the_screen(self, tmp_path: Path, queue: Queue) -> None:
        asked = looking_at(*fill_awkwardly(queue))
        for words, screen in zip(asked, show(asked, notes=tmp_path / "notes"), strict=True):
            assert screen.code == 0, (words, screen.text)
            assert "\x1b[31mred" not in screen.text, words
            if words[:1] not in (("show",), ("logs",)):  # which give one thing in full
                assert_fits(words, screen)

    @pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
    def test_no_colours_where_none_are_wanted(
        self, tmp_path: Path, queue: Queue, environment: dict[str, str]
    ) -> None:
        asked = [*looking_at(*fill_awkwardly(queue)), ("list", "--help")]
        for words, screen in zip(asked, show(asked, notes=tmp_path / "notes", **environment), strict=True):
            assert ESCAPE.search(screen.text) is None, words

    def test_a_pipe_gets_everything_and_no_colours(self, cli: Cli, queue: Queue) -> None:
        ids = fill_awkwardly(queue)
        for words in looking_at(*ids):
            done = cli(*words)
            assert done.code == 0, (words, done.err)
            assert ESCAPE.search(done.out + done.err) is None, words
        assert all(id in cli("list").out for id in ids)
        assert "word " * 59 in cli("list").out

    def test_states_are_coloured_on_a_terminal(self, tmp_path: Path, queue: Queue) -> None:
        fill_awkwardly(queue)
        [screen] = show([("list",)], notes=tmp_path / "notes")
        assert "\x1b[31mdead" in screen.text


class TestWholeValues:
    """What is read from beginning to end is not cut: it goes on in the next line."""

    def test_what_settings_mean(self, tmp_path: Path) -> None:
        [screen] = show([("config", "list")], notes=tmp_path / "notes")
        assert_fits(("config", "list"), screen)
        assert "…" not in screen.plain
        said = " ".join(screen.plain.split())
        for key in KEYS.values():
            assert key.help.split()[-1] in said
        start = screen.lines[0].index("MEANING")
        assert [line for line in screen.lines if line.startswith(" " * start) and line[start] != " "]

    def test_a_long_command(self, tmp_path: Path, queue: Queue) -> None:
        queue.enqueue("echo 'a  b' | " + "word " * 40, id="long")
        [screen] = show([("show", "long")], notes=tmp_path / "notes")
        assert_fits(("show",), screen)
        start = screen.lines[0].index("long")
        lines = [line[start:] for line in screen.lines[3:7]]
        assert lines[0].startswith("echo 'a  b' | word")
        assert all(line.startswith("word ") for line in lines[1:3])
        assert not any(line[:start].strip() for line in screen.lines[4:6])

    def test_counts_of_jobs_come_before_limits(self, tmp_path: Path, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", queue="mail")
        cli("queue", "set", "mail", "--concurrency", "4", "--rate", "100/min")
        [screen] = show([("queue", "list")], notes=tmp_path / "notes")
        counted = [
            "QUEUE",
            "STATE",
            "RUNNING",
            "PENDING",
            "SCHEDULED",
            "FAILED",
            "BLOCKED",
            "DEAD",
            "WORKERS",
        ]
        assert screen.lines[0].split() == counted


class TestWithMany:
    def test_no_command_reads_more_than_it_shows(
        self, tmp_path: Path, home_of_many: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("QUEUECTL_HOME", str(home_of_many))
        asked = [*looking_at("running", "broken"), ("list", "--queue", "mail")]
        steps = {}
        for words, screen in zip(asked, show(asked, notes=tmp_path / "notes"), strict=True):
            assert_fits(words, screen)
            assert screen.code == 0, words
            assert len(screen.lines) <= 60 or words == ("config", "list"), words  # jobs do not make it longer
            if words != THOROUGH:
                steps[words] = screen.steps
        assert {words: count for words, count in steps.items() if count > BOUND} == {}
        assert steps["list",] > 100  # it is counted at all


def test_help_fits_the_screen(tmp_path: Path) -> None:
    for words, screen in zip(HELP, show(HELP, notes=tmp_path / "notes"), strict=True):
        assert screen.code == 0, words
        assert_fits(words, screen)
