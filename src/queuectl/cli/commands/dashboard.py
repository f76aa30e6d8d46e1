"""queuectl dashboard: the web page and the HTTP API."""

from __future__ import annotations

import os
import sys
import threading
from urllib.parse import quote

from queuectl.cli.options import open_queue, parser, subcommand
from queuectl.cli.output import clean, is_terminal, print_json, print_table, say
from queuectl.cli.selection import number
from queuectl.core.durations import parse_duration
from queuectl.core.times import describe_when, iso
from queuectl.errors import InvalidInput, QueuectlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.web.server import Options

_ABOUT = """Serve the dashboard and the HTTP API, until Ctrl+C. Only this machine can reach it, and it
lets nobody in without a token; the link that it prints opens the page once.

  dashboard                 serve
  dashboard token list      the named tokens
  dashboard token add NAME  make one for somebody else (--read: may only look)
  dashboard token rm NAME   take it back
  dashboard token rotate    another admin token; who used the old one is out"""

_EXAMPLES = """
  queuectl dashboard
  queuectl dashboard --port 9000 --open
  queuectl dashboard token add prometheus --read
  curl -H "Authorization: Bearer $(cat ~/.queuectl/dashboard.token)" \\
      localhost:8470/api/v1/stats
  queuectl dashboard --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
"""

_TOKEN = "QUEUECTL_DASHBOARD_TOKEN"
_FURTHER = ("token list", "token add", "token rm", "token rotate")  # it has these, and does something without


def build_parser() -> Parser:
    result = parser("dashboard", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add("--port", "-p", type=number(0, 65_535), metavar="N", help="default: 8470; 0: any that is free")
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="default: 127.0.0.1, this machine only")
    add("--open", action="store_true", help="open the page in a browser")
    add("--read-only", action="store_true", help="only show, whatever the token allows")
    add("--token-file", metavar="FILE", help=f"the admin token, instead of a made one (or {_TOKEN})")
    add("--allow-host", action="append", metavar="NAME", help="another name that it goes by")
    add("--tls-cert", metavar="FILE", help="serve HTTPS with this certificate")
    add("--tls-key", metavar="FILE", help="and this key")
    add("--behind-proxy", action="store_true", help="a proxy in front does TLS; give its --allow-host")
    return result


def main(words: list[str]) -> int:
    if words[:1] in (["token"], ["tokens"]):
        return _tokens(words[1:])
    options = build_parser().parse_args(words)
    _need_web()
    from queuectl.web.server import serve

    wanted = _wanted(options)
    wanted.check()
    with open_queue(options) as queue:
        location, clock = queue.store.location, queue.clock
    serve(location, clock.now, wanted, _announce(options, location.state_dir))
    _leave_stragglers()
    return 0


