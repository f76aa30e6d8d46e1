"""The text of a unit that runs workers, with its reasons.

Where it goes and what becomes of it is left to `systemd`.
"""

from __future__ import annotations

from queuectl.service.quoting import command_line, quoted, specifier_free

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK = (
    "# A unit of queuectl: written by `queuectl service install`, which replaces it when it is run again.\n"
)

WATCHDOG = 60  # seconds without a sign of life from the worker's loop
# Beyond the grace times: a command that cannot be killed is given up after ten seconds.
_STOP_MARGIN = 15

_HARDENED = """\

# Asked for by --harden: jobs cannot become root, change the system's files or see others' temporary ones.
NoNewPrivileges=yes
ProtectSystem=full
PrivateTmp=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
RestrictSUIDSGID=yes
"""
_OPEN = """\

# Jobs are commands of their owner and may do what the owner may. So nothing here narrows them:
# NoNewPrivileges= would break sudo, PrivateTmp= hide the files they were given in /tmp, ProtectSystem= and
# ProtectHome= what they are to write. If yours need none of that: queuectl service install --harden
"""


class Unit:
    """What a service shall be. `words` is the command, `environment` what it and its jobs get with it."""

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        *,
        environment: Mapping[str, str],
        stop_seconds: float,
        system: bool = False,
        run_as: str | None = None,
        state_directory: str | None = None,
        secrets: str | None = None,
        networked: bool = False,
        harden: bool = False,
    ) -> None:
        self.name = name
        self._words = words
        self._environment = environment
        self._stop_seconds = stop_seconds
        self._system = system
        self._run_as = run_as
        self._state_directory = state_directory  # made by systemd below /var/lib
        self._secrets = secrets  # the file with what must not stand here, where everybody can read it
        self._networked = networked
        self._harden = harden

    def text(self) -> str:
        return MARK + self._head() + self._service() + self._rights() + self._install()

    def _head(self) -> str:
        lines = [
            "# Changes of your own belong into a drop-in, which stays: systemctl "
            + ("" if self._system else "--user ")
            + f"edit {self.name}",
            "",
            "[Unit]",
            f"Description={specifier_free(f'queuectl workers ({self.name})')}",
            "# A store that is away for an hour is no reason to give up; RestartSec= keeps the pace down.",
            "StartLimitIntervalSec=0",
        ]
        if self._networked and self._system:
            lines += ["Wants=network-online.target", "After=network-online.target"]
        return _joined(lines)

    def _service(self) -> str:
        lines = [
            "",
            "[Service]",
            "# Ready when all workers have registered; alive as long as their loops turn.",
            "Type=notify",
            "NotifyAccess=main",
            f"ExecStart={command_line(self._words)}",
            *(f"Environment={quoted(f'{name}={value}')}" for name, value in self._environment.items()),
        ]
        if self._secrets:
            lines += [
                "# The address of the store has a password in it, and anybody can read this unit.",
                f"EnvironmentFile={specifier_free(self._secrets)}",
            ]
        if self._run_as:
            lines.append(f"User={specifier_free(self._run_as)}")
        if self._state_directory:
            lines += [f"StateDirectory={self._state_directory}", "StateDirectoryMode=0700"]
        lines += ["WorkingDirectory=-~", *self._stopping(), *self._limits()]
        return _joined(lines)

    def _stopping(self) -> list[str]:
        return [
            "",
            "# A stop tells the main process alone: running jobs may finish for stop-grace, the others go",
            "# back to the queue with their attempt returned. Only what is left after that is killed.",
            "# A worker that has longer graces by then asks for more time itself.",
            "KillMode=mixed",
            f"TimeoutStopSec={round(self._stop_seconds) + _STOP_MARGIN}s",
            f"WatchdogSec={WATCHDOG}s",
            "# If one of several workers hangs, the others can still end their jobs in order.",
            "WatchdogSignal=SIGTERM",
            "Restart=on-failure",
            "RestartSec=10s",
            "# No ExecReload=: workers read their settings with every heartbeat. For a new version: restart.",
        ]

    def _limits(self) -> list[str]:
        return [
            "",
            "# Jobs with limits (--memory, --processes) get control groups of their own below this one.",
            "Delegate=yes",
            "# One job that ran out of memory must not take the workers along.",
            "OOMPolicy=continue",
        ]

    def _rights(self) -> str:
        return _HARDENED if self._harden else _OPEN

    def _install(self) -> str:
        target = "multi-user.target" if self._system else "default.target"
        return _joined(["", "[Install]", f"WantedBy={target}"])


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
