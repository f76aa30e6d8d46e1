"""Completion: a shell asks what the word at the cursor could become; see `queuectl completion`.

argcomplete reads the line and the parser of the command that is on it. What can stand at each place is left
to `completers`. Nothing is said when anything goes wrong: somebody is in the middle of typing.
"""

from __future__ import annotations

import argparse
import os
import signal

from argcomplete.finders import CompletionFinder

from queuectl.cli.completers import WantsFiles, completer_of, offered
from queuectl.cli.main import ALIASES, COMMANDS, split_words
from queuectl.cli.options import Parser, subcommand
from queuectl.cli.parsers import command_module, does_something_alone, parser_of, subcommands
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from queuectl.cli.completers import Completer

FILES = 3  # exit code: the shell shall offer files
_PATIENCE = 2.0  # seconds; a server may be away


def complete() -> NoReturn:
    """Answer the shell, and out."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(1))
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
    finder = Finder()
    try:
        finder(
            Parser(add_help=False),
            always_complete_options=False,
            exit_method=lambda code: os._exit(FILES if finder.wants_files else code),
        )
    except BaseException:
        pass  # whatever it was, the next key will do
    os._exit(1)


class Finder(CompletionFinder):
    """argcomplete, with the parser of the command on the line."""

    wants_files = False

    def _init_debug_stream(self) -> None:
        """None: descriptor 9, which it would take, may be somebody's."""

    def _get_completions(
        self, comp_words: list[str], cword_prefix: str, cword_prequote: str, last_wordbreak_pos: int | None
    ) -> list[str]:
        command, parser, words = parser_for(comp_words[1:])
        self._attach(command, parser)
        self._parser = parser
        if not any(not action.option_strings for action in parser._actions):
            self.always_complete_options = "long"
        read = [*comp_words[:1], *words]
        found: list[str] = super()._get_completions(  # type: ignore[no-untyped-call]  # it has no types
            read, cword_prefix, cword_prequote, last_wordbreak_pos
        )
        return found

    def _attach(self, command: str, parser: argparse.ArgumentParser) -> None:
        for action in parser._actions:
            if getattr(action, "completer", None) is None and action.choices is None:
                action.completer = self._wrapped(completer_of(command, action))  # type: ignore[attr-defined]

    def _wrapped(self, completer: Completer | None) -> object:
        def wrapped(prefix: str, parsed_args: argparse.Namespace, **_: object) -> dict[str, str]:
            if completer is None:
                return {}
            try:
                return dict(offered(completer(prefix, parsed_args), prefix))
            except WantsFiles:
                self.wants_files = True
                return {}

        return wrapped


def parser_for(words: list[str]) -> tuple[str, argparse.ArgumentParser, list[str]]:
    """The command that these words name so far, its parser, and the words that this one is to read."""
    try:
        leading, command, rest = split_words(words)
    except InvalidInput:  # --db, and its file is to come
        return "", _first_word(), words
    if command is None:
        return "", _first_word(), words
    name = ALIASES.get(command, command)
    if name not in COMMANDS:
        raise InvalidInput(f"unknown command {command!r}")
    return _parser_below(name, leading + rest)


def _parser_below(name: str, words: list[str]) -> tuple[str, argparse.ArgumentParser, list[str]]:
    """The same for `dlq retry` and `dashboard token add`: as far down as the words say."""
    parts = [part.split() for part in subcommands(name)]
    path, rest, further = _descend(name, parts, words)
    if path in parts:
        return " ".join([name, *path]), parser_of(name, *path), rest
    if path:
        parser: argparse.ArgumentParser = Parser(prog="queuectl")
    elif further and not does_something_alone(name):
        parser = parser_of(name, "--help")
    else:
        parser = parser_of(name)
    if further:
        _add_choice(parser, dict.fromkeys(further, ""))
    return name, parser, rest


def _descend(name: str, parts: list[list[str]], words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The words of a command below `name`, the words that are left, and what could come next."""
    aliases = getattr(command_module(name), "_ALIASES", {})
    path: list[str] = []
    while True:
        depth = len(path)
        below = [part[depth] for part in parts if len(part) > depth and part[:depth] == path]
        further = list(dict.fromkeys(below))
        if not further:
            return path, words, []
        try:
            word, rest = subcommand(words, further, name, aliases if not path else None)
        except InvalidInput:
            if path or not does_something_alone(name):
                raise
            return path, words, []
        if word is None:
            return path, words, further
        path, words = [*path, word], rest


def _first_word() -> argparse.ArgumentParser:
    parser = Parser(prog="queuectl", allow_abbrev=False)
    parser.add_argument("--db", metavar="FILE", help="the store")
    parser.add_argument("--version", "-V", action="store_true", help="print the version")
    _add_choice(parser, COMMANDS)
    return parser


def _add_choice(parser: argparse.ArgumentParser, known: dict[str, str]) -> None:
    def completer(**_: object) -> dict[str, str]:
        return known

    parser.add_argument("command").completer = completer  # type: ignore[attr-defined]
