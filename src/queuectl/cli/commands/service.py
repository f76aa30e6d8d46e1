"""queuectl service: workers that systemd starts, watches and stops."""

from __future__ import annotations

import os
import sys

from queuectl.cli.fleetoptions import fleet_options, fleet_words
from queuectl.cli.options import parser, subcommand
from queuectl.cli.output import clean, clean_lines, confirm, print_json, say
from queuectl.errors import NotFound, QueuectlError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.cli.options import Parser
    from queuectl.service.plan import Plan
    from queuectl.service.systemd import Systemd

_ALL = (
    """Workers as a service of systemd: started with the machine, watched, stopped with a drain.

  service install    write the unit, enable and start it; again: update it
  service show       the unit as it is installed, or as it would be
  service status     how it is
  service uninstall  stop it and remove the unit""",
    """
  queuectl service install
  queuectl service status
""",
)
_INSTALL = (
    """Write the unit of a service that runs workers, enable and start it. It is shown first, and asked about.
Run again, it is an update: if anything has changed it is restarted, with a drain. What is not ours is never
touched.""",
    """
  queuectl service install                        one worker, as you
  queuectl service install --count 4 --queue a,b
  queuectl service install --dry-run              only print the unit
  queuectl service install --system --run-as www-data
""",
)
_SHOW = (
    "Print the unit as it is installed; if it is not, as `service install` would write it with these.",
    """
  queuectl service show
  queuectl service show --name mail
""",
)
_STATUS = (
    "How the service is: whether it runs and is enabled, what its workers say.",
    """
  queuectl service status
  queuectl service status --json
""",
)
_UNINSTALL = (
    "Stop the service, with a drain, and remove its unit. The queue stays as it is.",
    """
  queuectl service uninstall
  queuectl service uninstall --name mail --yes
""",
)
_WORDS = {"": _ALL, "install": _INSTALL, "show": _SHOW, "status": _STATUS, "uninstall": _UNINSTALL}
_COMMANDS = ("install", "show", "uninstall", "status")
_ALIASES = {"remove": "uninstall", "rm": "uninstall", "update": "install", "print": "show"}


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        build_parser().parse_args(["--help"])
    name, rest = subcommand(words, _COMMANDS, "service", _ALIASES)
    return _RUN[name or "status"](rest)


def build_parser(name: str = "") -> Parser:
    result = parser(f"service {name}".rstrip(), *_WORDS[name])
    scope = result.add_mutually_exclusive_group()
    scope.add_argument("--user", action="store_true", help="a service of yours (default)")
    scope.add_argument("--system", action="store_true", help="one of the machine; takes root and --run-as")
    result.add_argument("--name", default="queuectl", metavar="NAME", help="of the service")
    return result


def install_parser(name: str = "install") -> Parser:
    result = build_parser(name)
    fleet_options(result)
    result.add_argument("--run-as", metavar="USER", help="with --system: whose account runs the jobs")
    result.add_argument("--harden", action="store_true", help="jobs may not become root or change the system")
    if name == "install":
        start = result.add_mutually_exclusive_group()
        start.add_argument("--now", action="store_true", help="start it at once (default)")
        start.add_argument("--no-start", action="store_true", help="only enable it")
        result.add_argument("--dry-run", action="store_true", help="print the unit, change nothing")
        result.add_argument("--yes", "-y", action="store_true", help="do not ask")
    return result


def uninstall_parser() -> Parser:
    result = build_parser("uninstall")
    result.add_argument("--yes", "-y", action="store_true", help="do not ask")
    return result


def show_parser() -> Parser:
    return install_parser("show")


def status_parser() -> Parser:
    return build_parser("status")


def _install(words: list[str]) -> int:
    options = install_parser().parse_args(words)
    plan = _plan(options)
    text = plan.unit.text()
    if options.dry_run:
        sys.stdout.write(text)
        return 0
    name, systemd = plan.unit.name, _systemd(options)
    _refuse_others(options)
    systemd.refuse_foreign(name)
    path = systemd.path(name)
    if not options.yes and sys.stdin.isatty():
        say(clean_lines(text))
    what = "update" if systemd.installed(name) else "write"
    if not confirm(
        f"{what} {path} as above, enable it{'' if options.no_start else ' and start it'}?", yes=options.yes
    ):
        return 1
    new_secrets = _keep_secrets(plan)
    changed = systemd.install(name, text, start=not options.no_start, read_anew=new_secrets)
    if options.json:
        print_json({"name": name, "unit": path, "changed": changed, "started": not options.no_start})
        return 0
    print(f"✓ Service {name} {'is enabled' if options.no_start else 'is running'}: {clean(path)}")
    if not options.system:
        _tell_of_linger()
    return 0


