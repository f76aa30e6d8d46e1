"""The options that describe a job, shared by `enqueue` and `run`, and the words after them."""

from __future__ import annotations

import argparse
import json

from queuectl.core.spec import Defaults, job_from_fields
from queuectl.cli.options import Parser, hidden
from queuectl.cli.output import say
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import NewJob


def add_job_options(parser: Parser) -> None:
    group = parser.add_argument_group("the job")
    add = group.add_argument
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
    add("--timeout", metavar="TIME", help="stop it after this: 90s, 10m")
    add("--tag", "-t", action="append", dest="tags", metavar="T", help="a tag; may be repeated")
    add("--env", "-e", action="append", metavar="K=V", help="set a variable, or K: take its value here")
    add("--cwd", metavar="DIR", help="where it runs (default: here)")
    hidden(group, "--max-attempts", "--max-tries", dest="max_attempts", type=_number)
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")


_FIELDS = (
    "id command queue priority delay run_at max_retries max_attempts backoff_base backoff_strategy "
    "backoff_max retry_delay timeout tags cwd"
).split()


def parse_words(parser: Parser, words: list[str]) -> argparse.Namespace:
    """Options end at the first word of the command; but after a whole shell line or JSON they go on."""
    options = parser.parse_args(words)
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


def job_from_options(options: argparse.Namespace, defaults: Defaults) -> NewJob:
    """The one job that the command line describes."""
    fields = given_fields(options)
    words = options.words
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return job_from_json(words[0], defaults, fields)
    if words and "command" in fields:
        raise InvalidInput("both --command and words are given", "give one of the two")
    if len(words) == 1:
        fields["command"] = words[0]
    elif words:
        fields["argv"] = words
    if "command" not in fields and "argv" not in fields:
        raise InvalidInput("there is no command", 'like: queuectl enqueue "echo hello"')
    return job_from_fields(fields, defaults)


def given_fields(options: argparse.Namespace) -> dict[str, object]:
    fields = {name: getattr(options, name) for name in _FIELDS if getattr(options, name) is not None}
    if options.env:
        fields["env"] = _environment(options.env)
    return fields


def job_from_json(text: str, defaults: Defaults, over: dict[str, object]) -> NewJob:
    """A job given as JSON; flags win over its fields."""
    raw = load_json(text)
    if isinstance(raw, dict):
        raw = {**raw, **over}
    return job_from_fields(raw, defaults, lambda note: say(f"note: {note}"))


def load_json(text: str) -> object:
    """JSON in the strict sense: no duplicate names, no NaN; errors name line and column."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"malformed JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            _json_hint(text),
        ) from None
    except RecursionError:
        raise InvalidInput("the JSON is nested too deeply", "a job is one flat object") from None


def _json_hint(text: str) -> str:
    if text.lstrip().startswith("{") and '"' not in text:
        return (
            "the shell has eaten the quotes; write it like this: "
            """queuectl enqueue '{"id":"job1","command":"echo hi"}' """
            'or use --id job1 --command "echo hi"'
        )
    return """like: '{"id": "job1", "command": "echo hi"}'"""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"field {double[:60]!r} is given twice", "give it once")
    return result


def _no_constant(name: str) -> object:
    raise InvalidInput(f"{name} is not a JSON number", "use an ordinary number")


def _environment(entries: list[str]) -> dict[str, str]:
    import os

    result = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals:
            if name not in os.environ:
                raise InvalidInput(f"--env {name[:60]}: it is not set here", "or give --env NAME=VALUE")
            value = os.environ[name]
        result[name] = value
    return result


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
