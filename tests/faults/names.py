"""A name server for machines of tests.network, and how they are made to ask it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.support.machines import Machine

_A, _ANSWER, _NO_ERROR = 1, 0x8000, 0
_USE = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'


class NameServer:
    """`with NameServer(address) as names:` answers every question for an address with its own."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._socket.bind((self.address, 53))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # An empty question, from us: a thread that waits does not notice that its socket was closed.
        self._socket.sendto(b"", (self.address, 53))
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, asker = self._socket.recvfrom(512)
            if not question:
                return
            self._socket.sendto(self._answer(question), asker)

    def _answer(self, question: bytes) -> bytes:
        end = question.index(0, 12) + 5  # the name ends with a zero; then its type and class
        (kind,) = struct.unpack_from("!H", question, end - 4)
        known = kind == _A
        head = question[:2] + struct.pack("!HHHHH", _ANSWER | 0x0580 | _NO_ERROR, 1, int(known), 0, 0)
        record = struct.pack("!HHHIH", 0xC00C, _A, 1, 0, 4) + socket.inet_aton(self.address)
        return head + question[12:end] + (record if known else b"")

    def used_by(self, machine: Machine, directory: Path) -> Callable[..., Any]:
        """Start something in the machine that asks this server for names."""
        settings = directory / "resolv.conf"
        settings.write_text(f"nameserver {self.address}\n")

        def popen(argv: list[str], **options: Any) -> Any:
            return machine.popen(["unshare", "--mount", "sh", "-c", _USE, str(settings), *argv], **options)

        return popen