def _leave_stragglers() -> None:
    """A request's thread that waits for a busy store would keep the process; nobody waits for its answer."""
    others = (one for one in threading.enumerate() if one is not threading.main_thread())
    if any(not one.daemon for one in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _need_web() -> None:
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise QueuectlError(
            f"the dashboard needs the package {error.name}", "pip install 'queuectl[web]'"
        ) from None


def _wanted(options: argparse.Namespace) -> Options:
    from queuectl.web.server import DEFAULT_PORT, Options

    return Options(
        host=options.host,
        port=DEFAULT_PORT if options.port is None else options.port,
        names=tuple(options.allow_host or ()),
        token=_given_token(options),
        certificate=_file(options.tls_cert, "--tls-cert"),
        key=_file(options.tls_key, "--tls-key"),
        behind_proxy=options.behind_proxy,
        read_only=options.read_only,
    )


def _given_token(options: argparse.Namespace) -> str | None:
    """Never as an option: those can be read by everybody on the machine."""
    if options.token_file is None:
        return os.environ.get(_TOKEN) or None
    try:
        with open(options.token_file, encoding="ascii") as file:
            return file.read(4096).strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read the token file: {error}", "give a file with one line") from None


def _file(path: str | None, option: str) -> str | None:
    if path is not None and not os.access(path, os.R_OK):
        raise InvalidInput(f"{option}: cannot read {path}", "give a readable file")
    return path


def _announce(options: argparse.Namespace, folder: str) -> Callable[[str, str], None]:
    def announce(address: str, link: str) -> None:
        if options.json:
            print_json({"url": address, "link": link})
            sys.stdout.flush()
        else:
            say(f"dashboard and API at {address}")
            say(f"open it (works once, for 15 minutes): {link}")
            if is_terminal(sys.stderr):
                say("Ctrl+C ends it")
        if options.open:
            _open(link, folder)

    return announce


def _open(link: str, folder: str) -> None:
    """By a file that only we can read: everybody sees the arguments of a browser, and the link lets in."""
    import webbrowser

    from queuectl.web.private import replace_private

    page = os.path.join(folder, "dashboard-open.html")
    replace_private(page, f'<!doctype html><meta http-equiv="refresh" content="0; url={link}">\n')
    webbrowser.open(f"file://{quote(page)}")


# --- tokens -----------------------------------------------------------------------------------------


def _tokens(words: list[str]) -> int:
    name, rest = subcommand(words, tuple(_TOKENS), "dashboard token", {"ls": "list", "delete": "rm"})
    if name is None and {"-h", "--help"} & set(rest):
        build_parser().parse_args(rest)
    return _TOKENS[name or "list"](rest)


def _open_tokens(options: argparse.Namespace):  # type: ignore[no-untyped-def]  # its type costs an import
    from queuectl.web.tokens import Tokens

    with open_queue(options) as queue:
        return Tokens(queue.store.location.state_dir, queue.clock.now), queue.clock.now()


def _list(words: list[str]) -> int:
    options_of = parser("dashboard token list", "Show the named tokens.", "  queuectl dashboard token list")
    options = options_of.parse_args(words)
    tokens, now = _open_tokens(options)
    found = tokens.named()
    if options.json:
        times = ("created_at", "expires_at")
        print_json([{k: iso(v) if k in times else v for k, v in entry.items()} for entry in found])
    elif found:
        print_table(
            ("NAME", "MAY", "CREATED", "EXPIRES"),
            [
                (
                    str(entry["name"]),
                    str(entry["scope"]),
                    describe_when(int(entry["created_at"]), now_ms=now),
                    "never"
                    if entry["expires_at"] is None
                    else describe_when(int(entry["expires_at"]), now_ms=now),
                )
                for entry in found
            ],
        )
    else:
        say("no named tokens. Make one: queuectl dashboard token add NAME --read")
    return 0


def _add(words: list[str]) -> int:
    about = "Make a token, which is printed once and then never again."
    options_of = parser("dashboard token add", about, "  queuectl dashboard token add prometheus --read")
    options_of.add_argument("token_name", metavar="NAME", help="whose it is")
    options_of.add_argument("--read", action="store_true", help="it may only look (default: everything)")
    options_of.add_argument("--expires", metavar="TIME", help="it holds so long: 30d")
    options = options_of.parse_args(words)
    lasts = None if options.expires is None else parse_duration(options.expires, what="--expires")
    tokens, _ = _open_tokens(options)
    token = tokens.add(options.token_name, "read" if options.read else "admin", lasts_ms=lasts)
    if options.json:
        print_json({"name": options.token_name, "token": token})
    else:
        print(token)
        say("keep it: it is not shown again")
    return 0


def _remove(words: list[str]) -> int:
    about = "Take a token back; who came in by it is out."
    options_of = parser("dashboard token rm", about, "  queuectl dashboard token rm prometheus")
    options_of.add_argument("token_name", metavar="NAME")
    options = options_of.parse_args(words)
    tokens, _ = _open_tokens(options)
    tokens.remove(options.token_name)
    if options.json:
        print_json({"removed": options.token_name})
    else:
        print(f"✓ Token {clean(options.token_name)} removed")
    return 0


def _rotate(words: list[str]) -> int:
    about = "Make another admin token, also for a dashboard that runs; who used the old one is out."
    options = parser("dashboard token rotate", about, "  queuectl dashboard token rotate").parse_args(words)
    from queuectl.web.tokens import own_token_file, rotate_own

    with open_queue(options) as queue:
        folder = queue.store.location.state_dir
    rotate_own(folder)
    if options.json:
        print_json({"file": own_token_file(folder)})
    else:
        print(f"✓ Another admin token is in {clean(own_token_file(folder))}")
    return 0


_TOKENS: dict[str, Callable[[list[str]], int]] = {
    "list": _list,
    "add": _add,
    "rm": _remove,
    "rotate": _rotate,
}
