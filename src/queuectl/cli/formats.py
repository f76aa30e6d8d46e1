r"""--format: a line for each job, worker, queue or schedule, by a template of the user's.

    {id}\t{state:>10} {command:.40}

The fields are those of --json. A template only names fields and says how wide they are: no attributes, no
indexes, no code. Reading the data is left to the commands.
"""

from __future__ import annotations

import json
import re

from queuectl.cli.output import clean, print_json
from queuectl.core.states import ALL
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

# What to_dict and documents can contain; a test compares them.
JOB = (
    *("id", "number", "command", "argv", "queue", "state", "priority", "attempts", "max_retries"),
    *("backoff_strategy", "backoff_base", "backoff_max", "retry_delay", "timeout", "run_at", "next_run_at"),
    *("tags", "timeout_percent", "about", "notify", "notify_on", "input_bytes"),
    *("retry_on", "no_retry_on", "ok_codes", "memory", "cpu_time", "files", "processes", "nice"),
    *("needs", "unique_key", "group", "held", "waits", "schedule", "progress", "progress_text", "env", "cwd"),
    *("created_at", "updated_at", "started_at", "finished_at", "exit_code", "signal", "last_error"),
    "worker_id",
)
JOB_DOCUMENT = (
    *(*JOB, "depends_on", "after_any", "after_fail", "input", "usual_seconds", "notifications"),
    "history",
)
STATUS = (
    *("jobs", *ALL, "total", "workers", "slots", "oldest_waiting_seconds", "throughput_per_minute"),
    *("drain_seconds", "eta_seconds", "eta", "paused_queues", "draining_queues", "progress"),
)
WORKER = (
    *("id", "pid", "host", "state", "concurrency", "running", "queues", "weights", "provides"),
    *("version", "supervisor_pid", "memory_kb", "started_at", "last_heartbeat"),
)
QUEUE = (
    *("name", "concurrency", "rate", "burst", "timeout", "timeout_percent", "max_retries"),
    *(
        "backoff_strategy",
        "backoff_base",
        "backoff_max",
        "retry_delay",
        "paused",
        "paused_at",
        "paused_until",
        "pause_reason",
        "draining",
    ),
    *("notify", "notify_on", "jobs", *ALL, "running", "oldest_waiting_seconds", "workers"),
)
SCHEDULE = (
    *("name", "schedule", "zone", "in_words", "catch_up", "overlap", "job", "paused", "paused_at", "next_at"),
    *("last_at", "last_job", "fired", "skipped", "created_at", "updated_at"),
)

_PIECE = r"\{\{|\}\}|\{([^{}]*)\}|\\(.)|[^{}\\]+|(.)"
_FIELD = r"([A-Za-z_][A-Za-z0-9_]*)(?::([<>^])?([0-9]+)?(?:\.([0-9]+))?)?"
_ESCAPES = {"t": "\t", "n": "\n", "\\": "\\"}
_WIDEST = 1_000
_ALIGN: dict[str, Callable[[str, int], str]] = {"<": str.ljust, ">": str.rjust, "^": str.center}


class _Field:
    """A field in a template, and how wide it is."""

    __slots__ = ("_align", "_longest", "_width", "name")

    def __init__(self, text: str, known: tuple[str, ...]) -> None:
        found = re.fullmatch(_FIELD, text, re.ASCII)
        if found is None:
            raise InvalidInput(
                f"--format: {{{text[:40]}}} is not a field", "like {id}, {state:>10} or {command:.40}"
            )
        self.name, align, width, longest = found.groups()
        if self.name not in known:
            raise _unknown(self.name, known)
        self._align = _ALIGN[align or "<"]
        self._width = _size(width or "0")
        self._longest = None if longest is None else _size(longest)

    def __call__(self, document: Mapping[str, object]) -> str:
        return self._align(_shown(document.get(self.name))[: self._longest], self._width)


_FORMS = ("json", "jsonl", "csv", "tsv", "yaml", "table", "text", "plain", "wide")  # of other tools' --format


class Template:
    """A line as somebody wants it."""

    __slots__ = ("_parts",)

    def __init__(self, text: str, known: tuple[str, ...]) -> None:
        if not text:
            few = " ".join(f"{{{name}}}" for name in known[:2])
            raise InvalidInput(
                "--format: the template is empty", f"name fields, like '{few}'; --json shows which there are"
            )
        if text.lower() in _FORMS:
            raise InvalidInput(
                f"--format takes a template, and {text} is none",
                "for JSON: --json; for a table of your own: --format '{id}\\t{state}'"
                if "id" in known
                else "for JSON: --json",
            )
        self._parts = [_part(piece, known) for piece in re.finditer(_PIECE, text, re.DOTALL)]

    def line(self, document: Mapping[str, object]) -> str:
        """The line of one of them. Counts by state are fields like the others."""
        jobs = document.get("jobs")
        fields = {**jobs, **document} if isinstance(jobs, dict) else document
        return "".join(part if isinstance(part, str) else part(fields) for part in self._parts)


def add_format(parser: argparse.ArgumentParser, known: tuple[str, ...]) -> None:
    parser.add_argument(
        "--format",
        type=lambda text: Template(text, known),
        metavar="TEMPLATE",
        help="a line for each, like '{id} {state:>10}'; the fields are those of --json",
    )


def check_format(options: argparse.Namespace) -> None:
    """Before anything is read or printed."""
    for other in ("json", "quiet"):
        if options.format is not None and getattr(options, other, False):
            raise InvalidInput(f"--format and --{other} do not go together", "leave one of them out")


def print_lines(template: Template, documents: Iterable[Mapping[str, object]]) -> None:
    for document in documents:
        print(template.line(document))


def print_documents(options: argparse.Namespace, documents: Iterable[Mapping[str, object]]) -> bool:
    """As JSON or a line for each, if that was asked for; whether it was. Else they are not even made."""
    if options.json:
        print_json(list(documents))
    elif options.format is not None:
        print_lines(options.format, documents)
    else:
        return False
    return True


def _part(piece: re.Match[str], known: tuple[str, ...]) -> str | _Field:
    field, escape, stray = piece.groups()
    if field is not None:
        return _Field(field, known)
    if escape is not None:
        if escape not in _ESCAPES:
            raise InvalidInput(f"--format: unknown escape \\{escape}", "there are \\t, \\n and \\\\")
        return _ESCAPES[escape]
    if stray is not None:
        raise InvalidInput(
            f"--format: a {stray} that belongs to nothing", "a field is {id}; a brace {{, a backslash \\\\"
        )
    return {"{{": "{", "}}": "}"}.get(piece[0], piece[0])


def _size(digits: str) -> int:
    if len(digits) > 4 or int(digits) > _WIDEST:
        raise InvalidInput(
            f"--format: a width of {digits[:20]} is too much", f"{_WIDEST:,} characters are the most"
        )
    return int(digits)


def _unknown(name: str, known: tuple[str, ...]) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {{{near[0]}}}?" if near else "there are: " + ", ".join(known)
    return InvalidInput(f"--format: there is no field {name[:40]!r}", hint)


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
