"""Serves the dashboard until it is told to stop; says where, and how to come in."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable

import uvicorn

from queuectl.errors import InvalidInput, Refused
from queuectl.paths import Location
from queuectl.web.app import Application
from queuectl.web.protocol import Bounded
from queuectl.web.tokens import Tokens

DEFAULT_PORT = 8470
_GRACE_S = 1  # for answers under way, at the end


class Options:
    """What the command line says about serving."""

    __slots__ = ("behind_proxy", "certificate", "host", "key", "names", "port", "read_only", "token")

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        names: tuple[str, ...] = (),
        token: str | None = None,
        certificate: str | None = None,
        key: str | None = None,
        behind_proxy: bool = False,
        read_only: bool = False,
    ) -> None:
        self.host = host
        self.port = port
        self.names = names
        self.token = token
        self.certificate = certificate
        self.key = key
        self.behind_proxy = behind_proxy
        self.read_only = read_only

    def check(self) -> None:
        """Refuse what would let strangers in."""
        if bool(self.certificate) != bool(self.key):
            raise InvalidInput("TLS needs a certificate and its key", "give --tls-cert and --tls-key")
        if is_loopback(self.host):
            return
        if self.token is None:
            raise Refused(
                f"{self.host} can be reached by others: a token of your own is needed",
                "put it into a file and give --token-file FILE, or set QUEUECTL_DASHBOARD_TOKEN",
            )
        if not self.certificate and not self.behind_proxy:
            raise Refused(
                f"{self.host} can be reached by others: without TLS they can read the token",
                "give --tls-cert and --tls-key, or --behind-proxy if a proxy does TLS",
            )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Server(uvicorn.Server):
    """Ends the streams at once when it is told to stop: they would keep it for as long as a page is open."""

    def __init__(self, config: uvicorn.Config, application: Application, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._application = application
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()

    def handle_exit(self, sig: int, frame: object) -> None:  # noqa: ARG002
        """Only notes it: a signal may come while a lock is held.

        Nor is it raised again at the end, as uvicorn would: to be told to stop is no failure.
        """
        self.force_exit = self.should_exit  # who asks twice does not want to wait
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Not here: it waits for a thread, which may be waiting for the store.
        threading.Thread(target=self._application.live.close, daemon=True).start()
        await super().shutdown(sockets)


def serve(
    location: Location,
    clock: Callable[[], int],
    options: Options,
    say: Callable[[str, str], None],
) -> None:
    """`say` hears the address and the link to come in, once it can be used."""
    options.check()
    tokens = Tokens(location.state_dir, clock, given=options.token)
    with _listen(options) as listening:
        _serve(location.url, tokens, options, listening, say)


def _serve(
    url: str,
    tokens: Tokens,
    options: Options,
    listening: socket.socket,
    say: Callable[[str, str], None],
) -> None:
    port = int(listening.getsockname()[1])
    secure = bool(options.certificate)
    application = Application(
        url,
        tokens,
        port=port,
        names=options.names,
        behind_proxy=options.behind_proxy,
        secure=secure or options.behind_proxy,
        read_only=options.read_only,
    )
    address = f"{'https' if secure else 'http'}://{_written(options.host)}:{port}/"
    config = uvicorn.Config(
        application.asgi,
        http=Bounded,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",  # below it anybody could fill the log
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_S,
        timeout_keep_alive=8,
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
    )
    try:
        config.load()
    except (ssl.SSLError, OSError) as error:
        raise InvalidInput(
            f"cannot use the certificate and its key: {error.strerror or error}",
            "give --tls-cert and --tls-key in PEM, which belong together",
        ) from None
    server = _Server(config, application, lambda: say(address, f"{address}#code={tokens.new_code()}"))
    try:
        server.run(sockets=[listening])
    finally:
        application.close()


def _listen(options: Options) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # Named as TCP, or asyncio leaves small packets waiting for each other: 40 ms with each answer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
        listening.listen(128)  # only this tells of another who was bound to it at the same moment
    except OSError as error:
        listening.close()
        raise Refused(
            f"cannot listen at {options.host}:{options.port}: {error.strerror}",
            "another program may use it; choose another with --port, or --port 0 for any",
        ) from None
    except OverflowError:
        listening.close()
        raise InvalidInput(f"there is no port {options.port}", "choose one up to 65535") from None
    return listening


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host
