"""Tokens, codes and sessions by themselves: what is guessed, tampered with, taken back or too old."""

from __future__ import annotations

import ast
import base64
import inspect
import json
import os
import re
import threading
from pathlib import Path

import pytest

from queuectl.errors import InvalidInput, NotFound, Refused, StoreError
from queuectl.testing import FakeClock
from queuectl.web import private, tokens
from queuectl.web.failures import Failures
from queuectl.web.tokens import Tokens, own_token, own_token_file, rotate_own
from tests.web.attack import mode


@pytest.fixture
def known(tmp_path: Path, clock: FakeClock) -> Tokens:
    return Tokens(str(tmp_path / "state"), clock.now)


def test_the_made_token_is_long_and_the_same_at_the_next_time(tmp_path: Path, known: Tokens) -> None:
    assert len(known.own) == 43  # 256 bits
    assert own_token(str(tmp_path / "state")) == known.own
    assert own_token(str(tmp_path / "other")) != known.own


def test_two_who_begin_at_once_have_one_token(tmp_path: Path) -> None:
    found: list[str] = []
    barrier = threading.Barrier(8)

    def begin() -> None:
        barrier.wait()
        found.append(own_token(str(tmp_path / "state")))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert os.listdir(tmp_path / "state") == ["dashboard.token"]


def test_only_the_right_token_lets_in(known: Tokens) -> None:
    own = known.own
    grant = known.check(own)
    assert grant is not None
    assert grant.admin
    wrong = ["", own[:-1], own + "a", own.swapcase(), " " + own, own + "\0", "\udc80", "é" * 43, own * 2]
    assert [one for one in wrong if known.check(one) is not None] == []


def test_secrets_are_only_compared_in_constant_time() -> None:
    for node in ast.walk(ast.parse(inspect.getsource(tokens))):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            assert not re.search(r"hashed|_hash|\[.hash.\]|signature|digest|own\b|token\b", ast.unparse(node))
    assert "compare_digest" in inspect.getsource(Tokens.check)
    assert "compare_digest" in inspect.getsource(Tokens.resume)


def test_of_named_tokens_only_hashes_are_kept(tmp_path: Path, known: Tokens) -> None:
    token = known.add("prometheus", "read")
    grant = known.check(token)
    assert grant is not None
    assert (grant.name, grant.admin) == ("prometheus", False)
    for file in (tmp_path / "state").iterdir():
        assert token not in file.read_text()
        assert mode(file) == 0o600
    assert "hash" not in known.named()[0]
    known.remove("prometheus")
    assert known.check(token) is None
    with pytest.raises(NotFound):
        known.remove("prometheus")


@pytest.mark.parametrize("name", ["", "a b", "-x", "../x", "a\n", "é", "x" * 65, "a/b", "a\0"])
def test_names_that_are_none(known: Tokens, name: str) -> None:
    with pytest.raises(InvalidInput):
        known.add(name, "read")


def test_a_token_expires(known: Tokens, clock: FakeClock) -> None:
    token = known.add("guest", "admin", lasts_ms=60_000)
    grant = known.check(token)
    assert grant is not None
    session = known.session(grant)
    clock.advance(59)
    assert known.check(token) is not None
    assert known.resume(session) is not None
    clock.advance(1)
    assert known.check(token) is None
    assert known.resume(session) is None
    with pytest.raises(Refused):
        known.session(grant)


def test_many_add_and_remove_at_once_and_nothing_comes_back(tmp_path: Path, clock: FakeClock) -> None:
    folder = str(tmp_path / "state")
    Tokens(folder, clock.now).add("old", "admin")

    def add(name: str) -> None:
        Tokens(folder, clock.now).add(name, "read")

    def remove() -> None:
        Tokens(folder, clock.now).remove("old")

    threads = [threading.Thread(target=add, args=(f"n{n}",)) for n in range(20)]
    threads.append(threading.Thread(target=remove))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = {entry["name"] for entry in Tokens(folder, clock.now).named()}
    assert names == {f"n{n}" for n in range(20)}


