"""Where contestants come from: the PATH, Debian packages without root, PyPI into environments of their own.

All of it is kept in QUEUECTL_BENCH_CACHE, else in the user's cache directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from bench.contestants.contestant import Contestant, Missing

_PATIENCE = 600.0  # seconds, for downloads


def cache() -> Path:
    named = os.environ.get("QUEUECTL_BENCH_CACHE")
    if named:
        return Path(named).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "queuectl-bench"


def surroundings() -> dict[str, str]:
    """Our environment, without what is only meant for our own Python."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def ask(
    command: list[str], *, given: str = "", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """What it prints. If it fails, the contestant is missing, and its last word is the reason."""
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            cwd=cwd,
            env=surroundings() if env is None else env,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(str(error)) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise Missing(lines[-1])
    return done.stdout


class Environment:
    """A virtual environment with packages from PyPI, made once."""

    def __init__(self, name: str, *packages: str) -> None:
        self.name = name
        self.packages = packages

    @cached_property
    def folder(self) -> Path:
        return cache() / self.name

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def ready(self) -> bool:
        return self._stamp.is_file() and self._stamp.read_text() == self._wanted

    def install(self) -> None:
        if self.ready():
            return
        print(f"installing {', '.join(self.packages)} …", file=sys.stderr)
        try:
            venv.create(self.folder, with_pip=True, clear=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Missing(f"no virtual environment: {error}") from error
        pip = [self.program("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        ask([*pip, *self.packages])
        self._stamp.write_text(self._wanted)  # last: what was broken off is made again

    def version(self, package: str) -> str:
        script = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
        return ask([self.program("python"), "-c", script, package]).strip()

    @property
    def _stamp(self) -> Path:
        return self.folder / "installed"

    @property
    def _wanted(self) -> str:
        return "\n".join([sys.version, *self.packages])


class DebianPackage:
    """A program from the PATH, else out of a Debian package that is unpacked but not installed."""

    def __init__(self, package: str, program: str) -> None:
        self.package = package
        self._name = program

    @property
    def _folder(self) -> Path:
        return cache() / f"debian-{self.package}"

    @property
    def program(self) -> str:
        """Its path; empty if it is not there."""
        unpacked = self._folder / "usr" / "bin" / self._name
        return shutil.which(self._name) or (str(unpacked) if unpacked.is_file() else "")

    def install(self) -> None:
        if self.program:
            return
        if not shutil.which("apt-get") or not shutil.which("dpkg"):
            raise Missing(f"{self._name} is not on the PATH, and here are no Debian packages")
        print(f"unpacking the Debian package {self.package} …", file=sys.stderr)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        ask(["apt-get", "-qq", "-o", "Acquire::http::Timeout=15", "download", self.package], cwd=self._folder)
        ask(["dpkg", "-x", str(next(self._folder.glob("*.deb"))), str(self._folder)])
        if not self.program:
            raise Missing(f"the Debian package {self.package} has no {self._name}")

    def version(self) -> str:
        """Of the package, for programs that do not tell theirs."""
        for archive in self._folder.glob("*.deb"):
            return ask(["dpkg-deb", "-f", str(archive), "Version"]).strip()
        try:
            return ask(["dpkg-query", "-W", "-f", "${Version}", self.package]).strip()
        except Missing:
            return "unknown"


class FromPyPI(Contestant):
    """One with an environment of its own."""

    _environment: Environment

    def at_hand(self) -> bool:
        return self._environment.ready()

    def prepare(self) -> None:
        self._environment.install()


class FromDebian(Contestant):
    """One that is in a Debian package."""

    _package: DebianPackage

    def at_hand(self) -> bool:
        return bool(self._package.program)

    def prepare(self) -> None:
        self._package.install()
