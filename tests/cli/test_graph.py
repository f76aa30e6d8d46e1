"""graph, and what `show` says of dependencies."""

from __future__ import annotations

from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl.graphs import graph_around
from queuectl.queue import Queue


def diamond(queue: Queue) -> None:
    queue.enqueue("fetch", id="fetch")
    queue.enqueue("build", id="build", after=["fetch"])
    queue.enqueue("lint", id="lint", after=["fetch"])
    queue.enqueue("deploy", id="deploy", after=["build"], after_any=["lint"])
    queue.enqueue("mail", id="mail", after_fail=["deploy"])
    queue.enqueue("alone", id="alone")


def test_is_a_tree_with_states(cli: Cli, queue: Queue) -> None:
    diamond(queue)
    result = cli("graph")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "fetch  pending  fetch",
        "├─ build  blocked  build",
        "│  └─ deploy  blocked  deploy",
        "│     └─ mail  blocked  [after failure]  mail",
        "└─ lint  blocked  lint",
        "   └─ deploy  (see above)  [after any]",
    ]


def test_of_one_job_goes_up_and_down_but_not_sideways(cli: Cli, queue: Queue) -> None:
    diamond(queue)
    assert cli("graph", "build").out.splitlines() == [
        "fetch  pending  fetch",
        "└─ build  blocked ◀  build",
        "   └─ deploy  blocked  deploy",
        "      └─ mail  blocked  [after failure]  mail",
    ]
    assert cli("graph", "build", "--up").out.splitlines() == [
        "fetch  pending  fetch",
        "└─ build  blocked ◀  build",
    ]
    assert cli("graph", "build", "--down").out.splitlines()[0] == "build  blocked ◀  build"
    assert cli("graph", "alone", "build", "--up").out.splitlines()[-1] == "alone  pending ◀  alone"


def test_of_jobs_that_wait_for_nothing(cli: Cli, queue: Queue) -> None:
    queue.enqueue("true", id="alone")
    assert cli("graph", "alone").out == "alone  pending ◀  true\n"
    result = cli("graph")
    assert (result.code, result.out) == (0, "")
    assert "no job waits for another" in result.err


def test_leaves_out_what_has_ended_unless_asked(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a")
    queue.enqueue("true", id="b", after=["a"])
    fake_worker.complete("a")
    fake_worker.complete("b")
    assert cli("graph").out == ""
    assert cli("graph", "b").out.splitlines() == ["a  completed  true", "└─ b  completed ◀  true"]


def test_as_dot(cli: Cli, queue: Queue) -> None:
    queue.enqueue('echo "a\\b"', id="a")
    queue.enqueue("true", id="b", after_any=["a"])
    lines = cli("graph", "a", "--dot").out.splitlines()
    assert lines[0] == "digraph jobs {"
    assert '  "a" [label="a\\npending\\necho \\"a\\\\b\\"", fillcolor="#ffffff", penwidth=3];' in lines
    assert '  "a" -> "b" [style=dashed, label="any"];' in lines
    assert lines[-1] == "}"


def test_as_json(cli: Cli, queue: Queue) -> None:
    diamond(queue)
    document = cli("graph", "deploy", "--up", "--json").json()
    assert [job["id"] for job in document["jobs"]] == ["fetch", "build", "lint", "deploy"]
    assert {(edge["from"], edge["to"], edge["kind"]) for edge in document["edges"]} == {
        ("fetch", "build", "success"),
        ("fetch", "lint", "success"),
        ("build", "deploy", "success"),
        ("lint", "deploy", "any"),
    }
    assert document["complete"] is True


def test_refuses_what_it_cannot_take(cli: Cli, queue: Queue) -> None:
    assert cli("graph", "nobody").code == 1
    assert cli("graph", "--dot", "--json").code == 2
    assert cli("graph", "--up", "--down").code == 2
    assert cli("graph", "--limit", "0").code == 2


def test_keeps_to_a_limit_and_says_so(cli: Cli, queue: Queue) -> None:
    queue.enqueue("true", id="a")
    queue.enqueue_many([{"command": "true", "id": f"b{n}", "after": ["a"]} for n in range(5)])
    result = cli("graph", "a", "--limit", "3")
    assert len(result.out.splitlines()) == 3
    assert "more than these 3 jobs" in result.err
    assert cli("graph", "a", "--limit", "6").err == ""


def test_follows_a_wide_and_deep_graph(queue: Queue) -> None:
    wide = [{"command": "true", "id": f"w{n}", "after": ["root"]} for n in range(2_500)]
    deep = [{"command": "true", "id": f"d{n}", "after": [f"d{n - 1}" if n else "root"]} for n in range(200)]
    queue.enqueue_many([{"command": "true", "id": "root"}, *wide, *deep])
    graph = graph_around(queue, [queue.get("root").seq])
    assert len(graph.nodes) == 2_701
    assert len(list(graph.edges())) == 2_700
    assert graph.complete


def test_show_lists_both_sides(cli: Cli, queue: Queue) -> None:
    diamond(queue)
    told = cli("show", "deploy").out
    assert "Waits for:     build (blocked), lint (blocked)\n" in told
    assert "Waited for by: mail (blocked)\n" in told
    shown = cli("show", "deploy", "--json").json()
    assert (shown["depends_on"], shown["after_any"]) == (["build"], ["lint"])
    assert cli("show", "alone", "--json").json()["depends_on"] == []
    assert "Waits for" not in cli("show", "alone").out
