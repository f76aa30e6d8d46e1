"""The examples of every help text and topic, taken out of them; running them is left to the tests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tools.make_cli_docs import parser_of, subcommands

from queuectl.cli.main import COMMANDS
from queuectl.cli.options import Parser
from queuectl.cli.topicpage import topic_names, topic_source

_OPERATORS = set("();<>|&")


@dataclass(frozen=True)
class Example:
    """One `queuectl …` of a line; what stands around it in a pipeline is other people's."""

    words: tuple[str, ...]  # after `queuectl`
    reads: str | None = None  # the file that its stdin comes from

    @property
    def name(self) -> str:
        return shlex.join(("queuectl", *self.words))


def every_parser() -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Of each command and of those below it, with their words."""
    for command in COMMANDS:
        below = subcommands(command)
        yield (command,), parser_of(command, "--help") if below else parser_of(command)
        for words in below:
            yield (command, *words.split()), parser_of(command, *words.split())


def every_example() -> list[Example]:
    lines = [line for _, parser in every_parser() for line in _lines_of_epilog(parser)]
    lines += [line for topic in topic_names() for line in _lines_of_topic(topic)]
    return list(dict.fromkeys(example for line in lines for example in examples_in(line)))


def _lines_of_epilog(parser: Parser) -> list[str]:
    text = (parser.epilog or "").removeprefix("examples:\n").replace("\\\n", "")
    return [line.strip() for line in text.splitlines()]


def _lines_of_topic(topic: str) -> Iterator[str]:
    for line in topic_source(topic).splitlines():
        _, arrow, right = line.partition(" → ")
        if arrow and "queuectl " in right:
            yield right.strip()
        elif line.startswith("  ") and "queuectl " in line and not line.startswith("- "):
            yield line.strip()


def examples_in(line: str) -> Iterator[Example]:
    """What a shell would make of it, as far as it calls us. Two spaces begin a remark."""
    line = re.split(r" {2,}(?=\S)", line)[0]
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    command: list[str] = []
    commands = [command]
    for token in lexer:
        if set(token) <= _OPERATORS and token not in ("<", ">"):
            commands.append(command := [])
        else:
            command.append(token)
    for words in commands:
        if "queuectl" in words:
            ids = ["job1", "job2"] if "xargs" in words else []
            yield _without_redirections(words[words.index("queuectl") + 1 :] + ids)


def _without_redirections(words: list[str]) -> Example:
    kept, reads = [], None
    rest = iter(words)
    for word in rest:
        if word == "<":
            reads = next(rest)
        elif word == ">":
            next(rest)
        else:
            kept.append(word)
    return Example(tuple(kept), reads)
