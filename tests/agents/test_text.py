"""Text from jobs, as an agent may read it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuectl.agents.text import LONGEST_TEXT, plain_document, plain_output
from queuectl.cli.output import clean_lines


@given(st.text())
def test_nothing_in_it_steers_a_terminal(text: str) -> None:
    plain = plain_output(text, clean_lines)
    assert all(char in "\n\t" or (ord(char) >= 0x20 and not 0x7F <= ord(char) < 0xA0) for char in plain)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[1;31mred\x1b[0m\n", "red\n"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("kept\r", "kept"),
        ("\x1b", "\\x1b"),
        ("\x00\x08\u202e\ud800", "\\x00\\x08\\u202e\\ud800"),
    ],
)
def test_what_somebody_would_have_seen(text: str, seen: str) -> None:
    assert plain_output(text, clean_lines) == seen


def test_a_document_is_bounded_in_every_part() -> None:
    deep: object = "end"
    for _ in range(20):
        deep = {"in": deep}
    found = plain_document({"long": "x" * 10_000, "none": None, "deep": deep, "notes": []}, clean_lines)
    assert isinstance(found, dict)
    assert set(found) == {"long", "deep", "notes"}
    assert len(found["long"]) < LONGEST_TEXT + 40
    assert "end" not in str(found["deep"])
