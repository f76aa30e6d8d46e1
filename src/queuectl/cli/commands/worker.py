"""queuectl worker: start, stop, restart, scale and list workers."""

from __future__ import annotations

import os
import sys

from queuectl.cli.crashes import tell_of_crashes
from queuectl.cli.fleetoptions import dealt, fleet_options, provided, worker_options, worker_spec
from queuectl.cli.formats import WORKER, add_format, check_format, print_documents
from queuectl.cli.options import hidden, look_at_queue, open_queue, parser, subcommand
from queuectl.cli.output import is_terminal, plural, print_json, print_table, say
from queuectl.cli.selection import number
from queuectl.cli.workerhelp import WORDS
from queuectl.core.durations import format_age, parse_duration
from queuectl.core.pieces import read
from queuectl.documents import worker_document
from queuectl.notices import others_are_told

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.assembly import WorkerSpec
    from queuectl.cli.options import Parser
    from queuectl.core.pieces import Pieces
    from queuectl.fleet import Worker
    from queuectl.paths import Location
    from queuectl.queue import Queue

_WIDEST_PROVIDES = 40  # characters in the table

_COMMANDS = ("start", "stop", "restart", "list", "scale")
_INTERNAL = ("serve", "supervise")  # how the processes start each other; not for people
_ALIASES = {"run": "start", "ls": "list", "status": "list"}


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        build_parser().parse_args(["--help"])
    if words[0] in _INTERNAL:
        return _RUN[words[0]](words[1:])
    name, rest = subcommand(words, _COMMANDS, "worker", _ALIASES)
    if name == "start" and "run" in words[: len(words) - len(rest) + 1]:
        rest = ["--foreground", *rest]
    return _RUN[name or "list"](rest)


def build_parser(name: str = "") -> Parser:
    about, examples = WORDS.get(name, WORDS[""])
    return parser(f"worker {name}".rstrip(), about, examples)


def start_parser() -> Parser:
    result = build_parser("start")
    result.stray = lambda word: f"--count {word}" if word.isdecimal() else None
    fleet_options(result)
    result.add_argument("--foreground", "-f", action="store_true", help="stay; Ctrl+C stops it")
    hidden(result, "--detach", "-d", "--background", dest="detach", action="store_true")
    return result


def _start(words: list[str]) -> int:
    from queuectl.taking import refuse_taken

    options = start_parser().parse_args(words)
    spec = worker_spec(options)
    shares = dealt(options, options.count)
    _warn_root(options)
    with open_queue(options) as queue:
        if others_are_told(queue, spec.queues):
            say("note: this worker runs no notifications, as --queue does not name the queue notifications")
        mode = "background" if options.detach else queue.settings.worker_mode
        if not (options.foreground or mode == "foreground"):
            return _start_background(queue, options, spec, shares)
        refuse_taken(queue, provided(options))
        location = queue.store.location
        if queue.settings.shutdown:
            queue.set_config("shutdown", None)
    return _start_foreground(location, spec, shares)


def _warn_root(options: argparse.Namespace) -> None:
    """Whoever may enqueue could do everything. Said to people; who wrote a unit or a script has decided."""
    if os.geteuid() == 0 and is_terminal(sys.stderr) and not options.json:
        say("warning: as root, workers run every job as root; better give them an account of their own")


def _start_background(
    queue: Queue, options: argparse.Namespace, spec: WorkerSpec, shares: list[Pieces]
) -> int:
    from queuectl.fleet import start_background
    from queuectl.taking import taking

    with taking(queue, provided(options)):
        workers = start_background(queue, shares, spec)
    if options.json:
        print_json([worker_document(worker) for worker in workers])
        return 0
    for worker in workers:
        print(f"Worker {worker.id} started")
    say(f"✓ {plural(len(workers), 'worker')} running in the background. Stop: queuectl worker stop")
    return 0


def _start_foreground(location: Location, spec: WorkerSpec, shares: list[Pieces]) -> int:
    from queuectl.assembly import run_supervisor, run_worker

    if len(shares) == 1:
        spec.url, spec.provides, spec.verbose = location.url, shares[0], True
        run_worker(spec)
        return 0
    from queuectl.fleet import own_words, worker_command

    command = worker_command(location, spec)
    os.environ["QUEUECTL_DB"] = location.url  # for the workers
    run_supervisor([*command, "--foreground"], len(shares), location.url, own_words(shares))
    return 0


def _serve(words: list[str]) -> int:
    """Be one worker of a supervisor; not for people."""
    from queuectl.assembly import run_worker

    result = build_parser("serve")
    worker_options(result)
    result.add_argument("--lifeline", type=int)
    result.add_argument("--pulse", metavar="FD:SECONDS")
    result.add_argument("--log-max", type=int)
    result.add_argument("--foreground", action="store_true")
    options = result.parse_args(words)
    spec = worker_spec(options)
    spec.provides = provided(options)
    spec.lifeline = options.lifeline
    spec.log_max = options.log_max
    if options.pulse is not None:
        fd, _, every = options.pulse.partition(":")
        spec.pulse = int(fd), float(every)
    spec.foreground = spec.verbose = options.foreground
    run_worker(spec)
    return 0


