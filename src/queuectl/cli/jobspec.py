"""The options that describe a job, shared by `enqueue` and `run`, and the words after them."""

from __future__ import annotations

import os

from queuectl.clock import SYSTEM_CLOCK
from queuectl.core.spec import FIELDS, Defaults, job_from_fields
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from queuectl.cli.options import Parser
    from queuectl.queue import Queue

_PARENTS = ("after", "after_any", "after_fail")
_LISTS = (*_PARENTS, "needs")  # options that may be repeated, each with a list


def add_job_options(parser: Parser, *, single: bool = True) -> None:
    """`single`: also what only one job can have, not each of many alike."""
    from queuectl.cli.options import hidden

    group = parser.add_argument_group("the job" if single else "each job")
    add = group.add_argument
    if single:
        add("--id", help="its id (default: one is made)")
        add("--command", "-c", "--cmd", metavar="LINE", help="the shell line, instead of words")
    add("--queue", "-q", metavar="NAME", help="the queue (default: default)")
    add("--priority", "-p", type=_number, metavar="N", help="higher runs first (default: 0)")
    add("--delay", metavar="TIME", help="run it that much later: 10m, 1h30m")
    add("--at", "--run-at", dest="run_at", metavar="WHEN", help='"2026-12-01 09:00", 17:30, +5s')
    add("--max-retries", "-r", "--retries", type=_number, metavar="N", help="retries after the first run")
    add("--backoff-base", type=_decimal, metavar="X", help="wait X**n seconds after the n-th failure")
    add("--backoff-strategy", metavar="S", help="exponential, linear or fixed")
    add("--backoff-max", metavar="TIME", help="the longest wait between two runs")
    add("--retry-delay", metavar="TIME", help="the wait of linear and fixed backoff")
    add("--timeout", metavar="TIME", help="stop it after this: 90s, 10m; 300%%: of its usual run time")
    add("--tag", "-t", action="append", dest="tags", metavar="T", help="a tag; may be repeated")
    add("--env", "-e", action="append", metavar="K=V", help="set a variable, or K: take its value here")
    add("--cwd", metavar="DIR", help="where it runs (default: here)")
    if single:
        add("--stdin", metavar="FILE", help="what it reads: the text of this file, at most 1 MB; - is stdin")
    _add_conditions(parser, single=single)
    _add_notices(parser)
    hidden(group, "--max-attempts", "--max-tries", dest="max_attempts", type=_number)
    parser.add_argument("words", nargs="...", metavar="COMMAND")


def _add_conditions(parser: Parser, *, single: bool) -> None:
    add = parser.add_argument_group("when and how it may run").add_argument
    add(
        "--after",
        "--depends-on",
        action="append",
        metavar="ID",
        help="only after this job (or last) has succeeded",
    )
    add("--after-any", action="append", metavar="ID", help="after this job has ended, however that was")
    add("--after-fail", action="append", metavar="ID", help="only after this job has failed for good")
    if single:
        add("--on-success", metavar="LINE", help="a command to run when this job has succeeded")
        add("--on-failure", metavar="LINE", help="a command to run when this job has failed for good")
        add("--unique-key", metavar="KEY", help="at most one job with this key waits or runs")
        add("--if-live", choices=("skip", "replace", "fail"), help="what if there is one (default: fail)")
    add("--group", metavar="NAME", help="a group, of which only so many jobs run at once")
    add("--group-limit", type=_number, metavar="N", help="how many that is (default: 1, or as it was set)")
    add("--hold", action="store_true", default=None, help="do not run it until: queuectl release ID")
    add("--retry-on", metavar="CODES", help="retry only after these exit codes: 1,2,10-20")
    add("--no-retry-on", metavar="CODES", help="never retry after these")
    add("--ok-codes", metavar="CODES", help="exit codes that mean success, besides 0")
    add("--memory", metavar="SIZE", help="how much memory it may use: 512M, 2G")
    add("--cpu-time", metavar="TIME", help="how much processor time it may use: 1h")
    add("--files", type=_number, metavar="N", help="how many files it may have open")
    add("--processes", type=_number, metavar="N", help="how many processes it may have")
    add("--nice", type=_number, metavar="N", help="its niceness: 10 is modest")
    add("--needs", action="append", metavar="R=N", help="resources of a worker: gpu=1")


def _add_notices(parser: Parser) -> None:
    add = parser.add_argument_group("who is told of its end").add_argument
    add("--notify", metavar="LINE", help="run this command then, with the job as JSON on its stdin; or none")
    add("--notify-on", metavar="ENDS", help="completed, dead, cancelled, any (default: completed,dead)")


def parse_words(
    parser: Parser, words: list[str], namespace: argparse.Namespace | None = None
) -> argparse.Namespace:
    """Options end at the first word of the command; but after a whole shell line or JSON they go on."""
    options = parser.parse_args(words, namespace=namespace)
    rest = options.words
    if len(rest) > 1 and rest[0] != "--" and rest[1].startswith("-") and is_whole(rest[0]):
        options = parser.parse_args(rest[1:], namespace=_without_words(options))
        if options.words:
            raise InvalidInput(
                f"what is {options.words[0]!r} after the command?",
                "quote the whole command as one word, or give an argument list",
            )
        options.words = [rest[0]]
    elif rest[:1] == ["--"]:
        options.words = rest[1:]
    return options


