"""Parsers that all commands build alike: --db, --json, --help, errors in our own words."""

from __future__ import annotations

import argparse
import os
import sys

from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from queuectl.queue import Queue


# argparse's own words stay English, like ours: we read them below to find the nearest option. And looking
# for a translation of each would cost every `enqueue` 3 ms.
vars(argparse)["_"] = str


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake is one of our errors: exit code 2 and a hint."""

    def _parse_optional(self, arg_string: str) -> object:  # type: ignore[override]  # differs by version
        """`--max_retries` is as good as `--max-retries`. Here, where words of a job's command are safe."""
        if arg_string.startswith("--") and "_" in arg_string:
            name, equals, value = arg_string.partition("=")
            dashed = name.replace("_", "-")
            if dashed in self._option_string_actions:
                arg_string = dashed + equals + value
        return super()._parse_optional(arg_string)

    def error(self, message: str) -> NoReturn:
        hint = f"see: {self.prog} --help"
        near = _nearest_option(self, message)
        raise InvalidInput(message, f"did you mean {near}? {hint}" if near else hint)


def _nearest_option(parser: argparse.ArgumentParser, message: str) -> str | None:
    wrong = message.partition("unrecognized arguments: ")[2].split(" ")[0].partition("=")[0]
    if not wrong.startswith("--"):
        return None
    from difflib import get_close_matches

    known = [
        option
        for action in parser._actions
        for option in action.option_strings
        if action.help is not argparse.SUPPRESS
    ]
    return next(iter(get_close_matches(wrong, known, n=1, cutoff=0.7)), None)


def parser(command: str, about: str, examples: str, *, json: bool = True) -> Parser:
    """A parser for one command, with the options that every command has."""
    result = Parser(
        prog=f"queuectl {command}",
        description=about,
        epilog="examples:\n" + examples.strip("\n"),
        formatter_class=_formatter(),
        allow_abbrev=False,
    )
    result.add_argument("--db", metavar="FILE", help="the store (default: $QUEUECTL_DB or ~/.queuectl)")
    if json:
        result.add_argument("--json", action="store_true", help="print JSON")
    else:
        hidden(result, "--json", action="store_true")
    hidden(result, "--debug", action="store_true")
    return result


def hidden(
    target: argparse.ArgumentParser | argparse._ArgumentGroup, *names: str, **keywords: object
) -> None:
    """An option that is accepted but not shown: other people's habits."""
    target.add_argument(*names, help=argparse.SUPPRESS, **keywords)  # type: ignore[arg-type]


class _PlainFormatter(argparse.RawDescriptionHelpFormatter):
    """Knows its width: argparse makes a formatter for each option, which asks shutil, which loads slowly."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width())


def _width() -> int:
    try:
        columns = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size().columns
    except (ValueError, OSError):  # no number, no terminal
        columns = 80
    return max(columns - 2, 40)


def _formatter() -> type[argparse.HelpFormatter]:
    """Coloured help on a terminal; rich costs 100 ms, so only when somebody looks."""
    if sys.stdout.isatty() and {"-h", "--help"} & set(sys.argv):
        from rich_argparse import RawDescriptionRichHelpFormatter

        return RawDescriptionRichHelpFormatter
    return _PlainFormatter


def open_queue(options: argparse.Namespace, *, create: bool = True, mending: bool = False) -> Queue:
    from queuectl.app import open_queue as open_from_url

    return open_from_url(options.db, create=create, mending=mending)


def subcommand(
    words: Sequence[str], known: Sequence[str], command: str, aliases: dict[str, str] | None = None
) -> tuple[str | None, list[str]]:
    """For `queuectl dlq list …`: the second word, and the rest (options before it are kept)."""
    rest = list(words)
    position = 0
    while position < len(rest):
        word = rest[position]
        if not word.startswith("-"):
            name = (aliases or {}).get(word, word)
            if name not in known:
                raise _unknown_subcommand(word, known, command)
            return name, rest[:position] + rest[position + 1 :]
        position += 2 if word == "--db" else 1
    return None, rest


def _unknown_subcommand(word: str, known: Sequence[str], command: str) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1, cutoff=0.6)
    hint = f"did you mean: queuectl {command} {near[0]}" if near else "choose: " + ", ".join(known)
    return InvalidInput(f"unknown command {command + ' ' + word[:40]!r}", hint)
