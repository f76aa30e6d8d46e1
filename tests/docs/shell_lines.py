"""Shell text taken apart into its commands, well enough for what documents show.

Knows quotes, continued lines, comments, here-documents, operators and substitutions; not the whole shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

_HERE = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_SUBSTITUTED = re.compile(r"\$\(([^()]*)\)")
_ASSIGNMENT = re.compile(r"^\w+=")
_OPERATORS = frozenset(";&|()")
_REDIRECTION = re.compile(r"^[<>]")
# Words before which or after which a command begins.
_BEFORE_A_COMMAND = frozenset(
    ("do", "then", "else", "if", "while", "until", "time", "exec", "sudo", "nohup", "!", "{")
)


def commands(text: str) -> Iterator[list[str]]:
    """Each simple command with its words, those in substitutions too."""
    for line in _logical_lines(text):
        for inner in _SUBSTITUTED.findall(line):
            yield from _simple(inner)
        # What was substituted is one word of the command around it.
        yield from _simple(_SUBSTITUTED.sub("substituted", line))


def _logical_lines(text: str) -> Iterator[str]:
    lines = iter(text.splitlines())
    for first in lines:
        line = first
        while line.endswith("\\") or _is_open(line):
            line = line.removesuffix("\\") + "\n" + next(lines)
        if here := _HERE.search(line):
            for body in lines:
                if body.strip() == here[1]:
                    break
        yield line


def _is_open(line: str) -> bool:
    """Whether a quote goes on in the next line."""
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return True
    return False


def _simple(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    tokens = iter(lexer)
    for token in tokens:
        if token and set(token) <= _OPERATORS:
            yield from _command(words)
            words = []
        elif _REDIRECTION.match(token) and set(token) <= set("<>&|"):
            next(tokens, None)  # the file
            if words and words[-1].isdigit():  # as in 2>file
                words.pop()
        else:
            words.append(token)
    yield from _command(words)


def _command(words: list[str]) -> Iterator[list[str]]:
    while words and (words[0] in _BEFORE_A_COMMAND or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if words:
        yield words
