"""Fetches the graph around jobs, level by level; what it looks like is left to `core.graphs`."""

from __future__ import annotations

from queuectl.core.conditions import ANY, FAILURE, SUCCESS
from queuectl.core.graphs import Graph, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from queuectl.core.job import Job
    from queuectl.queue import Queue

__all__ = ["DOWN", "UP", "depends_on", "graph_around", "relations", "unfinished_jobs"]

UP, DOWN = "up", "down"  # what jobs wait for, and what waits for them

_BATCH = 1_000  # numbers in one question to the store
_MOST_NAMED = 20


def graph_around(
    queue: Queue, seqs: Sequence[int], *, directions: Sequence[str] = (UP, DOWN), limit: int = 10_000
) -> Graph:
    """These jobs, all that they wait for and all that waits for them, but not more than `limit` jobs.

    Breadth first: of a graph that is too large the nearest jobs are kept.
    """
    links = queue.store.links()
    lead = {
        UP: lambda part: [edge.parent_seq for edge in links.parents_of(part)],
        DOWN: lambda part: [edge.child_seq for edge in links.children_of(part)],
    }
    graph = Graph()
    start = list(dict.fromkeys(seqs))
    found = dict.fromkeys(start[:limit])
    graph.complete = len(found) == len(start)
    for direction in directions:
        for seq in _walk(lead[direction], start[:limit]):
            if seq not in found and len(found) >= limit:
                graph.complete = False
                break
            found[seq] = None
    for part in _parts(found):
        for number, id, state, command in links.jobs(part):
            node = Node(int(str(number)), str(id), str(state), str(command))
            graph.nodes[node.seq] = node
        # All between the jobs that were found: along some of these edges no walk has come.
        for edge in links.parents_of(part):
            if edge.parent_seq in found:
                graph.add(edge.parent_seq, edge.child_seq, edge.kind, edge.settled)
    return graph


def _walk(lead: Callable[[list[int]], list[int]], start: list[int]) -> Iterator[int]:
    """The jobs that are reached from the start, each once, the nearest first."""
    seen, level = set(start), start
    while level:
        following = []
        for part in _parts(level):
            for far in lead(part):
                if far not in seen:
                    seen.add(far)
                    following.append(far)
                    yield far
        level = following


def _parts(seqs: Iterable[int]) -> Iterator[list[int]]:
    numbers = list(seqs)
    for start in range(0, len(numbers), _BATCH):
        yield numbers[start : start + _BATCH]


def unfinished_jobs(queue: Queue, limit: int) -> list[int]:
    """The jobs that have not ended and have dependencies, oldest first."""
    return queue.store.surroundings().with_parents(limit)


def depends_on(queue: Queue, job: Job) -> dict[str, list[str]]:
    """The ids of the jobs that it waits for, or waited for, under the names of the fields that say so."""
    fields: dict[str, list[str]] = {"depends_on": []}
    names = {SUCCESS: "depends_on", ANY: "after_any", FAILURE: "after_fail"}
    for link in queue.store.links().parents(job.seq):
        fields.setdefault(names[link.kind], []).append(link.id)
    return fields


def relations(queue: Queue, job: Job) -> list[tuple[str, str]]:
    """What a job waits for and what waits for it, in words for `show`."""
    links = queue.store.links()
    return [
        (title, _named(links_of))
        for title, links_of in (
            ("Waits for", [f"{link.id} ({link.state})" for link in links.parents(job.seq)]),
            ("Waited for by", [f"{link.id} ({link.state})" for link in links.children(job.seq)]),
        )
        if links_of
    ]


def _named(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
