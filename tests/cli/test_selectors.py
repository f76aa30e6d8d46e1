"""Words that stand for jobs: last, numbers, all, - and the beginning of an id."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli, Terminal
from tests.support.fake_worker import FakeWorker

from queuectl.queue import JobFilter, Queue


@pytest.fixture
def jobs(queue: Queue) -> list[int]:
    """Ten of them, job1 to job10; their numbers."""
    queue.enqueue_many([{"id": f"job{i}", "command": f"echo {i}"} for i in range(1, 11)])
    return [queue.get(f"job{i}").seq for i in range(1, 11)]


def ids(cli: Cli, *words: str, stdin: str | None = None) -> list[str]:
    result = cli("show", "--json", *words, stdin=stdin)
    assert result.code == 0, result.err
    return [document["id"] for document in result.json()]


def states(queue: Queue, state: str) -> list[str]:
    return [job.id for job in queue.list() if job.state == state]


class TestLooking:
    def test_last_is_the_newest_job(self, cli: Cli, jobs: list[int]) -> None:
        assert cli("show", "last", "--json").json()["id"] == "job10"
        assert cli("explain", "last").out.startswith("Job job10 is pending")
        assert "job10" in cli("graph", "last").out
        assert cli("logs", "last").err == "job job10 has not run yet (pending)\n"

    def test_last_without_jobs(self, cli: Cli, queue: Queue) -> None:
        assert cli.failure("show", "last") == (1, "not_found")

    def test_numbers_are_those_that_are_shown(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        shown = {job["id"]: job["number"] for job in cli("list", "--json").json()}
        assert shown == {f"job{i}": jobs[i - 1] for i in range(1, 11)}
        assert f"Number:    {jobs[2]}\n" in cli("show", "job3").out
        assert cli("show", str(jobs[2]), "--json").json()["id"] == "job3"

    def test_ranges_of_numbers(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        queue.remove("job6")
        word = f"{jobs[0]},{jobs[4]}-{jobs[7]}"
        assert ids(cli, word) == ["job1", "job5", "job7", "job8"]
        assert ids(cli, f"{jobs[8]}-") == ["job9", "job10"]
        assert ids(cli, f"0-{jobs[1]}") == ["job1", "job2"]
        assert ids(cli, "job4", word, "last") == ["job4", "job1", "job5", "job7", "job8", "job10"]
        assert ids(cli, f"{jobs[0]}-{jobs[0]}") == ["job1"]  # a list, though of one

    def test_a_range_longer_than_a_page(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue_many([f"echo {i}" for i in range(1_100)])
        assert len(cli("explain", "all").out.split("\n\n")) == 1_100

    def test_all(self, cli: Cli, jobs: list[int]) -> None:
        assert ids(cli, "all") == [f"job{i}" for i in range(1, 11)]

    def test_ids_from_stdin(self, cli: Cli, jobs: list[int]) -> None:
        assert ids(cli, "-", stdin="job3\njob1  job2\n\njob3") == ["job3", "job1", "job2"]
        assert ids(cli, "-", stdin="") == []

    def test_stdin_has_ids_and_nothing_else(self, cli: Cli, jobs: list[int]) -> None:
        result = cli("show", "-", stdin="last job1 all 1-5")
        assert result.code == 1
        assert "Id:        job1\n" in result.out
        assert [line.split("'")[1] for line in result.err.splitlines()] == ["last", "all", "1-5"]

    def test_the_beginning_of_an_id_that_we_made(self, cli: Cli, queue: Queue) -> None:
        id = queue.enqueue("true").id
        assert cli("show", id[:12], "--json").json()["id"] == id
        assert cli("cancel", id[:12]).code == 0
        assert states(queue, "cancelled") == [id]

    def test_an_ambiguous_beginning_lists_some(self, cli: Cli, jobs: list[int]) -> None:
        assert cli.failure("show", "job") == (1, "not_found")
        assert "job1, job10, job2, job3, job4, …" in cli("--json", "show", "job").error["hint"]

    def test_capitals_matter(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="Report-Mon")
        assert "begins so" in cli("show", "Report").err
        assert "begins so" not in cli("show", "report").err

    @pytest.mark.parametrize("word", ["job%", "job_", "jo*", "j", "jo", "%%%", "'''", "last1", "LAST"])
    def test_what_stands_for_nothing(self, cli: Cli, jobs: list[int], word: str) -> None:
        assert cli.failure("show", word) == (1, "not_found")

    def test_numbers_that_nobody_has(self, cli: Cli, jobs: list[int]) -> None:
        free = jobs[-1] + 1
        for word in (str(free), f"{free}-{free + 5}", "9" * 100):
            assert cli.failure("show", word) == (1, "not_found")
        assert cli.failure("show", "8-5") == (2, "invalid_input")

    def test_only_one_job_is_followed(self, cli: Cli, jobs: list[int]) -> None:
        for words in ([f"{jobs[0]}-{jobs[1]}"], ["job1", "job2"], ["--tag", "x"]):
            assert cli("logs", "-f", *words).code == 2

    def test_wait(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        queue.remove_matching(JobFilter(ids=tuple(f"job{i}" for i in range(3, 11))))
        for id in ("job1", "job2"):
            queue.cancel(id)
        assert cli("wait", "all", "--json").json()["jobs"]["cancelled"] == 2
        assert cli("wait", "last", "--json").json()["jobs"]["cancelled"] == 1
        assert cli("wait", f"{jobs[0]}-", "--json").json()["jobs"]["cancelled"] == 2
        assert cli("wait", "-", stdin="").code == 0


class TestTheIdWins:
    @pytest.mark.parametrize("id", ["last", "all", "2", "1-5", "1"])
    def test_over_what_the_word_would_mean(self, cli: Cli, queue: Queue, jobs: list[int], id: str) -> None:
        queue.enqueue("true", id=id)
        queue.enqueue("true", id="newer")
        assert cli("show", id, "--json").json()["id"] == id
        assert cli("cancel", id).code == 0
        assert states(queue, "cancelled") == [id]

    def test_over_longer_ones(self, cli: Cli, jobs: list[int]) -> None:
        assert cli("show", "job1", "--json").json()["id"] == "job1"


class TestActing:
    def test_a_range_asks_first(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        word = f"{jobs[1]}-{jobs[3]}"
        assert cli.failure("rm", word) == (4, "refused")
        assert len(queue.list()) == 10
        assert cli("rm", word, "--dry-run", "--json").json()["ids"] == ["job2", "job3", "job4"]
        assert cli("rm", word, "--yes").code == 0
        assert len(queue.list()) == 7

    def test_all_is_the_option_all(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        assert cli("hold", "all").code == 4
        for words, state in ((("hold", "all"), "blocked"), (("release", "all"), "pending")):
            assert cli(*words, "--yes").code == 0
            assert len(states(queue, state)) == 10
        assert cli("cancel", "job1", "all", "--yes").code == 0
        assert len(states(queue, "cancelled")) == 10

    def test_what_a_range_cannot_change_is_told(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        queue.cancel("job2")
        result = cli("cancel", f"{jobs[0]}-{jobs[2]}", "--yes")
        assert (result.code, result.err) == (0, "1 job skipped, whose state does not allow it\n")
        assert states(queue, "cancelled") == ["job1", "job2", "job3"]

    def test_what_stdin_names_is_not_asked_about(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        assert cli("cancel", "-", stdin="job1 job2").code == 0
        assert cli("cancel", "-", stdin=" \n").code == 0
        assert states(queue, "cancelled") == ["job1", "job2"]

    def test_one_number_is_one_job(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        assert cli("hold", str(jobs[4])).code == cli("edit", str(jobs[5]), "--priority", "7").code == 0
        assert states(queue, "blocked") == ["job5"]
        assert cli("move", "last", "--to", "slow", "--json").json()["queue"] == "slow"
        assert queue.get("job6").priority == 7

    def test_a_command_is_changed_for_one_job(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        for word in (f"{jobs[0]}-{jobs[1]}", "all"):
            assert cli("edit", word, "--command", "false", "--yes").code == 2
        assert cli("edit", "last", "--command", "false").code == 0
        assert [job.id for job in queue.list() if job.command == "false"] == ["job10"]

    def test_one_bad_word_does_not_stop_the_others(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        result = cli("cancel", "job1", "nosuch", "last")
        assert result.code == 1
        assert "nosuch" in result.err
        assert states(queue, "cancelled") == ["job1", "job10"]

    def test_a_bad_range_stops_all(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        assert cli("cancel", "job1", "8-5").code == 2
        assert states(queue, "cancelled") == []

    def test_the_dead_letter_queue_means_its_own(
        self, cli: Cli, jobs_in_every_state: None, fake_worker: FakeWorker
    ) -> None:
        assert cli("dlq", "show", "last", "--json").json()["id"] == "broken"
        assert cli("dlq", "show", "all", "--json").json()[0]["id"] == "broken"
        assert [job["id"] for job in cli("dlq", "retry", "0-", "--json").json()] == ["broken"]
        assert cli("dlq", "purge", "last").code == 1


class TestIdsThatSomebodyChose:
    """Their beginnings are guessed only where a person sees it: job1 may have been one, and be gone."""

    def test_not_in_a_script(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="job10")
        for words in (("show", "job1"), ("cancel", "job1"), ("rm", "job1", "--yes"), ("wait", "job1")):
            assert cli.failure(*words) == (1, "not_found")
        assert queue.get("job10").state == "pending"

    def test_at_a_terminal_they_are_shown(self, terminal: Terminal, queue: Queue) -> None:
        queue.enqueue("true", id="report-monday")
        seen = terminal("show", "rep").out
        assert "rep is taken for report-monday" in seen
        assert "Id:        report-monday" in seen

    def test_and_changed_after_a_question(self, terminal: Terminal, queue: Queue) -> None:
        queue.enqueue("true", id="report-monday")
        refused = terminal("cancel", "rep", keys="n\n")
        assert (refused.code, "rep is taken for report-monday: cancel it? [y/N]" in refused.out) == (1, True)
        assert queue.get("report-monday").state == "pending"
        assert terminal("cancel", "rep", keys="y\n").code == 0
        assert queue.get("report-monday").state == "cancelled"


class TestWaitingForThem:
    def test_last_and_numbers(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        first = cli("enqueue", "--id", "next", "--after", f"last,{jobs[0]}", "true")
        assert first.code == 0, first.err
        assert cli("show", "next", "--json").json()["depends_on"] == ["job1", "job10"]
        cli("enqueue", "--id", "fix", "--after-fail", "last", "true")
        assert cli("show", "fix", "--json").json()["after_fail"] == ["next"]

    def test_an_id_wins_here_too(self, cli: Cli, queue: Queue, jobs: list[int]) -> None:
        queue.enqueue("true", id="last")
        cli("enqueue", "--id", "later", "true")
        cli("enqueue", "--id", "next", "--after", "last", "true")
        assert cli("show", "next", "--json").json()["depends_on"] == ["last"]

    def test_what_is_no_job_is_refused_as_ever(self, cli: Cli, queue: Queue) -> None:
        for word in ("last", "12"):
            result = cli("enqueue", "--after", word, "true")
            assert (result.code, result.out) == (2, "")
            assert word in result.err
        assert not queue.list()
