"""Parsers that all commands build alike: --db, --json, --help, errors in our own words."""

from __future__ import annotations

import argparse
import os
import sys

from queuectl.cli.output import name_store, say
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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

    # What somebody may mean by a word too many.
    stray: Callable[[str], str | None] | None = None

    def error(self, message: str) -> NoReturn:
        hint = f"see: {self.prog} --help"
        near = _nearest_option(self, message) or self._stray(message)
        raise InvalidInput(message, f"did you mean {near}? {hint}" if near else hint)

    def _stray(self, message: str) -> str | None:
        word = message.partition("unrecognized arguments: ")[2]
        return None if self.stray is None or not word or " " in word else self.stray(word)


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


class NamesStore(argparse.Action):
    """--db: told at once to who prints hints, as whatever comes next may be an error with one."""

    def __call__(
        self, _parser: object, namespace: argparse.Namespace, values: object, _option: object = None
    ) -> None:
        setattr(namespace, self.dest, values)
        name_store(str(values))


def parser(command: str, about: str, examples: str, *, json: bool = True) -> Parser:
    """A parser for one command, with the options that every command has."""
    result = Parser(
        prog=f"queuectl {command}",
        description=about,
        epilog="examples:\n" + examples.strip("\n"),
        formatter_class=_formatter(),
        allow_abbrev=False,
    )
    result.add_argument(
        "--db", action=NamesStore, metavar="FILE", help="the store (default: $QUEUECTL_DB or ~/.queuectl)"
    )
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
        super().__init__(prog, width=help_width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return super()._fill_text(flowing(text, width), width, indent)


def help_width() -> int:
    try:
        columns = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size().columns
    except (ValueError, OSError):  # no number, no terminal
        columns = 80
    return max(columns - 2, 40)


def _formatter() -> type[argparse.HelpFormatter]:
    """Help in colours, where there are any; rich costs 100 ms, so only when somebody looks."""
    if {"-h", "--help", "help"} & set(sys.argv):
        from queuectl.cli.output import colours

        if colours():
            from queuectl.cli.richhelp import RichFormatter

            return RichFormatter
    return _PlainFormatter


def flowing(text: str, width: int) -> str:
    """Prose as wide as there is room; lines that begin with a space are a list, and stay as they are."""
    from textwrap import fill

    lines: list[str] = []
    for line in text.splitlines():
        if lines and lines[-1] and line and not line.startswith(" ") and not lines[-1].startswith(" "):
            lines[-1] += " " + line
        else:
            lines.append(line)
    return "\n".join(
        line if line.startswith(" ") else fill(line, width, break_on_hyphens=False) for line in lines
    )


def open_queue(options: argparse.Namespace, *, create: bool = True, mending: bool = False) -> Queue:
    from queuectl.app import open_queue as open_from_url

    return open_from_url(options.db, create=create, mending=mending)


class look_at_queue:  # used like `open_queue`
    """For commands that only look: where there is no queue yet, an empty one stands in and none is made.

    That is told at the end, and not where an error in JSON has to stand alone.
    """

    def __init__(self, options: argparse.Namespace, *, mending: bool = False) -> None:
        from queuectl.app import open_to_look

        self._queue, self._is_real = open_to_look(options.db, mending=mending)
        self._json = options.json

    def __enter__(self) -> Queue:
        return self._queue

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._queue.close()
        location = self._queue.store.location
        in_home = location.state_dir == os.path.dirname(location.file)  # where nobody is surprised
        if not self._is_real and not in_home and not (kind and self._json):
            say(f"note: there is no queue at {location.shown} yet; queuectl enqueue … makes it")


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
