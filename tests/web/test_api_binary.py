"""Output that is no text: as a file it is byte for byte what was printed, in JSON it can be shown."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx

from tests.support.dashboard import Server
from tests.support.home import Home
from tests.support.http import ok

SIZE = 1_000_000
# A mark of byte order that is none, NUL, an escape sequence, half a character and a surrogate, in bytes.
DIRT = r"\377\376\000\033[31m\303\355\240\200"


def test_random_bytes_come_through_everywhere(server: Server, home: Home, api: httpx.Client) -> None:
    command = f"head -c {SIZE} /dev/urandom | tee printed; printf '{DIRT}' | tee dirt >&2; exit 3"
    fields = {"command": command, "id": "a", "max_retries": 0, "cwd": str(home.work)}
    ok(api.post("/jobs", json=fields), 201)
    home.start()
    home.wait_for("a", "dead", timeout=60)
    printed, dirt = (home.work / "printed").read_bytes(), (home.work / "dirt").read_bytes()
    assert len(printed) == SIZE
    assert api.get("/jobs/a/output", params={"stream": "stdout"}).content == printed
    assert api.get("/jobs/a/output", params={"stream": "stderr"}).content == dirt
    part = api.get("/jobs/a/output", params={"stream": "stdout"}, headers={"Range": "bytes=500000-500099"})
    assert part.content == printed[500_000:500_100]
    answer = api.get("/jobs/a/output/pieces", params={"tail": 1024 * 1024})
    found = ok(answer)
    texts = [piece["text"] for piece in found["pieces"] if piece["stream"] == "stdout"]
    assert "".join(texts) == printed.decode("utf-8", "replace")
    assert found["next"] == SIZE + len(dirt)
    json.dumps(
        ok(api.get("/jobs/a")), ensure_ascii=False
    ).encode()  # the error quotes it: valid text all the same
    by_hand = [sys.executable, "-m", "queuectl", "logs", "a", "--stdout"]
    raw = subprocess.run(by_hand, env=home.env, cwd=home.work, capture_output=True, check=True, timeout=60)
    assert raw.stdout == printed
