"""The parser of any command, without running the command: for completion, the reference and the man pages."""

from __future__ import annotations

from importlib import import_module

from queuectl.cli.options import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


class _Taken(Exception):
    """Carries the parser out of the command that was about to use it."""

    def __init__(self, parser: Parser) -> None:
        super().__init__()
        self.parser = parser


def parser_of(command: str, *words: str) -> Parser:
    """The parser that a command builds for these words; nothing else of the command is run."""

    def take(self: Parser, *_: object, **__: object) -> None:
        raise _Taken(self)

    module = command_module(command)
    Parser.parse_args = take  # type: ignore[method-assign, assignment]  # each command builds its own inside
    try:
        module.main(list(words))
    except _Taken as taken:
        return taken.parser
    finally:
        del Parser.parse_args
    raise AssertionError(f"{command} {words} builds no parser")


def subcommands(command: str) -> list[str]:
    """Those below it; each may be several words."""
    module = command_module(command)
    return [*getattr(module, "_COMMANDS", ()), *getattr(module, "_FURTHER", ())]


def does_something_alone(command: str) -> bool:
    return not hasattr(command_module(command), "_COMMANDS")


def command_module(command: str) -> ModuleType:
    return import_module(f"queuectl.cli.commands.{command.replace('-', '_')}")
