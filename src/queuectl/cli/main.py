"""The entry: finds the command, imports only that one, turns errors into one line and an exit code."""

from __future__ import annotations

import gc
import os
import sys

from queuectl.cli.output import name_store
from queuectl.errors import InvalidInput, QueuectlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

# Command -> what it does, in the order of the help. The module has the command's name, with _ for -.
COMMANDS = {
    "enqueue": "add a job, or many from a file",
    "run": "enqueue a job, follow its output, exit with its exit code",
    "map": "a job for each input, like GNU parallel",
    "status": "the overview: workers, jobs by state, throughput",
    "list": "list jobs, with filters",
    "show": "one job with every attempt",
    "explain": "why a job does not run, or how it ended",
    "graph": "which jobs wait for which, as a tree or for Graphviz",
    "logs": "what a job printed",
    "wait": "wait until jobs have ended",
    "cancel": "stop jobs, also running ones",
    "retry": "run dead, cancelled or failed jobs again",
    "hold": "keep waiting jobs from being run",
    "release": "let held jobs go on",
    "edit": "change jobs that wait: command, priority, time and so on",
    "move": "put waiting jobs into another queue",
    "rm": "delete jobs that are not running",
    "dlq": "the dead letter queue: list, show, retry, purge, groups",
    "progress": "say how far a job is, from inside its command",
    "worker": "start, stop, restart and list workers",
    "service": "workers as a service of systemd: install, show, status",
    "queue": "limits, defaults, pauses and draining of whole queues",
    "schedule": "recurring jobs: add, list, pause, trigger now",
    "dashboard": "the web page and the HTTP API",
    "top": "the live full-screen view",
    "mcp": "the queue for coding agents, over the Model Context Protocol",
    "metrics": "the numbers for Prometheus",
    "stats": "throughput, success rate, wait and run times",
    "config": "get and set settings",
    "cleanup": "delete old finished jobs",
    "vacuum": "give disk space back that deleted jobs have left",
    "backup": "write the queue of this moment into a file, while workers go on",
    "restore": "put a backup back",
    "copy": "copy the whole queue to another store, of any engine",
    "export": "write the whole queue into a file",
    "import": "read a whole queue from such a file",
    "import-pueue": "take over the tasks of pueue",
    "import-joblog": "take over what GNU parallel has not succeeded at",
    "doctor": "look for what is wrong with the store, server and workers",
    "completion": "the script that makes a shell complete our words",
    "init": "make the store (the first job does that by itself)",
    "demo": "a tour of a few seconds, on a store of its own",
    "help": "the commands, one of them, or a topic",
}
ALIASES = {
    "add": "enqueue",
    "submit": "enqueue",
    "ls": "list",
    "info": "show",
    "get": "show",
    "delete": "rm",
    "remove": "rm",
    "unhold": "release",
    "mv": "move",
    "workers": "worker",
    "services": "service",
    "queues": "queue",
    "schedules": "schedule",
    "cron": "schedule",
    "log": "logs",
    "why": "explain",
    "serve": "dashboard",
    "web": "dashboard",
    "ui": "dashboard",
    "tree": "graph",
}

_HELP = ("-h", "--help")
_WITHOUT_COMMAND = (*_HELP, "--json", "--debug")


def run() -> NoReturn:
    """The console script: one command, and out."""
    # Imports make thousands of objects that stay. To look for cycles among them at every 700th costs
    # an `enqueue` two milliseconds.
    gc.set_threshold(10_000)
    if "_ARGCOMPLETE" in os.environ and "COMP_LINE" in os.environ:  # a shell asks what could be typed
        from queuectl.cli.completion import complete

        complete()
    code = main()
    # Threads want to be waited for. Else it ends at once: to take the interpreter apart, module by module,
    # costs an `enqueue` a tenth of its time.
    if "threading" not in sys.modules:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        except (OSError, ValueError):
            pass  # what cannot be written Python complains of in its own way
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    name_store(None)
    try:
        code = _dispatch(words)
        sys.stdout.flush()  # here, not at exit: what goes wrong with it is ours to tell
        return code
    except QueuectlError as error:
        _print_error(error, words)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return 130
    except BrokenPipeError:
        # `queuectl list | head -1`: the reader has had enough, which is no error of ours.
        _let_go_of_stdout()
        return 0
    except Exception as error:
        if words[:1] == ["worker"] and words[1:2] in (["serve"], ["supervise"]):
            raise  # nobody sits in front of it, and its log wants to know everything
        failure = _unexpected(error)
        _let_go_of_stdout()
        _print_error(failure, words)
        return failure.exit_code


