"""Becomes a command with limits: a program of its own, run by path, that limits itself and then executes it.

So the limits are in force before the command's first instruction, and pid, exit code and shell stay the
command's. What the limits are was decided by `limits`, which reads what we report: `+` just before the
command begins, else what is in the way. Nothing of queuectl is imported: this costs every such start.
"""

from __future__ import annotations

import _signal as signals  # type: ignore[import-not-found]  # `signal` would import enum, a fifth of our time
import errno
import os
import resource
import sys

# What Python ignores or handles must be as it was for the command.
_CHANGED_BY_PYTHON = (signals.SIGPIPE, signals.SIGXFSZ, signals.SIGINT)


def main() -> None:
    plan_fd, report = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(report, False)
    with open(plan_fd, "rb") as file:
        plan = file.read()
    lists = [part.split(b"\0") if part else [] for part in plan.split(b"\0\0")]
    steps, candidates, argv, environment = ([word[1:] for word in words] for words in lists)
    variables = dict(entry.split(b"=", 1) for entry in environment)
    for signum in _CHANGED_BY_PYTHON:
        signals.signal(signum, signals.SIG_DFL)
    # Room to go on with when no more memory may be asked for.
    blocks = [bytearray(60_000) for _ in range(4 + len(plan) // 20_000)]
    last = blocks.pop()
    del blocks
    for step in steps:
        try:
            apply(*step.split(b" ", 2)[1:])
        except (OSError, ValueError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "out of memory"
            os.write(report, step.split(b" ")[0] + b":" + reason.encode())
            os._exit(127)
    os.write(report, b"+")
    try:
        code = execute(candidates, argv, variables)
    except MemoryError:
        code = errno.ENOMEM
    del last
    os.write(report, b"%d" % code)
    os._exit(127)


def apply(kind: bytes, value: bytes) -> None:
    if kind == b"nice":
        os.setpriority(os.PRIO_PROCESS, 0, int(value))
    elif kind == b"join":
        with open(value, "wb", buffering=0) as entrance:
            entrance.write(b"0")
    else:
        which, soft, hard = map(int, value.split())
        resource.setrlimit(which, (soft, hard))


def execute(candidates: list[bytes], argv: list[bytes], variables: dict[bytes, bytes]) -> int:
    """The error that is worth telling, as `spawn.ForkExec` would choose it."""
    told = last = errno.ENOENT
    for path in candidates:
        try:
            os.execve(path, argv, variables)
        except OSError as error:
            last = error.errno or errno.EINVAL
            if last not in (errno.ENOENT, errno.ENOTDIR) and told == errno.ENOENT:
                told = last
    return last if told == errno.ENOENT else told


if __name__ == "__main__":
    main()
