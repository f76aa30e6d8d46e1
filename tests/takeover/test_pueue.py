"""import-pueue: the states of versions 3 and 4 become the same jobs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli

from queuectl import queues
from queuectl.queue import Queue

pytestmark = pytest.mark.usefixtures("work_dir")
DATA = Path(__file__).parent / "data"
VERSIONS = [str(DATA / "pueue-3.json"), str(DATA / "pueue-4.json")]


@pytest.fixture(params=VERSIONS, ids=["3", "4"])
def state(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_what_waits_or_failed_comes_over(cli: Cli, queue: Queue, state: str) -> None:
    result = cli("import-pueue", state)
    assert (result.code, result.out) == (0, "✓ 10 jobs imported\n")
    jobs = {job.id: job for job in queue.list()}
    assert {id: (job.state, bool(job.held)) for id, job in jobs.items()} == {
        "pueue-1": ("pending", False),
        "pueue-2": ("pending", False),
        "pueue-3": ("blocked", False),
        "pueue-4": ("blocked", True),
        "pueue-5": ("scheduled", False),
        "pueue-7": ("blocked", True),
        "pueue-8": ("blocked", True),
        "pueue-9": ("pending", False),
        "pueue-10": ("pending", False),
        "pueue-12": ("blocked", True),
    }
    failed = jobs["pueue-1"].to_dict()
    assert (failed["command"], failed["cwd"], failed["priority"]) == ("train model", "/srv/data", 5)
    assert (failed["tags"], failed["max_retries"], failed["env"]) == (["night-run-7"], 0, {})
    assert cli("show", "pueue-3", "--json").json()["depends_on"] == ["pueue-1"]
    assert jobs["pueue-5"].to_dict()["run_at"] == "2030-06-01T06:30:00.250Z"
    assert jobs["pueue-3"].queue == "gpu-box"


def test_what_is_left_or_differs_is_told(cli: Cli, queue: Queue, state: str) -> None:
    said = cli("import-pueue", state).err
    assert "left out: 1 succeeded (--all takes them too), 1 run in pueue now" in said
    assert "task 7 is held: it waits for task 6, which runs in pueue" in said
    assert "task 7 waits for task 99, which pueue has forgotten" in said
    assert "queuectl release --queue idle" in said
    assert "queue gpu-box runs 1 job at a time" in said
    rules = {view.name: view.rule.concurrency for view in queues.overview(queue)}
    assert rules == {"default": 2, "gpu-box": 1, "idle": None}


def test_all_running_and_env_take_more(cli: Cli, queue: Queue, state: str) -> None:
    assert cli("import-pueue", state, "--all", "--running", "--env", "--no-limits").code == 0
    jobs = {job.id: job for job in queue.list()}
    assert len(jobs) == 12
    assert jobs["pueue-0"].environment() == {"HOME": "/home/ada", "API_KEY": "s3cret"}
    assert not jobs["pueue-7"].held
    assert all(view.rule.concurrency is None for view in queues.overview(queue))


def test_twice_adds_nothing(cli: Cli, queue: Queue, state: str) -> None:
    cli("import-pueue", state)
    queues.configure(queue, "default", concurrency=7)
    queue.cancel("pueue-2")
    again = cli("import-pueue", state, "--json").json()
    assert (again["imported"], again["skipped"], again["ids"], again["concurrency"]) == (0, 10, [], {})
    assert queue.get("pueue-2").state == "cancelled"
    assert queues.look(queue, "default").rule.concurrency == 7


def test_an_id_that_means_another_task_by_now_is_told(cli: Cli, queue: Queue, state: str) -> None:
    queue.enqueue("something else", id="pueue-1")
    assert "1 job of them with another command, like pueue-1; see --prefix" in cli("import-pueue", state).err
    assert cli("import-pueue", state, "--prefix", "laptop", "--json").json()["imported"] == 10


def test_a_dry_run_makes_nothing(cli: Cli, home_dir: Path, state: str) -> None:
    result = cli("import-pueue", state, "--dry-run")
    assert result.code == 0
    assert "pueue-3   gpu-box  evaluate" in result.out
    assert result.out.endswith("would import 10 jobs\n")
    assert cli("import-pueue", state, "--dry-run", "--json").json()["imported"] == 10
    assert not (home_dir / "queue.db").exists()


@pytest.mark.parametrize(
    "words", [["import-pueue"], ["import_pueue", "-"], ["import", "pueue", "-"]], ids=" ".join
)
def test_it_can_be_piped_in_under_every_name(cli: Cli, words: list[str]) -> None:
    result = cli(*words, stdin=Path(VERSIONS[1]).read_text())
    assert (result.code, result.out) == (0, "✓ 10 jobs imported\n")


def test_a_compressed_state_is_read(cli: Cli, work_dir: Path) -> None:
    (work_dir / "state.json.gz").write_bytes(gzip.compress(Path(VERSIONS[1]).read_bytes()))
    assert cli("import-pueue", "state.json.gz").code == 0


def test_a_task_may_wait_for_a_later_one(cli: Cli, work_dir: Path) -> None:
    document = json.loads(Path(VERSIONS[1]).read_text())
    document["tasks"]["3"]["dependencies"] = [9]
    (work_dir / "state.json").write_text(json.dumps(document))
    assert cli("import-pueue", "state.json").code == 0
    assert cli("show", "pueue-3", "--json").json()["depends_on"] == ["pueue-9"]


def _set(*path: str, to: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for name in path[:-1]:
            document = document[name]
        document[path[-1]] = to

    return change


MISTAKES: list[tuple[Callable[[Any], None], str]] = [
    (_set("tasks", to=[]), "this is no state of pueue"),
    (_set("tasks", "3", to=7), "tasks.3 must be an object, not a number"),
    (_set("tasks", "3", "status", to="Sleeping"), "tasks.3.status: unknown status 'Sleeping'"),
    (_set("tasks", "3", "status", to={"Done": "Maybe"}), "tasks.3.status: unknown result 'Maybe'"),
    (
        _set("tasks", "3", "status", to={"Stashed": {"enqueue_at": "soon"}}),
        "tasks.3.status.enqueue_at: 'soon'",
    ),
    (_set("tasks", "3", "command", to=" "), "tasks.3: the command is empty"),
    (_set("tasks", "3", "path", to=None), "tasks.3.path must be text"),
    (_set("tasks", "3", "id", to=4), "task 4 is there twice"),
    (_set("tasks", "3", "dependencies", to=["1"]), "tasks.3.dependencies must be a whole number, not text"),
    (_set("groups", "default", to="Running"), "groups.default must be an object, not text"),
]


@pytest.mark.parametrize(("change", "says"), MISTAKES, ids=[says for _, says in MISTAKES])
def test_a_mistake_is_named_with_its_place_and_nothing_is_stored(
    cli: Cli, home_dir: Path, work_dir: Path, change: Callable[[Any], None], says: str
) -> None:
    document = json.loads(Path(VERSIONS[1]).read_text())
    change(document)
    (work_dir / "state.json").write_text(json.dumps(document))
    result = cli("import-pueue", "state.json")
    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert not (home_dir / "queue.db").exists()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", "malformed JSON at line 1, column 2"),
        (b"\xff{}", "not UTF-8, at byte 0"),
        (b"\x1f\x8bxx", "damaged"),
        (b"", "malformed JSON"),
    ],
)
def test_what_is_no_json_is_refused(cli: Cli, work_dir: Path, data: bytes, says: str) -> None:
    (work_dir / "state.json").write_bytes(data)
    result = cli("import-pueue", "state.json")
    assert (result.code, says in result.err) == (2, True), result.err


def test_limits_go_again_if_the_jobs_cannot_be_stored(cli: Cli, queue: Queue, state: str) -> None:
    """A draining queue takes no jobs."""
    queues.drain(queue, "gpu-box")
    assert cli("import-pueue", state).code != 0
    assert queue.list() == []
    assert queues.look(queue, "default").rule.concurrency is None
