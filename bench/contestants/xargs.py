"""`xargs -P2`: the floor of fork and exec. It keeps nothing: neither the commands, nor what they print."""

from __future__ import annotations

import shutil
import subprocess
import time

from bench.contestants.contestant import PATIENCE, SLOTS, Contestant, Lost, Missing
from bench.contestants.installing import ask


class Xargs(Contestant):
    """Measured is the whole run of `xargs`: from its start to its end."""

    name = f"xargs -P{SLOTS}"
    count = 3000

    def at_hand(self) -> bool:
        return shutil.which("xargs") is not None

    def prepare(self) -> None:
        if not self.at_hand():
            raise Missing("xargs is not on the PATH")

    @property
    def version(self) -> str:
        return ask(["xargs", "--version"]).splitlines()[0]

    def rate(self, command: str, count: int) -> float:
        return timed(["xargs", "-0", f"-P{SLOTS}", "-n1", "sh", "-c"], [command] * count, end="\0")


def timed(
    program: list[str], commands: list[str], *, end: str = "\n", env: dict[str, str] | None = None
) -> float:
    """Commands per second of a program that reads them, and whose exit code says that all went well."""
    given = "".join(command + end for command in commands)
    began = time.perf_counter()
    try:
        subprocess.run(
            program,
            input=given,
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE,
            env=env,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise Lost(str(error)) from error
    return len(commands) / (time.perf_counter() - began)
