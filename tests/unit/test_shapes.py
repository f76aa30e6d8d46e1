"""Shapes: what commands and messages of many jobs have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuectl.core.shapes import cluster_key, command_shape, error_shape, shape

UUID = "6f1e2c9a-0b1d-4c3e-9f00-a1b2c3d4e5f6"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("resize img_001.png", "resize img_<n>.png"),
        ("took 1.5 s, 3 of 10", "took <n> s, <n> of <n>"),
        ("at 2026-11-17 19:47:02", "at <n>-<n>-<n> <n>"),
        ("open '/srv/data/a b'", "open '<path> b'"),
        ("cp ~/in/x.txt ../out/", "cp <path> <path>"),
        ("read data/part-7.csv", "read <path>"),
        ("GET https://example.org/a?b=1 failed", "GET <url> failed"),
        (f"no object {UUID}", "no object <id>"),
        ("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "commit <hash>"),
        ("pid 1234567890", "pid <n>"),
        ("segfault at 0x7ffd9a3c", "segfault at <n>"),
        ("token abcdefghijklmnop1", "token <hash>"),
        ("two\n  lines\tof it", "two lines of it"),
        ("effaced facade", "effaced facade"),
        ("make all 2>&1 >&2 2> /dev/null", "make all 2>&1 >&2 2> <path>"),
        ("", ""),
    ],
)
def test_what_differs_from_job_to_job_is_replaced(text: str, wanted: str) -> None:
    assert shape(text) == wanted


def test_the_program_stays_whatever_path_it_has() -> None:
    assert command_shape("/usr/bin/convert /in/1.png /out/1.jpg") == "convert <path> <path>"
    assert command_shape("  ./build.sh 17") == "build.sh <n>"
    assert command_shape("make report") == "make report"
    assert command_shape("/") == command_shape("/")


def test_how_it_ended_is_not_part_of_what_it_said() -> None:
    assert error_shape("exit code 22: curl: (6) no host") == "curl: (<n>) no host"
    assert error_shape("killed by SIGKILL") == ""
    assert error_shape("exit code 1") == ""
    assert error_shape(None) == ""
    assert error_shape("timed out after 30s") == "timed out after <n>s"


def test_a_key_is_the_same_in_every_version() -> None:
    # People write it down, and scripts keep it.
    assert cluster_key("curl https://a.example/1", 6, None, "exit code 6: no host 1") == KEY
    assert cluster_key("/usr/bin/curl https://b.example/2", 6, None, "exit code 6: no host 2") == KEY


KEY = "ed16f823"


def test_other_ends_are_other_keys() -> None:
    keys = {
        cluster_key("a", 1, None, "x"),
        cluster_key("b", 1, None, "x"),
        cluster_key("a", 2, None, "x"),
        cluster_key("a", None, 9, "x"),
        cluster_key("a", 1, None, "y"),
        cluster_key("a", 1, None, None),
    }
    assert len(keys) == 6


@given(st.text())
def test_a_shape_is_its_own_shape(text: str) -> None:
    assert shape(shape(text)) == shape(text)
    assert command_shape(command_shape(text)) == command_shape(text)


@given(st.text(alphabet="abc xyz:.-", max_size=20), st.integers(0), st.integers(0))
def test_numbers_make_no_difference(word: str, one: int, other: int) -> None:
    assert shape(f"{word} {one}") == shape(f"{word} {other}")


@given(st.text(), st.integers() | st.none(), st.integers() | st.none(), st.text() | st.none())
def test_any_job_has_a_key(command: str, code: int | None, signal: int | None, error: str | None) -> None:
    key = cluster_key(command, code, signal, error)
    assert len(key) == 8
    assert set(key) <= set("0123456789abcdef")