def _unexpected(error: Exception) -> QueuectlError:
    """What nobody has thought of is told in one line too."""
    if isinstance(error, OSError):  # a full disk behind stdout, for instance
        place = f": {error.filename}" if error.filename else ""
        return QueuectlError(f"{error.strerror or error}{place}", "--debug shows where it happened")
    return QueuectlError(
        f"internal error: {type(error).__name__}: {error}", "this is a bug; --debug shows where it is"
    )


def _prepare_streams() -> None:
    """A terminal that cannot show ✓ gets \\u2713. A closed stdin is empty, a closed stdout swallows all.

    In this order: each gets its own number, and no file or pipe of ours does.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  # lives as long as we do
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # lives as long as we do
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _let_go_of_stdout() -> None:
    """Or Python would try once more to flush it at exit, and complain."""
    if sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _dispatch(words: list[str]) -> int:
    leading, command, rest = split_words(words)
    name_store(_store_in(leading))  # the parser finds what comes after the command
    if command == "version" and set(rest) <= {"--json"}:
        leading, command = [*leading, *rest, "--version"], None
    if command is None:
        return _without_command(leading)
    name = ALIASES.get(command, command).replace("_", "-")
    if name not in COMMANDS:
        raise _unknown(command)
    # Not by importlib, which is a module more to load.
    module = __import__(f"queuectl.cli.commands.{name.replace('-', '_')}", fromlist=["main"])
    result = module.main(leading + rest)
    assert isinstance(result, int)
    return result


def split_words(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Options before the command, the command, and what follows it."""
    position = 0
    while position < len(words) and words[position].startswith("-"):
        if words[position] == "--db":
            if position + 1 == len(words):
                raise InvalidInput("--db needs a file", "like: queuectl --db jobs.db list")
            position += 1
        position += 1
    leading = words[:position]
    if position >= len(words):
        return leading, None, []
    return leading, words[position], words[position + 1 :]


def _store_in(leading: list[str]) -> str | None:
    found = None
    words = iter(leading)
    for word in words:
        if word == "--db":
            found = next(words)  # `split_words` has seen that there is one
        elif word.startswith("--db="):
            found = word.partition("=")[2]
    return found


def _without_command(leading: list[str]) -> int:
    if "--version" in leading or "-V" in leading:
        from queuectl import __version__

        print(f'{{"version": "{__version__}"}}' if "--json" in leading else f"queuectl {__version__}")
        return 0
    words = iter(leading)
    for word in words:
        if word == "--db":
            next(words)  # `split_words` has seen that there is one
        elif word not in _WITHOUT_COMMAND and not word.startswith("--db="):
            raise InvalidInput(f"unknown option {word!r}", "queuectl --help shows the commands")
    if any(word in _HELP for word in leading):
        from queuectl.cli.commands.help import main as show
    else:
        from queuectl.cli.frontpage import main as show
    return show([word for word in leading if word not in _HELP])


def _unknown(command: str) -> InvalidInput:
    from queuectl.cli.lookalikes import meant

    near = meant(command, [*COMMANDS, *ALIASES])
    hint = f"did you mean: queuectl {near}" if near else "queuectl --help shows the commands"
    return InvalidInput(f"unknown command {command[:60]!r}", hint)


def _print_error(error: QueuectlError, words: list[str]) -> None:
    from queuectl.cli.output import clean, clean_lines, in_lines, pasteable

    if "--debug" in words or os.environ.get("QUEUECTL_DEBUG"):
        import traceback

        sys.stderr.write(clean_lines(traceback.format_exc()))
    sys.stdout.flush()
    hint = error.hint and pasteable(error.hint)
    if "--json" in words:
        import json

        body = {"code": error.code, "message": error.message, "hint": hint}
        sys.stderr.write(json.dumps({"error": body}) + "\n")
        return
    sys.stderr.write(in_lines(f"error: {clean(error.message)}", indent=7) + "\n")
    if hint:
        sys.stderr.write(in_lines(f"  hint: {clean(hint)}", indent=6) + "\n")


if __name__ == "__main__":
    run()
