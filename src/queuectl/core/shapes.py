"""What many texts have in common: the shape of a command or a message, without its numbers, paths and hashes.

Which dead jobs are alike is decided here; reading and counting them is left to `triage`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256

from queuectl.core.deaths import without_path

__all__ = ["cluster_key", "command_shape", "error_shape", "shape"]

_MOST_READ = 2_000  # characters: what comes later makes no other shape
_KEY_LENGTH = 8

# Tried in this order at each place. No replacement is found by any of them, so a shape is its own shape.
_PIECES = re.compile(
    r"""
      (?P<redirection>[0-9]?>&[0-9]\b | \b[0-9]>)
    | (?P<url>\b[a-z][a-z0-9+.-]*://[^\s'"<>]+)
    | (?P<path>(?:~|\.{1,2})?(?:/[^\s/'"`:;,()<>|&=]+)+/? | \b[\w.@%+-]+(?:/[\w.@%+-]+)+/?)
    | (?P<id>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)
    | (?P<hash>\b(?=[a-f]*[0-9])[0-9a-f]{7,}\b | \b(?=[a-z]*[0-9])[0-9a-z]{16,}\b)
    | (?P<n>\b0x[0-9a-f]+\b | [0-9]+(?:[.,:][0-9]+)*)
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_ODD = re.compile(r"[0-9/]")
# How it ended is told by the exit code or the signal.
_ENDING = re.compile(r"(?:exit code [0-9]+|killed by \w+)(?:: |$)")


def shape(text: str) -> str:
    """The text on one line, with what differs from job to job replaced by what it is."""
    return " ".join([_word(word) for word in text[:_MOST_READ].split()])


@lru_cache(10_000)
def _word(word: str) -> str:
    """No piece has white space in it, and each has a digit or a slash: most words need no close look."""
    return _PIECES.sub(_name, word) if _ODD.search(word) else word


def _name(found: re.Match[str]) -> str:
    kind, text = str(found.lastgroup), found.group()
    if kind == "redirection":
        return text  # of a shell line: says nothing about this job alone
    # A long number is a number, though it could be the beginning of a hash.
    return "<n>" if kind == "hash" and text.isdigit() else f"<{kind}>"


def command_shape(command: str) -> str:
    """As `shape`, but a program that is named by its path is still that program."""
    first, space, rest = command.strip().partition(" ")
    program = first.rstrip("/").rpartition("/")[2]
    return shape((program or first) + space + rest)


def error_shape(error: str | None) -> str:
    """The shape of the last line that a job complained with; empty if it said nothing."""
    return shape(_ENDING.sub("", without_path(error or ""), count=1))


def cluster_key(command: str, exit_code: int | None, signal: int | None, error: str | None) -> str:
    """A short name for all jobs that died like this one: the same today and tomorrow, here and elsewhere."""
    parts = (command_shape(command), exit_code, signal, error_shape(error))
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_LENGTH]
