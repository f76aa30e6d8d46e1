"""The options that say how many workers and of which kind: checked, and as words for a later command.

What becomes of them is left to the commands: `worker` starts, `service` writes a unit.
"""

from __future__ import annotations

from queuectl.cli.selection import number
from queuectl.core.dealing import parse_queues
from queuectl.core.pieces import deal, spell
from queuectl.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.assembly import WorkerSpec
    from queuectl.cli.options import Parser
    from queuectl.core.pieces import Pieces


def worker_options(result: Parser) -> None:
    result.add_argument(
        "--concurrency", "-j", type=number(1, 10_000), metavar="M", help="commands at once in each"
    )
    result.add_argument(
        "--queue",
        "-q",
        "--queues",
        metavar="A,B",
        help="serve only these queues, strictly in this order; or by weight: A=3,B=1",
    )
    result.add_argument(
        "--provides",
        action="append",
        metavar="NAME=N",
        help="resources that jobs may need, divided among the processes: gpu=2, gpu=ids:0+3",
    )
    result.add_argument(
        "--max-load", metavar="X", help="take no new jobs while the 1-minute load is that high"
    )
    result.add_argument("--min-free-memory", metavar="SIZE", help="nor while less memory is free: 2G")


def fleet_options(result: Parser) -> None:
    """How many, and of which kind."""
    result.add_argument(
        "--count", "-n", "-w", type=number(1, 1000), default=1, metavar="N", help="worker processes"
    )
    worker_options(result)


def fleet_words(options: argparse.Namespace) -> list[str]:
    """The same, checked and said again: for a command that is run later."""
    worker_spec(options)
    dealt(options, options.count)
    words = ["--count", str(options.count)]
    for name in ("concurrency", "queue", "max_load", "min_free_memory"):
        value = getattr(options, name)
        if value is not None:
            words += ["--" + name.replace("_", "-"), str(value)]
    for text in options.provides or ():
        words += ["--provides", text]
    return words


def worker_spec(options: argparse.Namespace) -> WorkerSpec:
    """What all the workers that are to be started have in common."""
    from queuectl.assembly import WorkerSpec
    from queuectl.core.admission import parse_limits

    spec = WorkerSpec(url=options.db, concurrency=options.concurrency)
    if options.queue not in (None, "*", "all"):
        spec.queues, spec.weights = parse_queues(options.queue)
    spec.limits = parse_limits(options.max_load, options.min_free_memory)
    return spec


def provided(options: argparse.Namespace) -> Pieces:
    from queuectl.core.amounts import parse_provides

    texts = [text for text in options.provides or () if text]  # a worker whose share is empty has ""
    return parse_provides(texts, "--provides")


def dealt(options: argparse.Namespace, count: int) -> list[Pieces]:
    """For each of the workers what it provides."""
    _check_readable(options)
    shares = deal(provided(options), count)
    for share in shares:
        spell(share)  # is it short enough?
    return shares


def _check_readable(options: argparse.Namespace) -> None:
    """A limit that nobody can measure is none."""
    from queuectl import system

    if options.max_load is not None and system.load_average() is None:
        raise Refused("this machine does not tell its load", "start without --max-load")
    if options.min_free_memory is not None and system.available_memory() is None:
        raise Refused("this machine does not tell its free memory", "start without --min-free-memory")