# --- one-time codes and sessions --------------------------------------------------------------------


def test_a_code_works_once_and_not_for_ever(known: Tokens, clock: FakeClock) -> None:
    code, late = known.new_code(), known.new_code()
    assert known.redeem(code + "x") is None
    assert known.redeem(code) is not None
    assert known.redeem(code) is None
    clock.advance(15 * 60)
    assert known.redeem(late) is None


def test_a_session_outlives_the_process_and_expires(tmp_path: Path, known: Tokens, clock: FakeClock) -> None:
    grant = known.check(known.own)
    assert grant is not None
    session = known.session(grant)
    assert Tokens(str(tmp_path / "state"), clock.now).resume(session) is not None
    assert Tokens(str(tmp_path / "other"), clock.now).resume(session) is None
    clock.advance(12 * 3600 - 1)
    assert known.resume(session) is not None
    clock.advance(1)
    assert known.resume(session) is None


def test_a_session_that_somebody_changed_is_none(known: Tokens) -> None:
    read = known.check(known.add("reader", "read"))
    assert read is not None
    session = known.session(read)
    body, _, signature = session.partition(".")
    raised = json.loads(base64.urlsafe_b64decode(body + "=="))
    raised[0] = ""
    forged = base64.urlsafe_b64encode(json.dumps(raised).encode()).decode().rstrip("=")
    deep = base64.urlsafe_b64encode(b"[" * 100_000).decode()
    tampered = [
        f"{forged}.{signature}",
        f"{body}.",
        f".{signature}",
        body,
        "",
        ".",
        "..",
        f"{body}.{signature}.{signature}",
        f"{body}.{signature[:-2]}",
        f"{body}.{'A' * 43}",
        f"{deep}.{signature}",
        "é.é",
        "bnVsbA.AAAA",
        "WzEsMiwzXQ.AAAA",
        "W1tdLHt9LDNd.AAAA",
    ]
    for n in range(0, len(session), 3):
        other = "A" if session[n] != "A" else "B"
        tampered.append(session[:n] + other + session[n + 1 :])
    assert [one for one in tampered if known.resume(one) is not None] == []
    assert known.resume(session) is not None


def test_who_comes_back_under_the_same_name_has_none_of_the_old_sessions(known: Tokens) -> None:
    """Else an admin's session would live on in a token that was made for a reader."""
    grant = known.check(known.add("sam", "admin"))
    assert grant is not None
    session = known.session(grant)
    known.remove("sam")
    assert known.resume(session) is None
    known.add("sam", "read")
    assert known.resume(session) is None


def test_rotation_puts_everybody_out_at_once(tmp_path: Path, known: Tokens) -> None:
    old, code = known.own, known.new_code()
    grant = known.check(old)
    assert grant is not None
    session = known.session(grant)
    rotate_own(str(tmp_path / "state"))
    assert known.check(old) is None
    assert known.resume(session) is None
    assert known.redeem(code) is None
    assert known.check((tmp_path / "state" / "dashboard.token").read_text().strip()) is not None


def test_logging_out_ends_copies_too_and_only_that_session(
    tmp_path: Path, known: Tokens, clock: FakeClock
) -> None:
    grant = known.check(known.own)
    assert grant is not None
    here, there = known.session(grant), known.session(grant)
    assert here != there
    known.end_session(here)
    known.end_session("rubbish.rubbish")
    again = Tokens(str(tmp_path / "state"), clock.now)
    assert [one.resume(here) for one in (known, again)] == [None, None]
    assert known.resume(there) is not None
    clock.advance(12 * 3600)
    later = known.session(grant)
    known.end_session(later)  # what would have expired is forgotten
    assert len(json.loads((tmp_path / "state" / "dashboard-left.json").read_text())) == 1


# --- files ------------------------------------------------------------------------------------------


