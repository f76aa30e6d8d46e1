"""What exit codes and signals mean by convention, in words that can stand behind a colon.

A convention binds nobody: a command may use any code for anything. What a job's own rules make of a code is
left to `exit_codes`.
"""

from __future__ import annotations

import re

NOT_EXECUTABLE, NOT_FOUND, BY_SIGNAL = 126, 127, 128
_LAST_SIGNAL = 64

_CODES = {
    1: "what most commands say for any failure",
    2: "most commands mean wrong usage by it, a shell also a syntax error",
    64: "EX_USAGE, it was called in a wrong way",
    65: "EX_DATAERR, its input is wrong",
    66: "EX_NOINPUT, its input is missing or cannot be read",
    67: "EX_NOUSER, a user is not known",
    68: "EX_NOHOST, a host is not known",
    69: "EX_UNAVAILABLE, something that it needs is not there",
    70: "EX_SOFTWARE, an error inside of the command",
    71: "EX_OSERR, the system refused it something",
    72: "EX_OSFILE, a file of the system is missing",
    73: "EX_CANTCREAT, it cannot make its output",
    74: "EX_IOERR, reading or writing failed",
    75: "EX_TEMPFAIL, it asks to be tried again later",
    76: "EX_PROTOCOL, the other side said something impossible",
    77: "EX_NOPERM, it may not do that",
    78: "EX_CONFIG, its configuration is wrong",
    NOT_EXECUTABLE: "the command was found but cannot be executed",
    NOT_FOUND: "a command was not found",
    BY_SIGNAL: "the shell was told to exit with something that is no code",
    255: "ssh says it when it cannot connect, others when they end with -1",
}

_SIGNALS = {
    "SIGHUP": "its terminal or session has ended",
    "SIGINT": "somebody pressed Ctrl+C, or sent the same",
    "SIGQUIT": "somebody pressed Ctrl+\\, or sent the same",
    "SIGILL": "it ran an instruction that this processor does not have",
    "SIGTRAP": "it met a breakpoint without a debugger",
    "SIGABRT": "it gave up by itself, as after a failed assertion",
    "SIGBUS": "it used memory that is not there, often of a file that was cut",
    "SIGFPE": "it calculated something impossible, like a division by zero",
    "SIGKILL": "it was ended without a chance to object",
    "SIGSEGV": "it used memory that is not its own, a bug in the program as a rule",
    "SIGPIPE": "it wrote to a pipe that nobody reads any more",
    "SIGALRM": "a timer of its own ran out",
    "SIGTERM": "somebody asked it to end",
    "SIGXCPU": "it used more processor time than it may",
    "SIGXFSZ": "it wrote a file larger than it may",
    "SIGSYS": "it made a system call that is forbidden to it",
}


def signal_name(number: int) -> str:
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def meaning_of_signal(number: int) -> str | None:
    return _SIGNALS.get(signal_name(number))


def signal_in(code: int) -> int | None:
    """The signal of which a shell tells by this code: 128 + n."""
    return code - BY_SIGNAL if BY_SIGNAL < code <= BY_SIGNAL + _LAST_SIGNAL else None


def meaning_of_code(code: int) -> str | None:
    """None if there is no convention: the code is the command's own."""
    signal = signal_in(code)
    if signal is None:
        return _CODES.get(code)
    meaning = meaning_of_signal(signal)
    return f"its shell tells of {signal_name(signal)}" + (f": {meaning}" if meaning else "")


def missing_command(told: str) -> str | None:
    """Which command was not found, out of what shells say of it: `sh: 1: convrt: not found`."""
    found = re.search(r"command not found: (\S+)", told)  # zsh's order
    found = found or re.search(r"([^\s:]+): (?:command )?not found", told)
    return None if found is None else found[1]
