"""The entry: finds the command, imports only that one, turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys

from queuectl.errors import InvalidInput, QueuectlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Command -> what it does, in the order of the help. The module has the command's name.
COMMANDS = {
    "enqueue": "add a job, or many from a file",
    "run": "enqueue a job, follow its output, exit with its exit code",
    "status": "the overview: workers, jobs by state, throughput",
    "list": "list jobs, with filters",
    "show": "one job with every attempt",
    "logs": "what a job printed",
    "wait": "wait until jobs have ended",
    "cancel": "stop jobs, also running ones",
    "retry": "run dead, cancelled or failed jobs again",
    "rm": "delete jobs that are not running",
    "dlq": "the dead letter queue: list, show, retry, purge",
    "worker": "start, stop, restart and list workers",
    "config": "get and set settings",
    "cleanup": "delete old finished jobs",
    "init": "make the store (any command does that by itself)",
}
ALIASES = {
    "add": "enqueue",
    "submit": "enqueue",
    "ls": "list",
    "info": "show",
    "get": "show",
    "delete": "rm",
    "remove": "rm",
    "workers": "worker",
    "log": "logs",
}

_USAGE = "usage: queuectl [--db FILE] COMMAND [options]"
_EXAMPLES = """examples:
  queuectl enqueue "echo hello"        store a job
  queuectl worker start --count 2      run jobs in the background
  queuectl status                      see how it goes
  queuectl run -- echo hello           do it all in one go
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(words)
    except QueuectlError as error:
        _print_error(error, words)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return 130
    except BrokenPipeError:
        # `queuectl list | head -1`: the reader has had enough, which is no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _dispatch(words: list[str]) -> int:
    leading, command, rest = _split(words)
    if command is None:
        return _without_command(leading)
    name = ALIASES.get(command, command)
    if name not in COMMANDS:
        raise _unknown(command)
    from importlib import import_module

    module = import_module(f"queuectl.cli.commands.{name}")
    result = module.main(leading + _dashed(rest))
    assert isinstance(result, int)
    return result


def _split(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Options before the command, the command, and what follows it."""
    position = 0
    while position < len(words) and words[position].startswith("-"):
        position += 2 if words[position] == "--db" else 1
    leading = _dashed(words[:position])
    if position >= len(words):
        return leading, None, []
    return leading, words[position], words[position + 1 :]


def _dashed(words: list[str]) -> list[str]:
    """`--max_retries` is as good as `--max-retries`; what follows `--` is left alone."""
    result: list[str] = []
    for position, word in enumerate(words):
        if word == "--":
            return result + words[position:]
        name, equals, value = word.partition("=")
        if name.startswith("--") and "_" in name and " " not in name:
            word = name.replace("_", "-") + equals + value
        result.append(word)
    return result


def _without_command(leading: list[str]) -> int:
    if "--version" in leading or "-V" in leading:
        from queuectl import __version__

        print(f"queuectl {__version__}")
        return 0
    unknown = [word for word in leading if word not in ("-h", "--help", "--json", "--db")]
    if unknown and unknown[0].startswith("-"):
        raise InvalidInput(f"unknown option {unknown[0]!r}", "queuectl --help shows the commands")
    print(_help())
    return 0


def _help() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:<{width}}{text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [_USAGE, "", "A durable job queue for shell commands.", "", _EXAMPLES, "commands:", *lines]
        + ["", "queuectl COMMAND --help says more about one of them."]
    )


def _unknown(command: str) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(command, [*COMMANDS, *ALIASES], n=1, cutoff=0.5)
    hint = f"did you mean: queuectl {near[0]}" if near else "queuectl --help shows the commands"
    return InvalidInput(f"unknown command {command[:60]!r}", hint)


def _print_error(error: QueuectlError, words: list[str]) -> None:
    from queuectl.cli.output import clean

    if "--debug" in words or os.environ.get("QUEUECTL_DEBUG"):
        import traceback

        traceback.print_exc()
    sys.stdout.flush()
    if "--json" in words:
        import json

        body = {"code": error.code, "message": error.message, "hint": error.hint}
        sys.stderr.write(json.dumps({"error": body}) + "\n")
        return
    sys.stderr.write(f"error: {clean(error.message)}\n")
    if error.hint:
        sys.stderr.write(f"  hint: {clean(error.hint)}\n")


if __name__ == "__main__":
    sys.exit(main())
