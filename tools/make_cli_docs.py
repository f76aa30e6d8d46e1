"""Builds docs/cli.md out of the parsers of the commands, so that the two cannot differ.

What a command does beyond its options is left to the other documents. `--write` writes the file;
without it the text is only printed. The check that it is up to date is in check_docs.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from queuectl.cli.main import ALIASES, COMMANDS
from queuectl.cli.options import Parser
from queuectl.cli.parsers import does_something_alone, parser_of, subcommands

TARGET = Path(__file__).resolve().parent.parent / "docs/cli.md"

# Every command has them; the top of the page says so once.
EVERYWHERE = ("--help", "--db", "--json")

EXIT_STATUS = {
    0: "done",
    1: "the thing asked about failed or was not found",
    2: "wrong usage or invalid input; nothing was written",
    3: "the store cannot be reached, is locked, damaged or too new",
    4: "refused: its state does not allow it, or a question could not be asked and --yes was missing",
    130: "interrupted by Ctrl+C",
}

HEAD = """# The command line

This page is made from the program by `tools/make_cli_docs.py`; `make check` fails when it is out of date.
`queuectl COMMAND --help` and `queuectl help COMMAND` say the same in the terminal. `queuectl` without a
command, the tour and the topics of the help are told of in [first-minute.md](first-minute.md).

    queuectl [--db FILE] COMMAND [options]

Every command takes `--db FILE` (the store; default: `$QUEUECTL_DB`, else `~/.queuectl/queue.db`),
`--json` (one JSON document on stdout, an error as a JSON object on stderr) and `--help`.
With `--debug` an error shows where in the program it happened.
`queuectl --version` prints the version. Options may be spelled with `_` for `-`. Data goes to stdout,
everything else to stderr. Durations are `90` (seconds), `500ms`, `10m`, `1h30m`, `2d`. Where a command takes
an `ID`, [other words](shell.md#naming-jobs) may stand for it; `--format` and completion are described
[there](shell.md), too.

## Exit codes

| code | meaning |
|---|---|
{codes}

A command that acts on several jobs goes on after a failure and exits with the highest code among them.
Where a command has codes of its own, it says so below.
"""

EXIT_CODES = {
    "run": "that of the job's last attempt; 124 if it timed out, 128+n if signal n ended it, 126 or 127 if "
    "it could not be started, 130 if it was cancelled. Codes 1 to 4 can also be queuectl's own, with a "
    "message on stderr that begins with `error:`",
    "wait": "0 only if all of them are completed, 1 if one is dead, cancelled or was deleted meanwhile, "
    "124 if the time was up. A filter that matches no job is done at once",
    "logs": "0 whatever became of the job",
    "cancel": "1 if a running job did not end in time, 4 if a job had ended before it could be stopped",
    "config set": "2 for a key that does not exist",
    "config get": "1 for a key that does not exist",
    "worker stop": "0 also if none run",
    "worker restart": "1 if none run",
    "service status": "0 if it is active, else 1",
    "doctor": "0 if there is nothing worse than a warning, 1 if there is a problem, 3 if the store cannot be "
    "opened or used",
    "demo": "0 only if all went as told; 1 if not, 128+n if signal n ended it",
    "queue drain": "124 if the time was up, 1 if somebody resumed the queue meanwhile",
    "status": "with `--watch`, Ctrl+C ends it with 0",
}


def page() -> str:
    """The whole document."""
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_STATUS.items())
    head = HEAD.replace("{codes}", codes)
    return "\n".join([head, *_contents(), *(line for name in COMMANDS for line in _command(name))]) + "\n"


def _contents() -> Iterator[str]:
    yield "## Commands\n"
    yield "| command | does |"
    yield "|---|---|"
    for name, about in COMMANDS.items():
        yield f"| [`{name}`](#{name}) | {_cell(about)} |"
    yield ""


def _command(name: str) -> Iterator[str]:
    parts = subcommands(name)
    parser = parser_of(name, "--help") if parts else parser_of(name)
    yield f"## {name}\n"
    also = [f"`{alias}`" for alias, target in ALIASES.items() if target == name]
    if also:
        yield f"Also: {', '.join(also)}.\n"
    yield from _body(parser, name, usage=does_something_alone(name))
    for part in parts:
        yield f"### {name} {part}\n"
        inner = parser_of(name, *part.split())
        if inner.description == parser.description:  # said once, for all of them
            inner.description = inner.epilog = None
        yield from _body(inner, f"{name} {part}", usage=True)


def _body(parser: Parser, name: str, *, usage: bool) -> Iterator[str]:
    about, _, listing = (parser.description or "").partition("\n\n")
    if about:
        yield about + "\n"
    if listing:
        yield f"```text\n{listing}\n```\n"
    if usage:
        yield f"```text\n{_usage(parser, name)}\n```\n"
    yield from _options(parser)
    if name in EXIT_CODES:
        yield f"Exit code: {EXIT_CODES[name]}.\n"
    if parser.epilog:
        yield f"```text\n{_unindented(parser.epilog.removeprefix('examples:'))}\n```\n"


def _usage(parser: Parser, name: str) -> str:
    words = [placeholder(action) for action in _shown(parser) if not action.option_strings]
    return " ".join(["queuectl", name, "[options]", *words])


def placeholder(action: argparse.Action) -> str:
    word = str(action.metavar or action.dest.upper())
    forms = {"*": f"[{word} …]", "+": f"{word} […]", "?": f"[{word}]", argparse.REMAINDER: f"[{word} …]"}
    return forms.get(str(action.nargs), word)


def _options(parser: Parser) -> Iterator[str]:
    rows = [(_names(action), action.help) for action in _shown(parser) if action.help]
    if not rows:
        return
    yield "| option | meaning |"
    yield "|---|---|"
    for names, text in rows:
        yield f"| {names} | {_cell(text)} |"
    yield ""


def _shown(parser: Parser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if action.help != argparse.SUPPRESS and not set(action.option_strings) & set(EVERYWHERE):
            yield action


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{placeholder(action)}`"
    value = ""
    if action.nargs != 0:
        word = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
        value = f" [{word}]" if action.nargs == "?" else f" {word}"
    return ", ".join(f"`{_cell(name + value)}`" for name in action.option_strings)


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


def _unindented(text: str) -> str:
    return "\n".join(line.removeprefix("  ") for line in text.strip("\n").splitlines())


if __name__ == "__main__":
    if "--write" in sys.argv:
        TARGET.write_text(page(), encoding="utf-8")
        print(f"wrote {TARGET.name}")
    else:
        sys.stdout.write(page())