def _show(words: list[str]) -> int:
    options = show_parser().parse_args(words)
    from queuectl.service.plan import checked_name

    text = _systemd(options).installed(checked_name(options.name))
    if text is None:
        say("it is not installed; this is what queuectl service install would write:")
        text = _plan(options).unit.text()
    if options.json:
        print_json({"name": options.name, "unit": text})
    else:
        sys.stdout.write(clean_lines(text))
    return 0


def _uninstall(words: list[str]) -> int:
    from queuectl.service.plan import checked_name, secrets_file

    options = uninstall_parser().parse_args(words)
    name, systemd = checked_name(options.name), _systemd(options)
    _refuse_others(options)
    if systemd.installed(name) is None:
        raise NotFound(f"service {name} is not installed", f"its unit would be {systemd.path(name)}")
    if not confirm(f"stop service {name} and remove {systemd.path(name)}?", yes=options.yes):
        return 1
    systemd.uninstall(name)
    try:
        os.unlink(secrets_file(name, system=options.system))
    except FileNotFoundError:
        pass
    if options.json:
        print_json({"name": name, "unit": systemd.path(name)})
    else:
        print(f"✓ Service {name} stopped and removed; its queue is left as it is")
    return 0


def _status(words: list[str]) -> int:
    from queuectl.service.plan import checked_name

    options = status_parser().parse_args(words)
    name, systemd = checked_name(options.name), _systemd(options)
    installed = systemd.installed(name) is not None
    if not installed:
        raise NotFound(f"service {name} is not installed", "queuectl service install")
    state = systemd.state(name)
    active = state.get("ActiveState", "unknown")
    if options.json:
        print_json(_document(name, systemd.path(name), state))
    else:
        print(
            f"{name}: {active} ({state.get('SubState', '?')}), {state.get('UnitFileState') or 'not enabled'}"
        )
        for label, key in (
            ("workers", "StatusText"),
            ("since", "ActiveEnterTimestamp"),
            ("pid", "MainPID"),
            ("restarts", "NRestarts"),
        ):
            if state.get(key, "0") not in ("", "0"):
                print(f"  {label + ':':<10}{clean(state[key])}")
        print(f"  {'unit:':<10}{clean(systemd.path(name))}")
    return 0 if active in ("active", "reloading") else 1


def _document(name: str, path: str, state: dict[str, str]) -> dict[str, object]:
    return {
        "name": name,
        "unit": path,
        "active": state.get("ActiveState"),
        "sub_state": state.get("SubState"),
        "enabled": state.get("UnitFileState") == "enabled",
        "pid": int(state.get("MainPID", "0")) or None,
        "status": state.get("StatusText") or None,
        "restarts": int(state.get("NRestarts", "0")),
        "result": state.get("Result"),
    }


def _systemd(options: argparse.Namespace) -> Systemd:
    from queuectl.service.systemd import Systemd

    return Systemd(system=options.system)


def _refuse_others(options: argparse.Namespace) -> None:
    if options.system and os.geteuid() != 0:
        raise Refused("only root can change services of the machine", "sudo, or a service of yours: --user")


def _plan(options: argparse.Namespace) -> Plan:
    from queuectl.service.plan import Wish, make_plan

    wish = Wish(
        options.name,
        fleet_words(options),
        db=options.db,
        system=options.system,
        run_as=options.run_as,
        harden=options.harden,
    )
    return make_plan(wish, _stop_seconds(options))


def _stop_seconds(options: argparse.Namespace) -> float:
    """How long a stop takes at most, by the settings of the store; a worker that needs more says so."""
    from queuectl.app import look_at
    from queuectl.config.settings import Settings
    from queuectl.config.sources import load
    from queuectl.paths import locate

    settings = Settings()
    if not options.system:  # the store of another account is not ours to open
        try:
            store = look_at(locate(options.db))
            try:
                settings = load(store.stored_config())
            finally:
                store.close()
        except QueuectlError:
            pass  # there is none yet, or it is away: then by the defaults
    return (settings.stop_grace + settings.kill_grace) / 1000


def _keep_secrets(plan: Plan) -> bool:
    """Whether there is anything new in their file."""
    if plan.secrets is None:
        return False
    from queuectl.paths import make_private_dir
    from queuectl.service.systemd import replace_file

    path, text = plan.secrets
    make_private_dir(os.path.dirname(path))
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            before: str | None = file.read()
    except FileNotFoundError:
        before = None
    replace_file(path, text, 0o600)
    return text != before


def _tell_of_linger() -> None:
    """Services of a user end with the last session, unless the user lingers."""
    import pwd

    from queuectl.service.systemd import lingers

    user = pwd.getpwuid(os.getuid()).pw_name
    if not lingers(user):
        say(f"it ends when you log out, unless your services may stay: sudo loginctl enable-linger {user}")


_RUN = {"install": _install, "show": _show, "uninstall": _uninstall, "status": _status}
