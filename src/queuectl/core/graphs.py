"""A graph of jobs that wait for each other: as the lines of a tree, and as text for Graphviz.

A job stands below those that it waits for. One with several of them is shown in full below the first and
only named below the others. Nothing here recurses, and no line grows with the depth of the graph. Fetching
is left to `queuectl.graphs`, colours to the command line.
"""

from __future__ import annotations

from queuectl.core.conditions import ANY, FAILURE, SUCCESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_DEEPEST = 16  # levels that are drawn; of a deeper line only the last ones, after its depth
_LONGEST_LABEL = 60

_FILL = {
    "completed": "#c8e6c9",
    "processing": "#b2ebf2",
    "failed": "#ffe0b2",
    "dead": "#ffcdd2",
    "cancelled": "#e0e0e0",
    "pending": "#ffffff",
    "scheduled": "#bbdefb",
    "blocked": "#e1bee7",
}
_EDGE = {SUCCESS: "", ANY: ' [style=dashed, label="any"]', FAILURE: ' [color="#c62828", label="failure"]'}


class Node:
    """A job, as far as a graph shows it."""

    __slots__ = ("command", "id", "seq", "state")

    def __init__(self, seq: int, id: str, state: str, command: str) -> None:
        self.seq = seq
        self.id = id
        self.state = state
        self.command = command


class Graph:
    """Jobs by their number, and who waits for whom."""

    __slots__ = ("children", "complete", "nodes")

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        # For each those that wait for it: number, what it waits for, whether that is met (None: not yet).
        self.children: dict[int, list[tuple[int, str, int | None]]] = {}
        self.complete = True  # False: there are more jobs than were fetched

    def add(self, parent: int, child: int, kind: str = SUCCESS, settled: int | None = None) -> None:
        self.children.setdefault(parent, []).append((child, kind, settled))

    def edges(self) -> Iterator[tuple[Node, Node, str, int | None]]:
        """Parent, child, kind and whether it is met; only between jobs that are there."""
        for seq in sorted(self.nodes):
            for child, kind, settled in sorted(self.children.get(seq, ())):
                if child in self.nodes:
                    yield self.nodes[seq], self.nodes[child], kind, settled

    def roots(self) -> list[int]:
        """Those that wait for no other one of the graph."""
        inner = {child.seq for _, child, _, _ in self.edges()}
        return [seq for seq in sorted(self.nodes) if seq not in inner]


class Line:
    """One line of the tree."""

    __slots__ = ("again", "chosen", "kind", "node", "prefix")

    def __init__(self, prefix: str, node: Node, kind: str, *, again: bool, chosen: bool) -> None:
        self.prefix = prefix
        self.node = node
        self.kind = kind  # what it waits for of the one above it
        self.again = again  # it was shown before, with all that is below it
        self.chosen = chosen  # somebody asked for this one


def tree(graph: Graph, chosen: Collection[int] = ()) -> Iterator[Line]:
    """The lines, from the top. As many as there are dependencies, and one for each root."""
    shown: set[int] = set()
    asked = set(chosen)
    for root in (*graph.roots(), *sorted(graph.nodes)):
        # Every job is below a root, unless something has made a circle of them: then it is one itself.
        if root not in shown:
            yield from _below(graph, root, shown, asked)


def _below(graph: Graph, root: int, shown: set[int], asked: set[int]) -> Iterator[Line]:
    # What is still to be shown, the next at the end: a job, its kind, its depth, whether it is the last one.
    waiting = [(root, SUCCESS, 0, True)]
    lasts: list[bool] = []  # of the jobs above the present one, whether each is the last of its level
    while waiting:
        seq, kind, depth, last = waiting.pop()
        del lasts[depth:]
        lasts.append(last)
        again = seq in shown
        shown.add(seq)
        below = [] if again else _children(graph, seq)
        yield Line(
            _prefix(lasts),
            graph.nodes[seq],
            kind,
            again=again,
            chosen=seq in asked,
        )
        waiting += [
            (child, kind, depth + 1, place == 0) for place, (child, kind) in enumerate(reversed(below))
        ]


def _children(graph: Graph, seq: int) -> list[tuple[int, str]]:
    return [(child, kind) for child, kind, _ in sorted(graph.children.get(seq, ())) if child in graph.nodes]


def _prefix(lasts: list[bool]) -> str:
    depth = len(lasts) - 1
    if not depth:
        return ""
    first = max(1, depth - _DEEPEST)
    folded = f"[{depth:,}] " if first > 1 else ""
    above = "".join("   " if last else "│  " for last in lasts[first:depth])
    return folded + above + ("└─ " if lasts[depth] else "├─ ")


def dot(graph: Graph, chosen: Collection[int] = ()) -> Iterator[str]:
    """The graph in the language of Graphviz, line by line."""
    yield "digraph jobs {"
    yield "  rankdir=LR;"
    yield '  node [shape=box, style="rounded,filled", fontname="sans-serif"];'
    asked = set(chosen)
    for seq in sorted(graph.nodes):
        node = graph.nodes[seq]
        label = "\\n".join(_escaped(text) for text in (node.id, node.state, _shortened(node.command)))
        bold = ", penwidth=3" if seq in asked else ""
        fill = _FILL.get(node.state, "#ffffff")
        yield f'  "{_escaped(node.id)}" [label="{label}", fillcolor="{fill}"{bold}];'
    for parent, child, kind, _ in graph.edges():
        yield f'  "{_escaped(parent.id)}" -> "{_escaped(child.id)}"{_EDGE.get(kind, "")};'
    yield "}"


def _shortened(command: str) -> str:
    return command if len(command) <= _LONGEST_LABEL else command[: _LONGEST_LABEL - 1] + "…"


def _escaped(text: str) -> str:
    """Inside quotes of Graphviz, where \\N, \\G and the like would mean something else."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def to_dict(graph: Graph) -> dict[str, object]:
    """For JSON."""
    nodes = [graph.nodes[seq] for seq in sorted(graph.nodes)]
    met = {None: None, 1: True, 0: False}
    return {
        "jobs": [{"id": node.id, "state": node.state, "command": node.command} for node in nodes],
        "edges": [
            {"from": parent.id, "to": child.id, "kind": kind, "met": met.get(settled)}
            for parent, child, kind, settled in graph.edges()
        ],
        "complete": graph.complete,
    }
