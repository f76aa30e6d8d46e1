"""queuectl graph: which jobs wait for which, as a tree, for Graphviz or as JSON."""

from __future__ import annotations

from queuectl.cli.acting import each_selected
from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import clean, fitted, paint, print_json, say
from queuectl.cli.selection import number
from queuectl.cli.selectors import IDS_HELP
from queuectl.core.conditions import SUCCESS
from queuectl.core.graphs import dot, to_dict, tree
from queuectl.errors import InvalidInput
from queuectl.graphs import DOWN, UP, graph_around, unfinished_jobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.cli.options import Parser
    from queuectl.core.graphs import Line

_ABOUT = """Show which jobs wait for which. A job stands below those that it waits for; one with several
of them is shown below the first and named below the others. Without ID: the jobs that have
dependencies and have not ended."""

_EXAMPLES = """
  queuectl graph
  queuectl graph deploy
  queuectl graph deploy --up                  only what it waits for
  queuectl graph --dot | dot -Tsvg > jobs.svg
"""

_LIMIT = 10_000


def build_parser() -> Parser:
    result = parser("graph", _ABOUT, _EXAMPLES)
    result.add_argument("ids", nargs="*", metavar="ID", help=IDS_HELP)
    result.add_argument("--dot", action="store_true", help="print it in the language of Graphviz")
    way = result.add_mutually_exclusive_group()
    way.add_argument("--up", action="store_true", help="only what the jobs wait for")
    way.add_argument("--down", action="store_true", help="only what waits for the jobs")
    way.add_argument("--both", action="store_true", help="both (default)")
    result.add_argument(
        "--limit",
        type=number(1, 1_000_000),
        default=_LIMIT,
        metavar="N",
        help=f"at most so many jobs, the nearest (default: {_LIMIT:,})",
    )
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    if options.dot and options.json:
        raise InvalidInput("--json and --dot do not go together", "leave one of them out")
    directions = [UP] if options.up else [DOWN] if options.down else [UP, DOWN]
    with look_at_queue(options) as queue:
        jobs, code, _ = each_selected(queue, options, queue.get) if options.ids else ([], 0, True)
        chosen = [job.seq for job in jobs]
        start = chosen if options.ids else unfinished_jobs(queue, options.limit)
        graph = graph_around(queue, start, directions=directions, limit=options.limit)
    if options.json:
        print_json(to_dict(graph))
    elif options.dot:
        for text in dot(graph, chosen):
            print(text)
    else:
        for line in tree(graph, chosen):
            print(_shown(line))
    _remark(options, len(graph.nodes), complete=graph.complete)
    return code


def _remark(options: argparse.Namespace, count: int, *, complete: bool) -> None:
    if not count and not options.ids:
        say("no job waits for another; try: queuectl enqueue --after ID COMMAND")
    if not complete:
        say(f"there are more than these {count:,} jobs; give a higher --limit")


def _shown(line: Line) -> str:
    node = line.node
    parts = [line.prefix + clean(node.id)]
    if line.again:
        parts.append("(see above)")
    else:
        parts.append(paint(node.state, node.state) + (" ◀" if line.chosen else ""))
    if line.kind != SUCCESS:
        parts.append(f"[after {line.kind}]")
    if not line.again:
        parts.append(fitted(clean(node.command), beside="  ".join([*parts, ""])))
    return "  ".join(parts)