def test_files_are_private_under_any_umask(tmp_path: Path, clock: FakeClock) -> None:
    before = os.umask(0)
    try:
        folder = tmp_path / "a" / "state"
        known = Tokens(str(folder), clock.now)
        known.add("x", "read")
        grant = known.check(known.own)
        assert grant is not None
        known.end_session(known.session(grant))
        rotate_own(str(folder))
    finally:
        os.umask(before)
    assert mode(folder) == mode(folder.parent) == 0o700
    assert {file.name: mode(file) for file in folder.iterdir()} == {
        "dashboard.token": 0o600,
        "dashboard-tokens.json": 0o600,
        "dashboard-left.json": 0o600,
        "dashboard.lock": 0o600,
    }
    # At no moment wider: made with O_EXCL and its mode, not changed afterwards.
    source = inspect.getsource(private.write_private)
    assert "O_EXCL" in source
    assert "0o600" in source
    assert "chmod" not in source


@pytest.mark.parametrize("name", ["dashboard.token", "dashboard-tokens.json", "dashboard-left.json"])
def test_a_planted_link_or_pipe_is_refused(tmp_path: Path, clock: FakeClock, name: str) -> None:
    target = tmp_path / "target"
    target.write_text('["known to somebody else, 16 and more"]')
    for n, plant in enumerate(
        (
            lambda path: os.symlink(target, path),
            os.mkfifo,
            os.mkdir,
        )
    ):
        folder = tmp_path / f"state{n}"
        folder.mkdir(mode=0o700)
        plant(folder / name)  # type: ignore[operator]
        with pytest.raises(StoreError):
            Tokens(str(folder), clock.now)
    assert target.read_text() == '["known to somebody else, 16 and more"]'


def test_a_token_file_that_others_could_read_is_closed(tmp_path: Path, known: Tokens) -> None:
    path = own_token_file(str(tmp_path / "state"))
    os.chmod(path, 0o644)
    assert len(known.own) == 43
    assert mode(path) == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        "null",
        "[1]",
        '[{"name":"x"}]',
        "[" * 100_000,
        '[{"name":"","scope":"admin","hash":"x"}]',
    ]
    + [
        json.dumps([{"name": "x", "scope": scope, "hash": "y", "created_at": 1}])
        for scope in ("admin", "root")
    ],
)
def test_a_damaged_list_of_tokens_lets_nobody_in(tmp_path: Path, known: Tokens, text: str) -> None:
    (tmp_path / "state" / "dashboard-tokens.json").write_text(text)
    for _ in range(2):  # not only at the first time
        with pytest.raises(StoreError):
            known.check(known.own)


@pytest.mark.parametrize(
    "chosen",
    [
        "",
        "short",
        "x" * 15,
        "aaaaaaaaaaaaaaaaaaaa",
        "passwordpassword",
        "with blanks in it, long",
        "ümlaut" * 4,
        "tab\tand more characters",
        "line\nand more characters",
        "0101010101010101",
    ],
)
def test_weak_tokens_are_refused(tmp_path: Path, clock: FakeClock, chosen: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Tokens(str(tmp_path), clock.now, given=chosen)
    assert not chosen or chosen not in str(caught.value)


# --- guessing ---------------------------------------------------------------------------------------


def test_failures_are_counted_by_network_and_forgotten(clock: FakeClock) -> None:
    counted = Failures(lambda: clock.now() / 1000)
    for n in range(10):
        assert not counted.too_many("2001:db8::1")
        counted.note(f"2001:db8::{n:x}")  # one household, many addresses
    assert counted.too_many("2001:db8::ffff")
    assert not counted.too_many("2001:db8:0:1::1")
    assert not counted.too_many("127.0.0.1")
    clock.advance(61)
    assert not counted.too_many("2001:db8::1")


def test_failures_of_a_whole_botnet_need_little_memory() -> None:
    counted = Failures()
    for n in range(25_000):
        counted.note(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}")
    assert len(counted._by_client) <= 10_000
    for _ in range(10):
        counted.note("192.0.2.1")
    assert counted.too_many("192.0.2.1")