def _supervise(words: list[str]) -> int:
    """Be the supervisor of background workers; not for people."""
    from queuectl.assembly import run_supervisor
    from queuectl.fleet import own_words, worker_command
    from queuectl.paths import locate

    result = build_parser("supervise")
    worker_options(result)
    result.add_argument("--count", type=int, required=True)
    result.add_argument("--log-max", type=int)
    result.add_argument("--fed", action="store_true")  # stdin says when each of them may begin
    options = result.parse_args(words)
    command = worker_command(locate(options.db), worker_spec(options))
    if options.log_max is not None:
        command += ["--log-max", str(options.log_max)]
    shares = [read(text) for text in options.provides or ()]  # one for each worker
    feed = sys.stdin.fileno() if options.fed else None
    run_supervisor(command, options.count, options.db, own_words(shares), log_max=options.log_max, feed=feed)
    return 0


def stop_parser(name: str = "stop") -> Parser:
    result = build_parser(name)
    result.add_argument("ids", nargs="*", metavar="ID", help="which workers (default: all of this machine)")
    result.add_argument("--now", "--force", action="store_true", help="do not wait for running jobs")
    result.add_argument("--timeout", metavar="TIME", help="how long to wait for running jobs")
    if name == "stop":
        result.add_argument("--everywhere", action="store_true", help="also those of other machines")
    return result


def _stop(words: list[str]) -> int:
    options = stop_parser().parse_args(words)
    with open_queue(options) as queue:
        return _stop_and_tell(queue, options)


def _stop_and_tell(queue: Queue, options: argparse.Namespace) -> int:
    from queuectl.fleet import stop_workers

    timeout = None if options.timeout is None else parse_duration(options.timeout, what="--timeout")
    result = stop_workers(
        queue,
        ids=options.ids,
        everywhere=getattr(options, "everywhere", False),
        now=options.now,
        timeout_ms=timeout,
        progress=_waiting(options.json),
    )
    if options.json:
        print_json({"stopped": len(result.asked), "killed": [w.id for w in result.killed]})
    elif not result.asked:
        print("No workers are running")
    else:
        for worker in result.killed:
            say(f"worker {worker.id} did not end and was killed; its jobs went back to the queue")
        print(f"✓ {plural(len(result.asked), 'worker')} stopped")
    if not options.ids:
        _tell_of_others(queue)
    return 0


def _tell_of_others(queue: Queue) -> None:
    from queuectl.app import living_workers
    from queuectl.fleet import on_this_machine

    living = living_workers(queue.store)
    others = len(living) - len(on_this_machine(queue.store, living))
    if others:
        say(f"{plural(others, 'worker')} on other machines go on: queuectl worker stop --everywhere")


def _waiting(silent: bool) -> Callable[[list[Worker]], None] | None:
    if silent or not is_terminal(sys.stderr):
        return None
    last = ""

    def progress(left: list[Worker]) -> None:
        nonlocal last
        running = sum(worker.running for worker in left)
        text = f"waiting for {plural(len(left), 'worker')} ({plural(running, 'job')} running)"
        if left and text != last:
            last = text
            say(text)

    return progress


def _restart(words: list[str]) -> int:
    from queuectl.cli.restarting import restart

    options = stop_parser("restart").parse_args(words)
    return restart(options, _waiting(options.json))


def _scale(words: list[str]) -> int:
    from queuectl.app import living_workers, workers_at_work
    from queuectl.fleet import on_this_machine, start_background, stop_workers
    from queuectl.taking import taking

    result = build_parser("scale")
    result.add_argument(
        "count", type=number(0, 1000), metavar="N", help="how many workers this machine shall have"
    )
    worker_options(result)
    options = result.parse_args(words)
    spec = worker_spec(options)
    with open_queue(options) as queue:
        # Those that provide something are the last to go.
        living = sorted(
            on_this_machine(queue.store, living_workers(queue.store)), key=lambda worker: not worker.provides
        )
        missing = options.count - len(living)
        shares = dealt(options, max(missing, 1))
        if missing > 0:
            with taking(queue, provided(options)):
                start_background(queue, shares, spec)
        elif missing < 0:
            stop_workers(queue, ids=[worker.id for worker in living[missing:]])
        if options.json:
            print_json([worker_document(worker) for worker in workers_at_work(queue.store)])
        else:
            print(f"✓ {plural(options.count, 'worker')} running")
    return 0


def _list(words: list[str]) -> int:
    from queuectl.app import workers_at_work

    options_of = build_parser("list")
    add_format(options_of, WORKER)
    options = options_of.parse_args(words)
    check_format(options)
    with look_at_queue(options) as queue:
        living = workers_at_work(queue.store)
        now = queue.clock.now()
        tell_of_crashes(queue)
    if print_documents(options, map(worker_document, living)):
        return 0
    if not living:
        say("no workers are running. Start one: queuectl worker start")
        return 0
    providing = any(worker.provides for worker in living)
    print_table(
        (
            *("ID", "STATE", "PID", "HOST", "RUNNING", "UP", "SEEN", "VERSION", "QUEUES"),
            *(["PROVIDES"] * providing),
        ),
        [
            (
                worker.id,
                "stopping" if worker.control else "busy" if worker.running else "idle",
                str(worker.pid),
                worker.host,
                f"{worker.running}/{worker.concurrency}",
                format_age(max(now - worker.started_at, 0)),
                format_age(max(now - worker.seen_at, 0)) + " ago",
                worker.version or "older",
                "all" if worker.queues is None else worker.queues or "its own job",
                *([_shortened(worker.provides or "-")] * providing),
            )
            for worker in living
        ],
    )
    return 0


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDEST_PROVIDES else text[: _WIDEST_PROVIDES - 1] + "…"


_RUN = {
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "list": _list,
    "scale": _scale,
    "serve": _serve,
    "supervise": _supervise,
}
