"""GNU parallel, with and without the log by which a run can be resumed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench.contestants.contestant import SLOTS, Lost, Missing
from bench.contestants.installing import DebianPackage, FromDebian, ask
from bench.contestants.xargs import timed


class Parallel(FromDebian):
    """Measured is its whole run, from its start to its end; output is grouped by command, as by default."""

    name = "GNU parallel"
    count = 500
    _package = DebianPackage("parallel", "parallel")

    def prepare(self) -> None:
        super().prepare()
        if "GNU parallel" not in self.version:  # another program of this name is in moreutils
            raise Missing(f"{self._package.program} is not GNU parallel")

    @property
    def version(self) -> str:
        return ask([self._package.program, "--version"]).splitlines()[0]

    def rate(self, command: str, count: int) -> float:
        with tempfile.TemporaryDirectory(prefix="queuectl-bench-") as directory:
            # Without its own directory it would look for a profile; --will-cite keeps its notice away.
            env = os.environ | {"PARALLEL_SHELL": "/bin/sh", "PARALLEL_HOME": directory}
            program = [self._package.program, "--will-cite", f"-j{SLOTS}", *self.options(Path(directory))]
            rate = timed(program, [command] * count, env=env)
            self.check(Path(directory), count)
        return rate

    def options(self, directory: Path) -> list[str]:  # noqa: ARG002 - for those who need one
        return []

    def check(self, directory: Path, count: int) -> None:
        """Its exit code has said that all went well."""


class ParallelLogged(Parallel):
    """The same, with a line for each command in a log."""

    name = "GNU parallel --joblog"

    def options(self, directory: Path) -> list[str]:
        return ["--joblog", str(directory / "log")]

    def check(self, directory: Path, count: int) -> None:
        logged = (directory / "log").read_text().count("\n") - 1  # without the head
        if logged != count:
            raise Lost(f"{logged} of {count} commands are in its log")
