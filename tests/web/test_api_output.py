"""What jobs printed, over HTTP: as a file with ranges, in pieces, while it grows."""

from __future__ import annotations

from typing import Any

import httpx

from queuectl.testing import wait_until
from tests.support.dashboard import Server
from tests.support.home import Home
from tests.support.http import ok, problem


def run(home: Home, api: httpx.Client, id: str, command: str, **more: Any) -> None:
    ok(api.post("/jobs", json={"command": command, "id": id, "max_retries": 0, **more}), 201)
    if not home.workers():
        home.start()
    home.wait_for(id, "completed", "dead", timeout=60)


def test_a_file_with_ranges(server: Server, home: Home, api: httpx.Client) -> None:
    run(home, api, "a", "printf 0123456789; sleep 0.2; printf abc >&2")
    whole = api.get("/jobs/a/output")
    assert (whole.status_code, whole.content) == (200, b"0123456789abc")
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["content-disposition"] == 'attachment; filename="a-1.txt"'
    assert whole.headers["content-type"].startswith("text/plain")
    assert api.get("/jobs/a/output", params={"stream": "stderr"}).content == b"abc"
    for asked, part, place in (
        ("bytes=0-", b"0123456789abc", "0-12"),
        ("bytes=2-4", b"234", "2-4"),
        ("bytes=8-11", b"89ab", "8-11"),
        ("bytes=-4", b"9abc", "9-12"),
        ("bytes=-99", b"0123456789abc", "0-12"),
        ("bytes=12-99", b"c", "12-12"),
    ):
        answer = api.get("/jobs/a/output", headers={"Range": asked})
        assert (answer.status_code, answer.content) == (206, part), asked
        assert answer.headers["content-range"] == f"bytes {place}/13"
        assert answer.headers["content-length"] == str(len(part))
    for asked in ("bytes=13-", "bytes=99-100", "bytes=-0"):
        answer = api.get("/jobs/a/output", headers={"Range": asked})
        problem(answer, 416, "no_such_range")
        assert answer.headers["content-range"] == "bytes */13"
    for asked in ("bytes=5-2", "lines=1-2", "bytes=a-b", "bytes=-", "bytes=0-1,3-4"):
        assert api.get("/jobs/a/output", headers={"Range": asked}).status_code == 200, asked
    changed = {"Range": "bytes=0-1", "If-Range": '"another"'}
    assert api.get("/jobs/a/output", headers=changed).status_code == 200
    head = api.head("/jobs/a/output")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "13")
    problem(api.get("/jobs/a/output", params={"attempt": 2}), 404, "not_found")
    problem(api.get("/jobs/a/output", params={"attempt": 0}), 422, "invalid_input")
    problem(api.get("/jobs/a/output", params={"stream": "both"}), 422, "invalid_input")


def test_nothing_was_printed(server: Server, home: Home, api: httpx.Client) -> None:
    ok(api.post("/jobs", json={"command": "true", "id": "waits", "hold": True}), 201)
    assert api.get("/jobs/waits/output").content == b""
    problem(api.get("/jobs/waits/output", headers={"Range": "bytes=0-"}), 416, "no_such_range")
    found = ok(api.get("/jobs/waits/output/pieces"))
    assert (found["attempt"], found["running"], found["pieces"], found["next"]) == (None, False, [], 0)


def test_attempts_have_their_own(server: Server, home: Home, api: httpx.Client) -> None:
    home.configure(**{"backoff-base": 0.01})
    again = "echo run $QUEUECTL_ATTEMPT; exit 1"
    ok(api.post("/jobs", json={"command": again, "id": "a", "max_retries": 1}), 201)
    home.start()
    home.wait_for("a", "dead", timeout=60)
    assert len(ok(api.get("/jobs/a/attempts"))["attempts"]) == 2
    first = api.get("/jobs/a/output", params={"attempt": 1}).text
    last = api.get("/jobs/a/output").text
    assert (first, last) == ("run 1\n", "run 2\n")


def test_pieces_make_up_the_whole_wherever_they_are_cut(
    server: Server, home: Home, api: httpx.Client
) -> None:
    run(home, api, "a", "printf 'a€😀b'; sleep 0.2; printf 'ü!' >&2; sleep 0.2; printf 'end'")
    whole = ok(api.get("/jobs/a/output/pieces"))
    assert [(p["stream"], p["text"]) for p in whole["pieces"]] == [
        ("stdout", "a€😀b"),
        ("stderr", "ü!"),
        ("stdout", "end"),
    ]
    size = len("a€😀bü!end".encode())
    assert (whole["next"], whole["skipped"], whole["running"]) == (size, 0, False)
    for after in range(1, size + 3):
        rest = ok(api.get("/jobs/a/output/pieces", params={"after": after}))
        text = "".join(piece["text"] for piece in rest["pieces"])
        assert "\N{REPLACEMENT CHARACTER}" not in text, after
        assert rest["next"] == size
        assert "a€😀bü!end".endswith(text)
        # A character that was cut is shown by who gets its last byte.
        assert len("a€😀bü!end".encode()) - len(text.encode()) <= after
    tail = ok(api.get("/jobs/a/output/pieces", params={"tail": 4}))
    assert "".join(piece["text"] for piece in tail["pieces"]) == "!end"
    assert tail["skipped"] == size - 4
    assert ok(api.get("/jobs/a/output/pieces", params={"tail": 0}))["pieces"] == []


def test_long_output_comes_a_part_at_a_time(server: Server, home: Home, api: httpx.Client) -> None:
    run(home, api, "a", "yes 'line €' | head -n 300000")
    raw = api.get("/jobs/a/output").content
    text, after, parts = "", 1, 0
    while after < len(raw):
        found = ok(api.get("/jobs/a/output/pieces", params={"after": after}))
        assert found["next"] > after
        text += "".join(piece["text"] for piece in found["pieces"])
        after, parts = found["next"], parts + 1
    assert parts > 1
    assert text == raw.decode()[1:]


def test_what_was_left_out_is_named(server: Server, home: Home, api: httpx.Client) -> None:
    home.configure(**{"output-max": "64k"})
    run(home, api, "a", "yes 0123456789abcdef | head -c 1000000; echo end")
    found = ok(api.get("/jobs/a/output/pieces"))
    gaps = [piece for piece in found["pieces"] if piece["stream"] == "gap"]
    assert len(gaps) == 1
    [attempt] = ok(api.get("/jobs/a/attempts"))["attempts"]
    assert int(gaps[0]["text"]) == attempt["output_dropped"]
    assert found["pieces"][-1]["text"].endswith("end\n")


def test_while_it_runs(server: Server, home: Home, api: httpx.Client) -> None:
    command = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second"
    ok(api.post("/jobs", json={"command": command, "id": "a", "cwd": str(home.work)}), 201)
    home.start()

    def pieces(after: int) -> dict[str, Any]:
        found: dict[str, Any] = ok(api.get("/jobs/a/output/pieces", params={"after": after}))
        return found

    wait_until(lambda: pieces(0)["next"] == 6, what="its first line")
    assert pieces(0)["running"] is True
    assert api.get("/jobs/a/output").text == "first\n"
    (home.work / "go").touch()
    home.wait_for("a", "completed")
    rest = pieces(6)
    assert (rest["running"], [piece["text"] for piece in rest["pieces"]]) == (False, ["second\n"])
