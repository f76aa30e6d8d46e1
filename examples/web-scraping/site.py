"""A small site on this machine: writes down when it was asked, and says "later" once."""

import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

asked: set[str] = set()


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        with open(sys.argv[2], "a") as log:
            log.write(f"{time.monotonic():.3f} {self.path}\n")
        busy = self.path == "/3" and self.path not in asked
        asked.add(self.path)
        self.send_response(429 if busy else 200)
        if busy:
            self.send_header("Retry-After", "1")
        self.end_headers()
        if not busy:
            self.wfile.write(f"<title>Page {self.path[1:]}</title>\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Not on stderr."""


server = HTTPServer(("127.0.0.1", 0), Site)
Path(sys.argv[1]).write_text(str(server.server_port))
server.serve_forever()