def is_whole(word: str) -> bool:
    """Whether one word is a job by itself: JSON, or a shell line (no program has a blank in its name)."""
    return word.lstrip().startswith("{") or any(c.isspace() for c in word.strip())


def _without_words(options: argparse.Namespace) -> argparse.Namespace:
    delattr(options, "words")
    return options


def fields_from_options(options: argparse.Namespace, command: str = "enqueue") -> dict[str, object]:
    """The one job that the command line describes, as fields that nobody has checked yet."""
    fields = given_fields(options)
    words = options.words
    if words and words[0].lstrip().startswith("{"):
        # No program is called {…; what comes in several words is JSON that a shell has torn apart.
        from queuectl.core.strictjson import load_json

        raw = load_json(" ".join(words))
        assert isinstance(raw, dict)
        return {**raw, **fields}
    if words and "command" in fields:
        raise InvalidInput("both --command and words are given", "give one of the two")
    if len(words) == 1:
        if words[0].lstrip().startswith("[{"):
            raise InvalidInput(
                "several jobs in one JSON array are for --file", "like: --file jobs.json, or - for stdin"
            )
        fields["command"] = words[0]
    elif words:
        _refuse_torn_json(words)
        fields["argv"] = words
    if "command" not in fields and "argv" not in fields:
        raise InvalidInput("there is no command", f'like: queuectl {command} "echo hello"')
    return fields


def checked_fields(options: argparse.Namespace, command: str = "enqueue") -> dict[str, object]:
    """The same, refused if they make no job: before a store is opened, so that none is made for nothing."""
    fields = fields_from_options(options, command)
    with NamingOptions(options, fields):
        job_from_fields(fields, Defaults(now=SYSTEM_CLOCK.now(), cwd=current_directory(options)))
    return fields


class NamingOptions:
    """What is refused within is told by the names of the options, where it came by them."""

    __slots__ = ("_all", "_options")

    def __init__(self, options: argparse.Namespace, fields: Collection[str] = ()) -> None:
        """`fields`: all that there are, also those of JSON."""
        self._options = options
        self._all = fields

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InvalidInput):
            from queuectl.cli.optionnames import given_options, speak_of_options

            given = given_options(self._options, (*FIELDS, *self._all))
            speak_of_options(error, given, [name for name in self._all if name not in given])


def with_parents(queue: Queue, options: argparse.Namespace, fields: dict[str, object]) -> dict[str, object]:
    """The fields, with the ids of the jobs that `--after last` and its like mean."""
    given = [name for name in _PARENTS if getattr(options, name, None)]
    if not given:
        return fields
    from queuectl.cli.selectors import parents

    named = given_fields(options)
    return fields | {name: parents(queue, named[name]) for name in given}  # type: ignore[arg-type]  # a list


def current_directory(options: argparse.Namespace) -> str:
    """Where jobs run that do not say it themselves."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        if options.cwd and os.path.isabs(options.cwd):
            return str(options.cwd)
        raise InvalidInput(
            "the current directory does not exist any more", "go to another one, or give --cwd DIR"
        ) from None


def note_missing_directory(cwd: object) -> None:
    """Not an error: the job may run on another machine, or its directory may come before it does."""
    if isinstance(cwd, str) and not os.path.isdir(cwd):
        from queuectl.cli.output import say

        say(f"note: there is no directory {cwd} here; the job fails unless its worker has one")


def _refuse_torn_json(words: list[str]) -> None:
    """bash makes `id:job1 command:x` of {"id":"job1","command":"x"} without quotes around it."""
    if all(":" in word and word.partition(":")[0] in FIELDS for word in words):
        from queuectl.core.strictjson import QUOTING

        raise InvalidInput("this looks like JSON without its quotes and braces", QUOTING)


def given_fields(options: argparse.Namespace) -> dict[str, object]:
    given = {name: getattr(options, name, None) for name in FIELDS if name != "env"}
    fields = {name: value for name, value in given.items() if value is not None}
    for name in _LISTS:
        if name in fields:
            fields[name] = ",".join(getattr(options, name)).split(",")
    if getattr(options, "stdin", None) is not None:
        fields["input"] = _text_of(options.stdin)
    if options.env:
        fields["env"] = _environment(options.env)
    return fields


def _environment(entries: list[str]) -> dict[str, str]:
    result = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals:
            if name not in os.environ:
                raise InvalidInput(f"--env {name[:60]}: it is not set here", "or give --env NAME=VALUE")
            value = os.environ[name]
        result[name] = value
    return result


def _text_of(path: str) -> str:
    import sys

    from queuectl.core.stdin import MAX_BYTES

    try:
        # One byte more than is allowed: what is too long is refused, and not read to its end.
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"--stdin {path}: {error.strerror}", "give a file that can be read") from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if len(data) > MAX_BYTES >= error.start > MAX_BYTES - 4:
            return "x" * len(data)  # cut within a character: it is refused for its length
        raise InvalidInput(
            f"--stdin {path}: it is not text in UTF-8", "let the command read the file itself"
        ) from None


def _number(text: str) -> int:
    from argparse import ArgumentTypeError

    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text[:40]!r} is not a whole number") from None


def _decimal(text: str) -> float:
    from argparse import ArgumentTypeError

    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text[:40]!r} is not a number") from None
