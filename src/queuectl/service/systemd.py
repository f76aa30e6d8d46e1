"""Units in their directories, and what is asked of systemctl. Only units of our own are ever changed.

What a unit says is left to `unit`, whether a person agrees to the command line.
"""

from __future__ import annotations

import os
import subprocess

from queuectl.errors import NotFound, QueuectlError, Refused
from queuectl.service.unit import MARK

_NO_SYSTEMD = (
    "in a container or without systemd: queuectl worker start --foreground, kept up by what starts services "
    "there, or queuectl worker start in the background; --dry-run prints the unit"
)
_NO_USER_MANAGER = (
    "log in as this user (not by su or sudo), or: queuectl service install --system --run-as USER; "
    "--dry-run prints the unit"
)
_BOOTED = "/run/systemd/system"  # is there if systemd has started the machine
_ASKED = (
    "LoadState,ActiveState,SubState,UnitFileState,FragmentPath,MainPID,StatusText,ActiveEnterTimestamp,"
    "NRestarts,Result"
)


def user_directory() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "systemd", "user")


SYSTEM_DIRECTORY = "/etc/systemd/system"


class Systemd:
    """The service manager of this user, or of the machine."""

    def __init__(self, *, system: bool, directory: str | None = None) -> None:
        self._system = system
        self.directory = directory or (SYSTEM_DIRECTORY if system else user_directory())

    def path(self, name: str) -> str:
        return os.path.join(self.directory, f"{name}.service")

    def installed(self, name: str) -> str | None:
        """The text of our unit; Refused if the name is somebody else's."""
        path = self.path(name)
        if not os.path.lexists(path):
            return None
        text = ""
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        if not text.startswith(MARK):
            raise Refused(f"{path} is not a unit of queuectl", "choose another name: --name NAME")
        return text

    def refuse_foreign(self, name: str) -> None:
        """A unit of this name that comes with the system would be hidden by ours."""
        self.installed(name)
        place = self.state(name).get("FragmentPath", "")
        if place and os.path.realpath(place) != os.path.realpath(self.path(name)):
            raise Refused(f"there is a service {name} already: {place}", "choose another name: --name NAME")

    def install(self, name: str, text: str, *, start: bool, read_anew: bool = False) -> bool:
        """Write, enable and start it; whether anything changed. A running one is then restarted: a drain.

        `read_anew`: what the unit reads has changed, so a running one has to be restarted in any case.
        """
        differs = self.installed(name) != text
        changed = differs or read_anew
        if differs:
            os.makedirs(self.directory, exist_ok=True)
            replace_file(self.path(name), text, 0o644)
        self._do("daemon-reload")
        self._do("enable", f"{name}.service")
        if start:
            self._do("restart" if changed else "start", f"{name}.service")
        return changed

    def uninstall(self, name: str) -> None:
        """Stop it, with a drain, and remove it."""
        if self.installed(name) is None:
            raise NotFound(f"there is no service {name}", f"it would be {self.path(name)}")
        self._do("disable", "--now", f"{name}.service")
        os.unlink(self.path(name))
        self._do("daemon-reload")

    def state(self, name: str) -> dict[str, str]:
        text = self._do("show", f"--property={_ASKED}", f"{name}.service")
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def _do(self, *words: str) -> str:
        command = ["systemctl", *([] if self._system else ["--user"]), *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            raise QueuectlError("there is no systemctl here", _NO_SYSTEMD) from None
        if done.returncode == 0:
            return done.stdout
        said = done.stderr.strip().splitlines()
        first = said[0] if said else f"exit code {done.returncode}"
        what = "systemd does not answer" if words[0] == "show" else " ".join(command)
        raise QueuectlError(f"{what}: {first}", self._hint(words, done.stderr))

    def _hint(self, words: tuple[str, ...], said: str) -> str:
        if words[0] in ("start", "restart"):
            return f"its log says why: journalctl {'' if self._system else '--user '}-eu {words[-1]}"
        if "not been booted with systemd" in said or not os.path.isdir(_BOOTED):
            return _NO_SYSTEMD
        return "with --system this takes root" if self._system else _NO_USER_MANAGER


def lingers(user: str) -> bool | None:
    """Whether a user's services go on without a session; None if nobody can tell."""
    command = ["loginctl", "show-user", user, "--property=Linger", "--value"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() == "yes" if done.returncode == 0 else None


def replace_file(path: str, text: str, mode: int) -> None:
    """All of it or nothing, and with this mode from its first moment."""
    fresh = f"{path}.{os.getpid()}.new"
    fd = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
