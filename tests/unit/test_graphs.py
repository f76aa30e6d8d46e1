"""Graphs of jobs: the lines of the tree, and the text for Graphviz."""

from __future__ import annotations

import time

import pytest

from queuectl.core.graphs import Graph, Node, dot, to_dict, tree


def a_graph(
    *edges: str, states: dict[int, str] | None = None, commands: dict[int, str] | None = None
) -> Graph:
    """From edges such as "1>2"; jobs are called j1, j2 and so on. A lone "3" is a job without any."""
    graph = Graph()
    for edge in edges:
        for word in edge.split(">"):
            seq = int(word)
            state, command = (states or {}).get(seq, "pending"), (commands or {}).get(seq, "true")
            graph.nodes[seq] = Node(seq, f"j{seq}", state, command)
        if ">" in edge:
            parent, child = map(int, edge.split(">"))
            graph.add(parent, child)
    return graph


def drawn(graph: Graph) -> list[str]:
    return [f"{line.prefix}{line.node.id}{' again' if line.again else ''}" for line in tree(graph)]


@pytest.mark.parametrize(
    ("edges", "lines"),
    [
        ([], []),
        (["1"], ["j1"]),
        (["1>2", "2>3"], ["j1", "└─ j2", "   └─ j3"]),
        (["1>2", "1>3", "2>4"], ["j1", "├─ j2", "│  └─ j4", "└─ j3"]),
        (["1>2", "1>3", "2>4", "3>4"], ["j1", "├─ j2", "│  └─ j4", "└─ j3", "   └─ j4 again"]),
        (["1>3", "2>3", "3>4"], ["j1", "└─ j3", "   └─ j4", "j2", "└─ j3 again"]),
        (["1>2", "3>4"], ["j1", "└─ j2", "j3", "└─ j4"]),
        (["1>2", "1>3", "1>4", "3>5"], ["j1", "├─ j2", "├─ j3", "│  └─ j5", "└─ j4"]),
    ],
)
def test_a_job_stands_below_those_that_it_waits_for(edges: list[str], lines: list[str]) -> None:
    assert drawn(a_graph(*edges)) == lines


def test_a_circle_which_nobody_should_be_able_to_make_ends_too() -> None:
    assert drawn(a_graph("1>2", "2>3", "3>1")) == ["j1", "└─ j2", "   └─ j3", "      └─ j1 again"]
    assert drawn(a_graph("1", "2>3", "3>2")) == ["j1", "j2", "└─ j3", "   └─ j2 again"]


def test_edges_to_jobs_that_were_not_fetched_are_left_out() -> None:
    graph = a_graph("1>2", "2>3")
    del graph.nodes[3]
    assert drawn(graph) == ["j1", "└─ j2"]
    assert "j3" not in "".join(dot(graph))


def test_lines_tell_what_is_waited_for_and_which_job_was_asked_for() -> None:
    graph = a_graph("1", "2", "3")
    graph.add(1, 2, "any")
    graph.add(1, 3, "failure")
    lines = list(tree(graph, [3]))
    assert [line.kind for line in lines] == ["success", "any", "failure"]
    assert [line.chosen for line in lines] == [False, False, True]


def test_a_deep_graph_is_drawn_without_recursion_and_without_growing_lines() -> None:
    graph = a_graph(*(f"{n}>{n + 1}" for n in range(1, 10_000)))
    began = time.process_time()
    lines = drawn(graph)
    text = "\n".join(dot(graph))
    assert time.process_time() - began < 5
    assert len(lines) == 10_000
    assert max(map(len, lines)) < 80
    assert lines[16] == " " * 45 + "└─ j17"
    assert lines[-1] == "[9,999] " + " " * 48 + "└─ j10000"
    assert text.count("->") == 9_999


def test_a_wide_graph_is_drawn_in_time() -> None:
    graph = a_graph(*(f"1>{n}" for n in range(2, 10_002)), *(f"{n}>10002" for n in range(2, 10_002)))
    began = time.process_time()
    lines = drawn(graph)
    assert time.process_time() - began < 5
    assert len(lines) == 20_001
    assert lines[:3] == ["j1", "├─ j2", "│  └─ j10002"]
    assert lines[3:5] == ["├─ j3", "│  └─ j10002 again"]
    assert lines[-2:] == ["└─ j10001", "   └─ j10002 again"]


def test_dot_names_states_by_colour_and_kinds_by_style() -> None:
    graph = a_graph("1>2", states={1: "dead", 2: "cancelled"})
    graph.nodes[3] = Node(3, "j3", "completed", "true")
    graph.add(1, 3, "failure")
    graph.add(2, 3, "any")
    assert list(dot(graph, [2])) == [
        "digraph jobs {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
        '  "j1" [label="j1\\ndead\\ntrue", fillcolor="#ffcdd2"];',
        '  "j2" [label="j2\\ncancelled\\ntrue", fillcolor="#e0e0e0", penwidth=3];',
        '  "j3" [label="j3\\ncompleted\\ntrue", fillcolor="#c8e6c9"];',
        '  "j1" -> "j2";',
        '  "j1" -> "j3" [color="#c62828", label="failure"];',
        '  "j2" -> "j3" [style=dashed, label="any"];',
        "}",
    ]


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ('echo "hi"', 'echo \\"hi\\"'),
        ("printf 'a\\n'", "printf 'a\\\\n'"),
        ("ends with \\", "ends with \\\\"),
        ('\\"', '\\\\\\"'),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31m \x00 \u202e", "�[31m � �"),
        ("\\N \\G \\l", "\\\\N \\\\G \\\\l"),
        ("x" * 100, "x" * 59 + "…"),
    ],
)
def test_dot_quotes_whatever_a_command_holds(command: str, label: str) -> None:
    line = list(dot(a_graph("1", commands={1: command})))[3]
    assert line == f'  "j1" [label="j1\\npending\\n{label}", fillcolor="#ffffff"];'


def test_json_has_jobs_and_edges() -> None:
    graph = a_graph("1>2", states={2: "blocked"})
    graph.add(1, 2, "any", 0)
    graph.complete = False
    assert to_dict(graph) == {
        "jobs": [
            {"id": "j1", "state": "pending", "command": "true"},
            {"id": "j2", "state": "blocked", "command": "true"},
        ],
        "edges": [
            {"from": "j1", "to": "j2", "kind": "any", "met": False},
            {"from": "j1", "to": "j2", "kind": "success", "met": None},
        ],
        "complete": False,
    }
