"""From what somebody wants to the unit: whose service it is, where its home and its store are.

The text of the unit is left to `unit`, whether the words for the workers make sense to the command line.
"""

from __future__ import annotations

import os
import pwd
import re
import sys

from queuectl.errors import InvalidInput
from queuectl.paths import default_home, locate
from queuectl.service.quoting import environment_line
from queuectl.service.unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SECRETS_OF_THE_SYSTEM = "/etc/queuectl"


class Wish:
    """What somebody wants. `words` are the options of `worker start`."""

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        *,
        db: str | None = None,
        system: bool = False,
        run_as: str | None = None,
        harden: bool = False,
    ) -> None:
        self.name = checked_name(name)
        self.words = words
        self.db = db
        self.system = system
        self.run_as = run_as
        self.harden = harden
        if system and run_as is None:
            raise InvalidInput(
                "a service of the machine needs an account for its jobs", "--run-as USER, better not root"
            )
        if run_as is not None and not system:
            raise InvalidInput("--run-as is for --system; a service of yours runs as you")


class Plan:
    """The unit, and the file with what must not stand in it, if there is anything."""

    def __init__(self, unit: Unit, secrets: tuple[str, str] | None) -> None:
        self.unit = unit
        self.secrets = secrets  # path and text


def checked_name(name: str) -> str:
    name = name.removesuffix(".service")
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"a service cannot be named {name[:80]!r}", "letters, digits, and . _ - within")
    return name


def make_plan(wish: Wish, stop_seconds: float) -> Plan:
    home, state_directory = _home(wish)
    environment = {"QUEUECTL_HOME": home}
    if not wish.system and os.environ.get("PATH"):
        # Jobs find the programs that they find when workers are started by hand.
        environment["PATH"] = os.environ["PATH"]
    words = [sys.executable, "-P", "-m", "queuectl", "worker", "start", "--foreground", *wish.words]
    secrets = None
    networked = False
    given = wish.db or os.environ.get("QUEUECTL_DB") or os.environ.get("QUEUECTL_DB_PATH")
    if given:
        location = locate(given)
        networked = location.shared
        if not networked:
            words += ["--db", location.file]
        elif location.url == location.shown:
            environment["QUEUECTL_DB"] = location.url
        else:
            path = secrets_file(wish.name, system=wish.system)
            secrets = path, environment_line("QUEUECTL_DB", location.url)
    unit = Unit(
        wish.name,
        words,
        environment=environment,
        stop_seconds=stop_seconds,
        system=wish.system,
        run_as=wish.run_as,
        state_directory=state_directory,
        secrets=secrets and secrets[0],
        networked=networked,
        harden=wish.harden,
    )
    return Plan(unit, secrets)


def secrets_file(name: str, *, system: bool) -> str:
    directory = _SECRETS_OF_THE_SYSTEM if system else default_home()
    return os.path.join(directory, f"service-{name}.env")


def _home(wish: Wish) -> tuple[str, str | None]:
    """Where the service has its home; and the name of the directory that systemd shall make for it."""
    if wish.run_as is None:
        return default_home(), None
    try:
        directory = pwd.getpwnam(wish.run_as).pw_dir
    except KeyError:
        raise InvalidInput(f"there is no account {wish.run_as[:80]!r}", "useradd makes one") from None
    if os.environ.get("QUEUECTL_HOME"):
        return default_home(), None
    if os.path.isdir(directory) and directory != "/":
        return os.path.join(directory, ".queuectl"), None
    # An account without a home: its jobs are kept where services keep their things.
    return f"/var/lib/{wish.name}", wish.name
