"""How the server listens."""

from __future__ import annotations

import socket

from queuectl.web.server import Options, _listen


def test_answers_do_not_wait_for_each_other() -> None:
    """asyncio switches Nagle's algorithm off only for sockets that say they are TCP."""
    listening = _listen(Options(port=0))
    with listening:
        assert listening.proto == socket.IPPROTO_TCP
