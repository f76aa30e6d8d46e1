"""docs/http-api.md: its routes are those of the program, and its examples work."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.dashboard import Server
from tests.support.http import ok

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/http-api.md"


def test_the_table_is_up_to_date(tmp_path: Path) -> None:
    checked = subprocess.run(
        [sys.executable, str(ROOT / "tools/make_api_docs.py"), "--check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


def examples() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("curl ")]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_examples_work(server: Server, api: httpx.Client) -> None:
    ok(api.post("/jobs", json={"command": "true", "id": "job1"}), 201)
    found = examples()
    assert len(found) >= 7
    for line in found:
        command = line.replace("localhost:8470", f"localhost:{server.port}")
        curl = "curl --max-time 3 " if "/stream" in line else "curl "  # which does not end by itself
        done = subprocess.run(
            ["sh", "-c", command.replace("curl ", f"{curl} -sS -w '\\n%{{http_code}}' ", 1)],
            env={"PATH": "/usr/bin:/bin", "TOKEN": server.token},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        answer, _, status = done.stdout.rpartition("\n")
        if "/output" in line:
            assert status == "416"  # job1 has not run
        elif "/stream" in line:
            assert "event: stats" in answer
            assert "event: job" in answer
        else:
            assert status in ("200", "201"), (line, done.stdout, done.stderr)
    assert ok(api.get("/jobs", params={"count": True}))["total"] == 5
